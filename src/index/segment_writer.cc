#include "index/segment_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "index/row_layout.h"

namespace doppel {

SegmentHeader SegmentWriter::header_of(const CandidateIndexOptions& options, Seq first, uint64_t rows) {
  DOPPEL_CHECK(rows <= kSegmentRowsMax, "the ordinals of a segment have 28 bits", rows);
  SegmentHeader header;
  header.first = first;
  header.rows = rows;
  header.stride = static_cast<uint32_t>(RowLayout(options).stride());
  header.with_prints = options.track_prints;
  header.scheme = segment_scheme(options);
  return header;
}

SegmentWriter::SegmentWriter(const CandidateIndexOptions& options, Seq first, const SegmentAmount& amount,
                             uint32_t columns, SegmentSink& sink)
    : amount_(amount),
      columns_(columns),
      sink_(sink),
      header_(header_of(options, first, amount.rows)),
      rows_(sink, header_.row_page_at(0)),
      counts_(sink, header_.counts_at()),
      keys_(kRowKeys, header_.keys_at(), amount.keys, columns, amount.rows, header_.ordinal_bits(), sink) {}

absl::Status SegmentWriter::add_row(const uint8_t* row, uint32_t prints) {
  std::string_view left(reinterpret_cast<const char*>(row), header_.stride);
  while (!left.empty()) {
    if (row_page_.empty()) row_page_.resize(RowPage::kHead);
    const size_t fits = std::min(left.size(), kSegmentPage - row_page_.size());
    row_page_.append(left.substr(0, fits));
    left.remove_prefix(fits);
    if (row_page_.size() == kSegmentPage) RETURN_IF_ERROR(rows_.put_page(row_page_));
  }
  ++rows_added_;
  if (!header_.with_prints) return absl::OkStatus();
  const auto count = static_cast<char>(std::min<size_t>(prints, kPrintsCounted));
  header_.counts_crc = crc32c({&count, 1}, header_.counts_crc);
  return counts_.put({&count, 1});
}

absl::Status SegmentWriter::begin_prints() {
  ASSIGN_OR_RETURN(header_.keys, keys_.finish());
  prints_.emplace(kPrintKeys, header_.prints_at(), amount_.prints, columns_, amount_.rows,
                  header_.ordinal_bits(), sink_);
  return absl::OkStatus();
}

absl::Status SegmentWriter::add_print(uint64_t print, uint32_t ordinal) {
  if (!prints_) RETURN_IF_ERROR(begin_prints());
  return prints_->add(print, ordinal);
}

absl::Status SegmentWriter::finish() {
  DOPPEL_CHECK(rows_added_ == header_.rows, "a segment gets the rows that it was announced with", rows_added_,
               header_.rows);
  if (!row_page_.empty()) RETURN_IF_ERROR(rows_.put_page(row_page_));
  RETURN_IF_ERROR(rows_.flush());
  RETURN_IF_ERROR(counts_.flush());
  if (!header_.with_prints) {
    ASSIGN_OR_RETURN(header_.keys, keys_.finish());
  } else {
    if (!prints_) RETURN_IF_ERROR(begin_prints());
    ASSIGN_OR_RETURN(header_.prints, prints_->finish());
  }
  return sink_.write_at(0, encode_segment_header(header_));
}

}  // namespace doppel
