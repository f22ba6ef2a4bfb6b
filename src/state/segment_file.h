#pragma once
// Segments (index/segment_format.h) as files. A file appears under its name when it is complete and durable.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "engine/old_originals.h"
#include "index/segment_format.h"
#include "state/file.h"
#include "state/state_dir.h"

namespace doppel {

class SegmentFile final : public SegmentSource {
 public:
  // direct: reads of pages bypass the page cache.
  static absl::StatusOr<std::unique_ptr<SegmentFile>> open(const std::string& path, bool direct);

  const std::string& name() const override { return file_.path(); }
  absl::Status read_at(uint64_t offset, void* out, size_t bytes) const override;
  void discard() const override;  // removes the file
  // For pages, and memory that is aligned like them.
  absl::Status read_page_at(uint64_t offset, uint8_t* out) const;
  int page_fd() const { return pages_.fd() < 0 ? file_.fd() : pages_.fd(); }
  const File& file() const { return file_; }

 private:
  explicit SegmentFile(File file) : file_(std::move(file)) {}
  File file_;
  File pages_;  // if direct
};

class SegmentFileWriter final : public SegmentSink {
 public:
  // Writes to PATH.tmp.
  static absl::StatusOr<SegmentFileWriter> create(const std::string& path);
  SegmentFileWriter(SegmentFileWriter&&) noexcept = default;
  SegmentFileWriter& operator=(SegmentFileWriter&&) noexcept = default;
  // Removes what was not finished.
  ~SegmentFileWriter() override;

  absl::Status write_at(uint64_t offset, std::string_view bytes) override;
  // Syncs and renames the file, and syncs its directory.
  absl::Status finish();

 private:
  SegmentFileWriter(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  File file_;
  std::string path_;
  uint64_t unsynced_ = 0;
  bool finished_ = false;
};

// Read many pages of segment files at once, so that a disk works on them side by side.

// Threads that wait for one page each. Works everywhere.
std::unique_ptr<PageReader> threaded_page_reader(int threads);
// io_uring, which needs less processor time; nullptr if the system refuses it, as containers may.
std::unique_ptr<PageReader> ring_page_reader();

// Segments of old originals as files FIRST-END in a directory of their own.
class SegmentDirectory final : public SegmentStore {
 public:
  // Of an index whose stored originals end at `end`. Removes segments with an original from there on, and
  // unfinished ones.
  static absl::StatusOr<std::unique_ptr<SegmentDirectory>> open(const std::string& path, Seq end);
  // A directory in `place` (empty: $TMPDIR or /tmp) that ends with the object.
  static absl::StatusOr<std::unique_ptr<SegmentDirectory>> temporary(const std::string& place);
  // Removes what a state directory has of such directories, whose names begin with kFolder, except these.
  static constexpr std::string_view kFolder = "segments-";
  // How many bytes such directories have.
  static uint64_t bytes_of(const std::string& state_directory);
  static void remove_others(const std::string& state_directory, const std::vector<std::string>& except);
  ~SegmentDirectory() override;

  std::vector<SegmentName> list() const override;
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override;
  absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) override;
  void remove(const SegmentName& name) override;
  const PageReader& reader() const override { return *reader_; }

 private:
  SegmentDirectory(std::string path, bool temporary);
  std::string path_of(const SegmentName& name) const;

  const std::string path_;
  const bool temporary_;
  std::unique_ptr<PageReader> reader_;
};

// Where an index keeps its old originals, by the setting `memory`. The same for files and Kafka.
struct SegmentSettings {
  uint64_t memory = 0;              // bytes of the index from which old originals move to disk; 0: never
  std::string directory;            // of the index
  std::string temporary_directory;  // for an index without a directory
  bool after_others = false;  // whether originals of other indexes have the lowest numbers (state/restore.h)
};

using SegmentStores = std::vector<std::unique_ptr<SegmentStore>>;

// Gives the shares of an engine their segments, in this state directory (nullptr: temporary ones). They must
// outlive the engine. Call it when everything else in `engine` is set. Without `memory` none; it then removes
// the segments that an earlier run left, because nobody would remove those that become wrong.
absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& settings, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on = std::launch::async);

}  // namespace doppel
