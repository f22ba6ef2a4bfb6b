#pragma once
// Segments as strings.

#include <algorithm>
#include <memory>
#include <string>

#include "index/segment_build.h"
#include "index/segment_set.h"

namespace doppel::index_test {

class MemorySink final : public SegmentSink {
 public:
  absl::Status write_at(uint64_t offset, std::string_view bytes) override {
    file_.resize(std::max(file_.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), file_.begin() + static_cast<ptrdiff_t>(offset));
    return absl::OkStatus();
  }
  std::string take() { return std::move(file_); }

 private:
  std::string file_;
};

class MemorySource final : public SegmentSource {
 public:
  // Counts the bytes it reads in `bytes_read`.
  explicit MemorySource(std::string file, uint64_t* bytes_read = nullptr)
      : file_(std::move(file)), bytes_read_(bytes_read) {}
  const std::string& name() const override { return name_; }
  absl::Status read_at(uint64_t offset, void* out, size_t bytes) const override {
    if (offset + bytes > file_.size()) return absl::DataLossError("the segment ends before");
    std::copy_n(file_.data() + offset, bytes, static_cast<char*>(out));
    if (bytes_read_ != nullptr) *bytes_read_ += bytes;
    return absl::OkStatus();
  }
  std::string& file() { return file_; }

 private:
  std::string name_ = "segment-of-test";
  std::string file_;
  uint64_t* bytes_read_;
};

inline std::unique_ptr<Segment> opened(const CandidateIndexOptions& options, std::string file) {
  auto segment = Segment::open(options, std::make_unique<MemorySource>(std::move(file)));
  return segment.ok() ? *std::move(segment) : nullptr;
}

}  // namespace doppel::index_test
