#include "files/parquet/column_reader.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/status.h"
#include "base/strings.h"
#include "files/tables/rows.h"

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

namespace {

void add_leaves(const Column& column, const std::string& path, std::vector<Column>& out) {
  if (column.kind == Kind::value) {
    out.push_back(column);
    out.back().name = path;
  }
  for (const Column& child : column.children) add_leaves(child, path + "." + child.name, out);
}

absl::Status in_leaf(const Column& leaf, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("column \"{}\": {}", leaf.name, std_sv(status.message())))};
}

}  // namespace

void add_leaves(const Column& column, std::vector<Column>& out) { add_leaves(column, column.name, out); }

NestedReader::NestedReader(const Column& column, const Column* leaves, int fd, uint64_t page_bytes,
                           uint64_t row_bytes, const ByteCounter& counter)
    : row_bytes_(row_bytes) {
  std::vector<Column> below;
  add_leaves(column, below);
  leaves_.reserve(below.size());
  for (size_t i = 0; i < below.size(); ++i) leaves_.emplace_back(leaves[i], fd, page_bytes, counter);
  size_t first = 0;
  root_ = node_of(column, first);
}

NestedReader::Node NestedReader::node_of(const Column& column, size_t& first) {
  Node out{.column = &column, .first = first};
  if (column.kind == Kind::value) ++first;
  for (const Column& child : column.children) {
    out.children.push_back(node_of(child, first));
    out.names.emplace_back(out.names.empty() ? "{" : ",");
    append_json_string(out.names.back(), child.name);
    out.names.back() += ':';
  }
  out.leaves = first - out.first;
  return out;
}

absl::Status NestedReader::begin(const Chunk* chunks, uint64_t rows, uint64_t skip) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Leaf& leaf = leaves_[i];
    const Chunk& chunk = chunks[i];
    if (!chunk.unreadable.empty()) return in_leaf(leaf.column, absl::DataLossError(chunk.unreadable));
    const bool lists = leaf.column.repetition > 0;
    leaf.left = lists ? chunk.values : rows;
    leaf.at_hand = false;
    leaf.reader.begin(chunk, leaf.left);
    if (!lists) {
      RETURN_IF_ERROR(in_leaf(leaf.column, leaf.reader.skip(skip)));
      leaf.left -= skip;
      continue;
    }
    // A row extends from a value with repetition level 0 to the next such value.
    for (uint64_t begun = 0; begun <= skip && skip > 0;) {
      RETURN_IF_ERROR(in_leaf(leaf.column, look(leaf)));
      if (!leaf.at_hand || (leaf.levels.repetition == 0 && ++begun > skip)) break;
      leaf.at_hand = false;
    }
  }
  return absl::OkStatus();
}

// Reads the leaf's next value, unless one is waiting or the row group has no more.
absl::Status NestedReader::look(Leaf& leaf) {
  if (leaf.at_hand || leaf.left == 0) return absl::OkStatus();
  --leaf.left;
  RETURN_IF_ERROR(leaf.reader.next(leaf.levels, leaf.cell));
  leaf.at_hand = true;
  return absl::OkStatus();
}

absl::Status NestedReader::next(std::string_view& out) {
  for (Leaf& leaf : leaves_) {
    RETURN_IF_ERROR(in_leaf(leaf.column, look(leaf)));
    if (!leaf.at_hand) return in_leaf(leaf.column, absl::DataLossError("it ends before its row group does"));
    if (leaf.levels.repetition != 0)
      return in_leaf(leaf.column, absl::DataLossError("its lists are longer than those of its neighbours"));
  }
  out_.clear();
  RETURN_IF_ERROR(append(root_));
  out = out_;
  return absl::OkStatus();
}

// Drops the single value that each leaf has for a null or an empty list.
absl::Status NestedReader::pass(const Node& node) {
  for (size_t i = node.first; i < node.first + node.leaves; ++i) {
    RETURN_IF_ERROR(in_leaf(leaves_[i].column, look(leaves_[i])));
    leaves_[i].at_hand = false;
  }
  return absl::OkStatus();
}

absl::Status NestedReader::append(const Node& node) {
  const Column& column = *node.column;
  Leaf& first = leaves_[node.first];
  RETURN_IF_ERROR(in_leaf(first.column, look(first)));
  if (!first.at_hand) return in_leaf(first.column, absl::DataLossError("it ends within a row"));
  if (first.levels.definition < column.definition) {
    put("null");
    return pass(node);
  }
  switch (column.kind) {
    case Kind::value:
      if (out_.size() <= row_bytes_) tables::append_json(column, first.cell, out_);
      first.at_hand = false;
      return absl::OkStatus();
    case Kind::structure:
      for (size_t i = 0; i < node.children.size(); ++i) {
        put(node.names[i]);
        RETURN_IF_ERROR(append(node.children[i]));
      }
      put("}");
      return absl::OkStatus();
    case Kind::list:
    case Kind::map:
      break;
  }
  if (first.levels.definition > column.definition) return append_entries(node);
  put(column.kind == Kind::list ? "[]" : "{}");
  return pass(node);
}

absl::Status NestedReader::append_entries(const Node& node) {
  const Column& column = *node.column;
  Leaf& first = leaves_[node.first];
  const bool map = column.kind == Kind::map;
  std::string_view before = map ? "{" : "[";
  do {
    put(before);
    before = ",";
    const size_t key = out_.size();
    RETURN_IF_ERROR(append(node.children[0]));
    if (map) {
      tables::quote(out_, key);
      put(":");
      RETURN_IF_ERROR(append(node.children[1]));
    }
    RETURN_IF_ERROR(in_leaf(first.column, look(first)));
  } while (first.at_hand && first.levels.repetition >= column.repetition);
  put(map ? "}" : "]");
  return absl::OkStatus();
}

}  // namespace doppel::parquet
