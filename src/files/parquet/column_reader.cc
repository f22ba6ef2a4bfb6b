#include "files/parquet/column_reader.h"

// zlib.h: input pointers are const
#define ZLIB_CONST

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/status.h"

namespace doppel::parquet {
namespace {

constexpr uint64_t kBlock = 256 << 10;
// Page heads are small, but they hold the least and the largest value, which some writers do not truncate.
constexpr uint64_t kHead = 1 << 10, kMostHead = 64 << 20;

absl::Status damaged(const std::string& cause) { return absl::DataLossError(cause); }

}  // namespace

absl::StatusOr<std::string_view> ChunkBytes::peek(uint64_t n) {
  n = std::min(n, left());
  const size_t held = buffer_.size() - used_;
  if (held < n) {
    buffer_.erase(0, used_);
    used_ = 0;
    const uint64_t more = std::min(left() - held, std::max(n - held, kBlock));
    buffer_.resize(held + more);
    absl::Status status = read_at(fd_, at_ + held, buffer_.data() + held, more);
    if (!status.ok()) {
      buffer_.resize(held);
      return status;
    }
    counter_->fetch_add(more, std::memory_order_relaxed);
  }
  return std::string_view(buffer_).substr(used_, n);
}

void ChunkBytes::take(uint64_t n) {
  at_ += n;
  const uint64_t held = std::min<uint64_t>(n, buffer_.size() - used_);
  used_ += held;
  if (held == n) return;
  // Skips bytes that were not read.
  buffer_.clear();
  used_ = 0;
}

void ColumnReader::begin(const Chunk& chunk, uint64_t rows) {
  codec_ = chunk.codec;
  bytes_ = ChunkBytes(fd_, chunk, counter_);
  dictionary_.clear();
  has_dictionary_ = false;
  rows_ = rows;
  in_page_ = 0;
  values_.reset();
}

absl::Status ColumnReader::next(Cell& out) {
  Depth levels;
  return next(levels, out);
}

absl::Status ColumnReader::next(Depth& levels, Cell& out) {
  while (in_page_ == 0) RETURN_IF_ERROR(next_page(0).status());
  --in_page_;
  out = {};
  levels = {};
  if ((depth_.definition > 0 && !definitions_.next(levels.definition)) ||
      (depth_.repetition > 0 && !repetitions_.next(levels.repetition)))
    return damaged("a page ends before its levels do");
  if (levels.definition > depth_.definition || levels.repetition > depth_.repetition)
    return damaged("a page has an impossible level");
  if (levels.definition < depth_.definition) return absl::OkStatus();
  if (!values_) {
    ASSIGN_OR_RETURN(values_, make_page_values(encoding_, column_, data_, dictionary_));
  }
  RETURN_IF_ERROR(values_->next(out));
  out.there = true;
  return absl::OkStatus();
}

absl::Status ColumnReader::skip(uint64_t rows) {
  while (rows > in_page_) {
    rows -= in_page_;
    in_page_ = 0;
    ASSIGN_OR_RETURN(const uint64_t jumped, next_page(rows));
    rows -= jumped;
  }
  Cell ignored;
  for (; rows > 0; --rows) RETURN_IF_ERROR(next(ignored));
  return absl::OkStatus();
}

// Advances to the next data page. Skips pages without values, and pages with only rows to be skipped.
// Returns how many such rows it skipped.
absl::StatusOr<uint64_t> ColumnReader::next_page(uint64_t rows_to_skip) {
  values_.reset();
  if (rows_ == 0) return damaged("it has more rows than its row group");
  if (bytes_.left() == 0) return damaged(fmt::format("it ends {} rows before its row group does", rows_));
  ASSIGN_OR_RETURN(const PageHead head, take_head());
  switch (head.kind) {
    case PageHead::Kind::dictionary:
      RETURN_IF_ERROR(take_dictionary(head));
      return 0;
    case PageHead::Kind::index:
      bytes_.take(static_cast<uint64_t>(head.packed));
      return 0;
    case PageHead::Kind::data:
    case PageHead::Kind::data_v2:
      break;
  }
  const auto values = static_cast<uint64_t>(head.values);
  if (head.values < 0 || values > rows_)
    return damaged(
        fmt::format("a page has {} values, and its row group only {} more rows", head.values, rows_));
  if (head.kind == PageHead::Kind::data_v2 && depth_.repetition == 0 && head.rows != head.values)
    return damaged(fmt::format("a page has {} values for {} rows", head.values, head.rows));
  rows_ -= values;
  if (values <= rows_to_skip) {
    bytes_.take(static_cast<uint64_t>(head.packed));
    return values;
  }
  RETURN_IF_ERROR(take_data(head));
  return 0;
}

absl::StatusOr<PageHead> ColumnReader::take_head() {
  for (uint64_t size = kHead;; size *= 8) {
    ASSIGN_OR_RETURN(const std::string_view begin, bytes_.peek(size));
    size_t length = 0;
    std::optional<PageHead> head = read_page_head(begin, length);
    if (!head && begin.size() == size && size < kMostHead) continue;
    if (!head) return damaged("no page begins where one should");
    bytes_.take(length);
    // The casts turn negative sizes into very large ones.
    if (static_cast<uint64_t>(head->packed) > bytes_.left()) {
      return damaged(
          fmt::format("a page has {} bytes, its head says, and only {} follow", head->packed, bytes_.left()));
    }
    if (static_cast<uint64_t>(head->unpacked) > page_bytes_ ||
        static_cast<uint64_t>(head->packed) > page_bytes_) {
      return damaged(fmt::format(
          "a page unpacks to {} bytes, more than the {} that are read; write the file with smaller pages",
          std::max(head->packed, head->unpacked), page_bytes_));
    }
    return *std::move(head);
  }
}

// Takes the page's bytes behind its head, as they are stored.
absl::StatusOr<std::string_view> ColumnReader::take_body(const PageHead& head) {
  ASSIGN_OR_RETURN(const std::string_view body, bytes_.peek(static_cast<uint64_t>(head.packed)));
  bytes_.take(body.size());
  if (head.crc &&
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())) != *head.crc)
    return damaged("a page has a wrong checksum");
  return body;
}

absl::StatusOr<std::string_view> ColumnReader::unpacked(std::string_view packed, uint64_t size,
                                                        bool is_packed, std::string& memory) {
  if (!is_packed || codec_ == Codec::none) {
    if (packed.size() != size) return damaged("a page that is not packed has two lengths");
    return packed;
  }
  // Some writers store no bytes for a page without values.
  if (size == 0) return std::string_view();
  RETURN_IF_ERROR(unpacker_.unpack(codec_, packed, size, memory));
  return std::string_view(memory);
}

absl::Status ColumnReader::take_dictionary(const PageHead& head) {
  if (has_dictionary_) return damaged("it has two dictionaries");
  if (head.encoding != Encoding::plain && head.encoding != Encoding::plain_dictionary) {
    return damaged(
        fmt::format("the encoding of its dictionary is {}, which is not read", name_of(head.encoding)));
  }
  ASSIGN_OR_RETURN(const std::string_view body, take_body(head));
  ASSIGN_OR_RETURN(const std::string_view page,
                   unpacked(body, static_cast<uint64_t>(head.unpacked), true, dictionary_page_));
  // The dictionary outlives the buffer that its bytes were read into.
  if (page.data() != dictionary_page_.data()) dictionary_page_.assign(page);
  has_dictionary_ = true;
  return read_dictionary(column_, dictionary_page_, static_cast<uint64_t>(std::max<int64_t>(0, head.values)),
                         dictionary_);
}

absl::Status ColumnReader::take_data(const PageHead& head) {
  ASSIGN_OR_RETURN(std::string_view body, take_body(head));
  encoding_ = head.encoding;
  std::string_view definitions, repetitions;
  if (head.kind == PageHead::Kind::data_v2) {
    const int64_t most = std::min(head.packed, head.unpacked);
    if (head.definitions < 0 || head.repetitions < 0 || head.definitions > most ||
        head.repetitions > most - head.definitions)
      return damaged("the levels of a page are longer than the page");
    const int64_t before = head.definitions + head.repetitions;
    repetitions = body.substr(0, static_cast<size_t>(head.repetitions));
    definitions = body.substr(static_cast<size_t>(head.repetitions), static_cast<size_t>(head.definitions));
    body.remove_prefix(static_cast<size_t>(before));
    ASSIGN_OR_RETURN(data_,
                     unpacked(body, static_cast<uint64_t>(head.unpacked - before), head.is_packed, page_));
  } else {
    ASSIGN_OR_RETURN(data_, unpacked(body, static_cast<uint64_t>(head.unpacked), true, page_));
    if (depth_.repetition > 0) RETURN_IF_ERROR(take_levels(head, repetitions));
    if (depth_.definition > 0) RETURN_IF_ERROR(take_levels(head, definitions));
  }
  definitions_ = HybridReader(definitions, bits_of_levels(depth_.definition));
  repetitions_ = HybridReader(repetitions, bits_of_levels(depth_.repetition));
  in_page_ = static_cast<uint64_t>(head.values);
  return absl::OkStatus();
}

// Takes the levels that the data of a version 1 page begins with.
absl::Status ColumnReader::take_levels(const PageHead& head, std::string_view& out) {
  if (head.levels != Encoding::rle)
    return damaged(fmt::format("the encoding of its levels is {}, which is not read", name_of(head.levels)));
  ByteReader in(data_);
  out = in.bytes(in.fixed<uint32_t>());
  if (!in.ok()) return damaged("the levels of a page are longer than the page");
  data_ = in.rest();
  return absl::OkStatus();
}

}  // namespace doppel::parquet
