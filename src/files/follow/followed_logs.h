#pragma once
// The files of lines that are followed: which file has which path, which have left theirs (a log
// that was rotated) and are read to their end, and who comes after whom. A log's earlier file is read to its
// end before its successor under the old name; one that was cut is read again from its start, under a new
// name in events.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/follow/finder.h"
#include "files/follow/followed_file.h"
#include "files/follow_position.h"

namespace doppel {

std::shared_ptr<InputFile> lines_file(const std::string& path, std::string name);

class FollowedLogs {
 public:
  using File = std::shared_ptr<FollowedFile>;

  // `position` and `problems` are its owner's, too. `enqueue` receives the files that have something to read;
  // it ignores those that are queued, or wait for another.
  FollowedLogs(std::chrono::milliseconds settle, const Finder& finder, FollowPosition& position,
               std::vector<Problem>& problems, std::function<void(const File&)> enqueue)
      : settle_(settle),
        finder_(finder),
        position_(position),
        problems_(problems),
        enqueue_(std::move(enqueue)) {}

  bool knows(const FileKey& key) const { return files_.contains(key); }
  // A known file is now under this path, or was written to. False: it is not known.
  bool found(const FileKey& key, const std::string& path);
  // A file that is not known yet is followed; `known`: what an earlier run read of it. An error: it cannot be
  // opened.
  absl::Status follow(const std::string& path, const TailMark* known);
  // There is no file under this path any more, or another one. False: it was no followed log's.
  bool gone(const std::string& path);
  // Those that are not under their paths leave.
  void look_at_paths();
  // Of those that have left: which have more to be read, and which have been quiet for long enough.
  void look_at_leaving();
  // Rotated while nobody looked, with a name now that is not followed: their rest comes first. At the start.
  void find_moved();

  // A file of lines that does not grow, until done().
  void add_complete(const File& file) { files_[file->key()] = file; }
  // In place of a file that was cut: the same from its start.
  File read_anew(const File& file);
  // Read to its end: taken as a whole, or damaged, or quiet for long after it left.
  void done(const File& file);

 private:
  void move(const File& file, const std::string& path);
  void leave(const File& file, bool counts = true);
  void drop(const File& file);

  const std::chrono::milliseconds settle_;
  const Finder& finder_;
  FollowPosition& position_;
  std::vector<Problem>& problems_;
  const std::function<void(const File&)> enqueue_;
  absl::flat_hash_map<FileKey, File> files_;
  absl::flat_hash_map<std::string, File> at_;    // by path, while they are there
  absl::flat_hash_map<std::string, File> left_;  // the last that left a path and is not done
  std::vector<File> leaving_;
};

}  // namespace doppel
