#pragma once
// Writes a segment: first all rows by number, then all entries by key. Keeps about a megabyte in memory, and
// four bytes for each page of keys.

#include <cstdint>
#include <string>

#include "base/pod_vector.h"
#include "index/segment_filter.h"
#include "index/segment_format.h"
#include "index/segment_io.h"

namespace doppel {

class SegmentWriter {
 public:
  // `entries` may be an upper bound. `sink` must outlive the writer.
  SegmentWriter(const CandidateIndexOptions& options, Seq first, uint64_t rows, uint64_t entries,
                uint32_t columns, SegmentSink& sink);

  // A row in RowLayout.
  absl::Status add_row(const uint8_t* row);
  // Ascending by key, then by ordinal.
  absl::Status add_entry(uint64_t key, uint32_t ordinal);
  // Writes the rest, and the header last.
  absl::Status finish();

  const SegmentHeader& header() const { return header_; }

 private:
  // Bytes that follow each other in the file.
  struct Stream {
    uint64_t offset = 0;
    std::string bytes;
  };
  absl::Status put(Stream& stream, std::string_view bytes);
  absl::Status flush(Stream& stream);
  absl::Status end_row_page();
  absl::Status end_key_page();
  absl::Status filter_up_to(uint64_t chunk);

  SegmentHeader header_;
  SegmentSink& sink_;
  Stream rows_, filter_, keys_;
  uint64_t rows_added_ = 0;
  uint64_t rows_in_page_ = 0;
  std::string row_page_, key_page_;
  uint32_t in_key_page_ = 0;
  uint64_t page_first_ = 0;
  uint64_t last_key_ = ~uint64_t{0};
  bool last_repeated_ = false;
  FilterBuilder filter_builder_;
  PodVector<uint32_t> directory_;
};

}  // namespace doppel
