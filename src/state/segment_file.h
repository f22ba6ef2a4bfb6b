#pragma once
// Segments (index/segment_format.h) as files. A file appears under its name when it is complete and durable.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "index/segment_format.h"
#include "state/file.h"

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

}  // namespace doppel
