#pragma once
// Files that are read once, when they are complete: documents, and complete files of lines, also inside WACZ
// files.

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/follow/followed_logs.h"
#include "files/position.h"
#include "files/read/files_source.h"
#include "pipeline/buffers.h"

namespace doppel {

// Something to read.
struct FollowJob {
  std::string path;                                   // a complete file, or
  std::shared_ptr<FollowedFile> file;                 // a file of lines, or
  std::shared_ptr<const InputFile> inside = nullptr;  // a file in the WACZ file `path`
};

class CompleteFiles {
 public:
  // All of these belong to the caller and must outlive this object.
  struct Uses {
    const FilesSourceOptions& options;
    const Finder& finder;
    FollowPosition& position;
    FollowedLogs& logs;
    const ByteCounter& counter;
    std::function<void(Problem)> problem;
  };
  explicit CompleteFiles(Uses uses) : uses_(std::move(uses)), filling_(uses_.options.buffer_bytes) {}

  // Reads a file into the batch, or appends what is to be read instead of it to `next`. Returns false if the
  // file is too large for the rest of the batch.
  bool take(const std::string& path, Batch& batch, std::vector<FollowJob>& next);
  // The same for a file in a WACZ file.
  void take_inside(const InputFile& file, std::vector<FollowJob>& next);
  // Ends the batch.
  void seal() { filling_.seal(); }

  // Whether the file has not changed since it was taken.
  bool taken(uint64_t path_hash, const struct stat& info) const;
  // The path has another file or none.
  void forget(uint64_t path_hash) { taken_.erase(path_hash); }
  // The file was deleted: another one under its path has its name.
  void forget_content(uint64_t path_hash);

  // The files in a WACZ file; none if it is not one.
  std::vector<FileKey> keys_inside(const std::string& path, const struct stat& info) const;

 private:
  bool take_wacz(const std::string& path, int fd, const struct stat& info, std::vector<FollowJob>& next);
  void take_lines(const std::string& on_disk, Fd fd, InputFile file, std::vector<FollowJob>& next);

  Uses uses_;
  Filling filling_;
  absl::flat_hash_map<uint64_t, uint64_t> taken_;  // hash of a path -> signature
  // hash of a path -> the complete files of lines under it
  absl::flat_hash_map<uint64_t, std::vector<FileKey>> lines_at_;
};

}  // namespace doppel
