#pragma once
// Writes a segment: first all rows by number, then all entries by key, then those of prints. Keeps a few
// megabytes in memory.

#include <cstdint>
#include <optional>
#include <string>

#include "index/segment_format.h"
#include "index/segment_io.h"
#include "index/segment_key_writer.h"

namespace doppel {

// How much a segment gets. The numbers of entries may be upper bounds.
struct SegmentAmount {
  uint64_t rows = 0;
  uint64_t keys = 0;
  uint64_t prints = 0;
};

class SegmentWriter {
 public:
  // `sink` must outlive the writer.
  SegmentWriter(const CandidateIndexOptions& options, Seq first, const SegmentAmount& amount,
                uint32_t columns, SegmentSink& sink);

  // A row in RowLayout, and how many prints it lists.
  absl::Status add_row(const uint8_t* row, uint32_t prints);
  // Ascending by key, then by ordinal.
  absl::Status add_key(uint64_t key, uint32_t ordinal) { return keys_.add(key, ordinal); }
  // The same, after all keys.
  absl::Status add_print(uint64_t print, uint32_t ordinal);
  // Writes the rest, and the header last.
  absl::Status finish();

 private:
  static SegmentHeader header_of(const CandidateIndexOptions& options, Seq first, uint64_t rows);
  absl::Status begin_prints();

  const SegmentAmount amount_;
  const uint32_t columns_;
  SegmentSink& sink_;
  SegmentHeader header_;
  SegmentStream rows_, counts_;
  SegmentKeyWriter keys_;
  std::optional<SegmentKeyWriter> prints_;
  uint64_t rows_added_ = 0;
  std::string row_page_;
};

}  // namespace doppel
