#pragma once
// Writes the keys of a segment, or its prints: filter, pages and directory. Keeps about a megabyte in memory,
// and four bytes for each page.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/pod_vector.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"
#include "index/segment_io.h"

namespace doppel {

// Bytes that follow each other in a file.
class SegmentStream {
 public:
  SegmentStream(SegmentSink& sink, uint64_t offset) : sink_(sink), offset_(offset) {}
  absl::Status put(std::string_view bytes);
  // Ends a page with its checksum, puts it and clears it.
  absl::Status put_page(std::string& page);
  absl::Status flush();
  uint64_t offset() const { return offset_ + bytes_.size(); }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  SegmentSink& sink_;
  uint64_t offset_;  // of bytes_
  std::string bytes_;
};

class SegmentKeyWriter {
 public:
  // `entries` may be an upper bound. `sink` must outlive the writer. The part begins at offset `at`.
  SegmentKeyWriter(const KeyShape& shape, uint64_t at, uint64_t entries, uint32_t columns, uint64_t rows,
                   int ordinal_bits, SegmentSink& sink);

  // Ascending by key, then by ordinal.
  absl::Status add(uint64_t key, uint32_t ordinal);
  // Writes the rest.
  absl::StatusOr<KeyPart> finish();

 private:
  absl::Status end_page();
  absl::Status filter_up_to(uint64_t chunk);

  const KeyShape shape_;
  const uint64_t rows_;
  const int ordinal_bits_;
  SegmentSink& sink_;
  KeyPart part_;
  SegmentStream filter_, pages_;
  FilterBuilder filter_builder_;
  PodVector<uint32_t> directory_;
  std::string page_;
  uint32_t in_page_ = 0;
  uint64_t page_first_ = 0;
  uint64_t last_key_ = ~uint64_t{0};
  bool last_repeated_ = false;
};

}  // namespace doppel
