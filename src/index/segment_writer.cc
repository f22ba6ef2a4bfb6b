#include "index/segment_writer.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "index/row_layout.h"

namespace doppel {
namespace {

constexpr size_t kStreamBytes = size_t{1} << 20;

void seal(std::string& page, uint64_t offset) {
  page.resize(kSegmentPage);
  store(page.data(), segment_page_crc(offset, reinterpret_cast<const uint8_t*>(page.data())));
}

}  // namespace

SegmentWriter::SegmentWriter(const CandidateIndexOptions& options, Seq first, uint64_t rows, uint64_t entries,
                             uint32_t columns, SegmentSink& sink)
    : sink_(sink), filter_builder_(FilterShape::of(entries, columns)) {
  header_.first = first;
  header_.rows = rows;
  header_.stride = static_cast<uint32_t>(RowLayout(options).stride());
  header_.filter = FilterShape::of(entries, columns);
  header_.scheme = segment_scheme(options);
  DOPPEL_CHECK(rows <= kSegmentRowsMax, "the ordinals of a segment have 28 bits", rows);
  DOPPEL_CHECK(RowPage::rows(header_.stride) > 0, "a row fits into a page", header_.stride);
  rows_.offset = header_.row_page_at(0);
  filter_.offset = header_.filter_at();
  keys_.offset = header_.key_page_at(0);
}

absl::Status SegmentWriter::put(Stream& stream, std::string_view bytes) {
  stream.bytes.append(bytes);
  return stream.bytes.size() < kStreamBytes ? absl::OkStatus() : flush(stream);
}

absl::Status SegmentWriter::flush(Stream& stream) {
  RETURN_IF_ERROR(sink_.write_at(stream.offset, stream.bytes));
  stream.offset += stream.bytes.size();
  stream.bytes.clear();
  return absl::OkStatus();
}

absl::Status SegmentWriter::add_row(const uint8_t* row) {
  if (row_page_.empty()) row_page_.resize(RowPage::kHead);
  row_page_.append(reinterpret_cast<const char*>(row), header_.stride);
  ++rows_added_;
  return ++rows_in_page_ < RowPage::rows(header_.stride) ? absl::OkStatus() : end_row_page();
}

absl::Status SegmentWriter::end_row_page() {
  if (rows_in_page_ == 0) return absl::OkStatus();
  seal(row_page_, rows_.offset + rows_.bytes.size());
  RETURN_IF_ERROR(put(rows_, row_page_));
  row_page_.clear();
  rows_in_page_ = 0;
  return absl::OkStatus();
}

absl::Status SegmentWriter::add_entry(uint64_t key, uint32_t ordinal) {
  const int ordinal_bits = header_.ordinal_bits();
  const bool same = key == last_key_;
  DOPPEL_CHECK(
      key >> kSegmentKeyBits == 0 && (header_.entries == 0 || key >= last_key_) && ordinal < header_.rows,
      "entries of a segment ascend and name its rows", key, last_key_, ordinal, header_.rows);
  if (!same) {
    RETURN_IF_ERROR(filter_up_to(filter_builder_.chunk_of(key)));
    filter_builder_.add(key, false);
  } else if (!last_repeated_) {
    filter_builder_.add(key, true);
  }
  last_repeated_ = same;
  last_key_ = key;

  if (in_key_page_ == KeyPage::kEntries ||
      (in_key_page_ > 0 && (key - page_first_) >> (KeyPage::kEntryBits - ordinal_bits) != 0))
    RETURN_IF_ERROR(end_key_page());
  if (in_key_page_ == 0) {
    page_first_ = key;
    directory_.push_back(static_cast<uint32_t>(key >> (kSegmentKeyBits - 32)));
    key_page_.resize(KeyPage::kHead);
  }
  const uint64_t entry = (key - page_first_) << ordinal_bits | ordinal;
  key_page_.append(reinterpret_cast<const char*>(&entry), KeyPage::kEntry);
  ++in_key_page_;
  ++header_.entries;
  return absl::OkStatus();
}

absl::Status SegmentWriter::end_key_page() {
  if (in_key_page_ == 0) return absl::OkStatus();
  store(key_page_.data() + 4, static_cast<uint16_t>(in_key_page_));
  store(key_page_.data() + 8, page_first_);
  seal(key_page_, keys_.offset + keys_.bytes.size());
  RETURN_IF_ERROR(put(keys_, key_page_));
  key_page_.clear();
  in_key_page_ = 0;
  ++header_.key_pages;
  return absl::OkStatus();
}

absl::Status SegmentWriter::filter_up_to(uint64_t chunk) {
  while (filter_builder_.chunk() < chunk) {
    const std::string_view solved = filter_builder_.solve();
    header_.filter_crc = crc32c(solved, header_.filter_crc);
    RETURN_IF_ERROR(put(filter_, solved));
  }
  return absl::OkStatus();
}

absl::Status SegmentWriter::finish() {
  DOPPEL_CHECK(rows_added_ == header_.rows, "a segment gets the rows that it was announced with", rows_added_,
               header_.rows);
  RETURN_IF_ERROR(end_row_page());
  RETURN_IF_ERROR(flush(rows_));
  RETURN_IF_ERROR(filter_up_to(header_.filter.chunks));
  RETURN_IF_ERROR(flush(filter_));
  RETURN_IF_ERROR(end_key_page());
  RETURN_IF_ERROR(flush(keys_));
  const std::string_view directory(reinterpret_cast<const char*>(directory_.data()), 4 * directory_.size());
  header_.directory_crc = crc32c(directory);
  RETURN_IF_ERROR(sink_.write_at(header_.directory_at(), directory));
  return sink_.write_at(0, encode_segment_header(header_));
}

}  // namespace doppel
