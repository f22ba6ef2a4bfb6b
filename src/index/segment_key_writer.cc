#include "index/segment_key_writer.h"

#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace doppel {

absl::Status SegmentStream::put(std::string_view bytes) {
  bytes_.append(bytes);
  return bytes_.size() < kBytes ? absl::OkStatus() : flush();
}

absl::Status SegmentStream::put_page(std::string& page) {
  page.resize(kSegmentPage);
  store(page.data(), segment_page_crc(offset(), reinterpret_cast<const uint8_t*>(page.data())));
  RETURN_IF_ERROR(put(page));
  page.clear();
  return absl::OkStatus();
}

absl::Status SegmentStream::flush() {
  RETURN_IF_ERROR(sink_.write_at(offset_, bytes_));
  offset_ += bytes_.size();
  bytes_.clear();
  return absl::OkStatus();
}

SegmentKeyWriter::SegmentKeyWriter(const KeyShape& shape, uint64_t at, uint64_t entries, uint32_t columns,
                                   uint64_t rows, int ordinal_bits, SegmentSink& sink)
    : shape_(shape),
      rows_(rows),
      ordinal_bits_(ordinal_bits),
      sink_(sink),
      part_{.at = at, .filter = FilterShape::of(entries, columns)},
      filter_(sink, at),
      pages_(sink, part_.page_at(0)),
      filter_builder_(part_.filter) {}

absl::Status SegmentKeyWriter::add(uint64_t key, uint32_t ordinal) {
  DOPPEL_CHECK(key >> shape_.bits == 0 && (part_.entries == 0 || key >= last_key_) && ordinal < rows_,
               "entries of a segment ascend and name its rows", key, last_key_, ordinal, rows_);
  const uint64_t of_filter = shape_.filter_key(key);
  const bool same = part_.entries != 0 && of_filter == shape_.filter_key(last_key_);
  if (!same) {
    RETURN_IF_ERROR(filter_up_to(filter_builder_.chunk_of(of_filter)));
    filter_builder_.add(of_filter, false);
  } else if (shape_.repeats && !last_repeated_) {
    filter_builder_.add(of_filter, true);
  }
  last_repeated_ = same;
  last_key_ = key;

  const int distance_bits = 8 * shape_.entry_bytes - ordinal_bits_;
  if (in_page_ == KeyPage::entries(shape_) || (in_page_ > 0 && (key - page_first_) >> distance_bits != 0))
    RETURN_IF_ERROR(end_page());
  if (in_page_ == 0) {
    page_first_ = key;
    directory_.push_back(static_cast<uint32_t>(key >> (shape_.bits - 32)));
    page_.resize(KeyPage::kHead);
  }
  const uint64_t entry = (key - page_first_) << ordinal_bits_ | ordinal;
  page_.append(reinterpret_cast<const char*>(&entry), static_cast<size_t>(shape_.entry_bytes));
  ++in_page_;
  ++part_.entries;
  return absl::OkStatus();
}

absl::Status SegmentKeyWriter::end_page() {
  if (in_page_ == 0) return absl::OkStatus();
  store(page_.data() + 4, static_cast<uint16_t>(in_page_));
  store(page_.data() + 8, page_first_);
  RETURN_IF_ERROR(pages_.put_page(page_));
  in_page_ = 0;
  ++part_.pages;
  return absl::OkStatus();
}

absl::Status SegmentKeyWriter::filter_up_to(uint64_t chunk) {
  while (filter_builder_.chunk() < chunk) {
    const std::string_view solved = filter_builder_.solve();
    part_.filter_crc = crc32c(solved, part_.filter_crc);
    RETURN_IF_ERROR(filter_.put(solved));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyPart> SegmentKeyWriter::finish() {
  RETURN_IF_ERROR(filter_up_to(part_.filter.chunks));
  RETURN_IF_ERROR(filter_.flush());
  RETURN_IF_ERROR(end_page());
  RETURN_IF_ERROR(pages_.flush());
  const std::string_view directory(reinterpret_cast<const char*>(directory_.data()), 4 * directory_.size());
  part_.directory_crc = crc32c(directory);
  RETURN_IF_ERROR(sink_.write_at(part_.directory_at(), directory));
  return part_;
}

}  // namespace doppel
