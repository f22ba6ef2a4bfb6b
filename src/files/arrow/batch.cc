#include "files/arrow/batch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "base/strings.h"
#include "files/tables/rows.h"

namespace doppel::arrow {

namespace {

constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of an unpacked buffer
constexpr uint64_t kMostRows = uint64_t{1} << 32;
constexpr uint64_t kAlignment = 8;  // of buffers in the body

absl::Status damaged(const std::string& what) { return absl::DataLossError(what); }

absl::Status read_at(int fd, uint64_t at, size_t size, char* out) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, out, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot be read");
    if (got == 0) return damaged("the file ends too early");
    at += static_cast<uint64_t>(got);
    out += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BatchHead> read_batch_head(const FlatTable& batch, int16_t version, uint64_t body_bytes) {
  BatchHead out;
  out.union_bits = version < kVersion5;
  out.rows = static_cast<uint64_t>(batch.number<int64_t>(0));
  const FlatVector nodes = batch.vector(1, 16), buffers = batch.vector(2, 16), views = batch.vector(4, 8);
  for (uint64_t i = 0; i < nodes.size(); ++i) {
    out.nodes.push_back(static_cast<uint64_t>(nodes.number<int64_t>(i, 16)));
    // Below 0: the writer did not count them.
    out.nulls.push_back(static_cast<uint64_t>(std::max(int64_t{0}, nodes.number<int64_t>(i, 16, 8))));
    if (out.nulls.back() > out.nodes.back()) return damaged("a column has more nulls than values");
  }
  uint64_t end = 0;  // of the buffers so far
  for (uint64_t i = 0; i < buffers.size(); ++i) {
    const BatchHead::Buffer buffer{static_cast<uint64_t>(buffers.number<int64_t>(i, 16)),
                                   static_cast<uint64_t>(buffers.number<int64_t>(i, 16, 8))};
    if (buffer.at > body_bytes || buffer.size > body_bytes - buffer.at)
      return damaged("a buffer lies outside of its batch");
    if (buffer.size > 0 && buffer.at % kAlignment != 0)
      return damaged("a buffer begins where none may begin");
    if (buffer.size > 0 && buffer.at < end) return damaged("a buffer begins inside of another one");
    end = std::max(end, buffer.at + buffer.size);
    out.buffers.push_back(buffer);
  }
  for (uint64_t i = 0; i < views.size(); ++i)
    out.views.push_back(static_cast<uint64_t>(views.number<int64_t>(i, 8)));
  if (const FlatTable packed = batch.table(3); packed.there()) {
    const int8_t codec = packed.number<int8_t>(0);
    if (codec != 0 && codec != 1) return absl::UnimplementedError("packed in a way that is not known");
    out.packing = codec == 0 ? tables::Codec::lz4_frame : tables::Codec::zstd;
  }
  if (out.rows > kMostRows) return damaged(fmt::format("a batch of {} rows", out.rows));
  return out;
}

absl::Status check_batch(const BatchHead& batch, const Schema& schema) {
  if (batch.nodes.size() != schema.nodes)
    return damaged(fmt::format("it has {} columns, and the schema {}", batch.nodes.size(), schema.nodes));
  for (const Field& field : schema.fields) {
    if (batch.nodes[field.node] != batch.rows) {
      return damaged(fmt::format("column \"{}\": it has {} values for {} rows", field.column.name,
                                 batch.nodes[field.node], batch.rows));
    }
  }
  uint64_t buffers = schema.buffers + (batch.union_bits ? schema.unions : 0);
  for (const uint64_t views : batch.views) buffers += views;
  if (schema.all_known && (batch.views.size() != schema.views || batch.buffers.size() != buffers))
    return damaged(fmt::format("it has {} buffers, and its columns need {}", batch.buffers.size(), buffers));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Body::read(const BatchHead::Buffer& buffer) const {
  if (buffer.size > kMostBytes) return absl::UnimplementedError("a buffer of more than 4 GiB");
  std::string bytes(buffer.size, '\0');
  RETURN_IF_ERROR(read_at(fd_, begin_ + buffer.at, bytes.size(), bytes.data()));
  counter_->fetch_add(bytes.size(), std::memory_order_relaxed);
  if (packing_ == tables::Codec::none || bytes.empty()) return bytes;
  if (bytes.size() < sizeof(int64_t)) return damaged("a packed buffer without its size");
  const auto size = load<int64_t>(bytes.data());
  bytes.erase(0, sizeof(int64_t));
  if (size == -1) return bytes;  // stored unpacked, because packing would not have made it smaller
  if (size < 0 || static_cast<uint64_t>(size) > kMostBytes)
    return absl::UnimplementedError("a buffer of more than 4 GiB");
  RETURN_IF_ERROR(
      tables::check_room(unpacked_.packed + bytes.size(), unpacked_.size + static_cast<uint64_t>(size)));
  unpacked_.packed += bytes.size();
  unpacked_.size += static_cast<uint64_t>(size);
  std::string out;
  tables::Unpacker unpacker;
  RETURN_IF_ERROR(unpacker.unpack(packing_, bytes, static_cast<size_t>(size), out));
  return out;
}

Values::Values(const Field& field, bool index)
    : layout_(index ? Layout::numbers : field.layout),
      width_(index ? field.index_width : field.width),
      has_sign_(index ? field.index_has_sign : field.has_sign),
      scale_(index ? 1 : field.scale),
      divisor_(index ? 1 : field.divisor) {}

absl::StatusOr<Values> Values::read(const Field& field, bool index, const BatchHead& head, const Body& body) {
  Values out(field, index);
  if (field.node >= head.nodes.size()) return damaged("a batch with fewer columns than the schema");
  out.size_ = head.nodes[field.node];
  if (out.layout_ == Layout::nulls) return out;
  size_t at = field.buffer + (head.union_bits ? field.unions_before : 0);
  for (size_t i = 0; i < field.views_before; ++i) {
    if (i >= head.views.size() || head.views[i] > head.buffers.size())
      return damaged("a batch that does not say how many buffers its views have");
    at += head.views[i];
  }
  const bool in_two = out.layout_ == Layout::bytes32 || out.layout_ == Layout::bytes64 ||
                      out.layout_ == Layout::list_view32 || out.layout_ == Layout::list_view64;
  const bool in_none = out.layout_ == Layout::structure || out.layout_ == Layout::fixed_list;
  size_t more = in_two ? 1 : 0;
  if (out.layout_ == Layout::views) {
    if (field.views_before >= head.views.size() || head.views[field.views_before] > head.buffers.size())
      return damaged("a batch that does not say how many buffers its views have");
    more = head.views[field.views_before];
  }
  if (at + (in_none ? 1 : 2) + more > head.buffers.size())
    return damaged("a batch with fewer buffers than the schema");
  ASSIGN_OR_RETURN(out.there_, body.read(head.buffers[at]));
  if (out.there_.empty() && head.nulls[field.node] > 0)
    return damaged(fmt::format("it has {} nulls, and nothing says where", head.nulls[field.node]));
  if (!in_none) {
    ASSIGN_OR_RETURN(out.main_, body.read(head.buffers[at + 1]));
  }
  for (size_t i = 0; i < more; ++i) {
    ASSIGN_OR_RETURN(std::string bytes, body.read(head.buffers[at + 2 + i]));
    out.bytes_.push_back(std::move(bytes));
  }
  RETURN_IF_ERROR(out.check_sizes());
  return out;
}

// Checks all lengths once, so that get() does not need to.
absl::Status Values::check_sizes() const {
  const auto holds = [&](uint64_t value_bytes, uint64_t besides) {
    return size_ == 0 || main_.size() >= size_ * value_bytes + besides;
  };
  constexpr uint64_t kView = 16;
  bool enough = true;
  switch (layout_) {
    case Layout::nulls:
    case Layout::structure:
    case Layout::fixed_list:
      break;
    case Layout::bits:
      enough = main_.size() * 8 >= size_;
      break;
    case Layout::bytes32:
    case Layout::list32:
      enough = holds(4, 4);
      break;
    case Layout::bytes64:
    case Layout::list64:
      enough = holds(8, 8);
      break;
    case Layout::views:
      enough = holds(kView, 0);
      break;
    case Layout::numbers:
    case Layout::fixed:
      enough = holds(width_, 0);
      break;
    case Layout::list_view32:
      enough = holds(4, 0) && (size_ == 0 || bytes_[0].size() / 4 >= size_);
      break;
    case Layout::list_view64:
      enough = holds(8, 0) && (size_ == 0 || bytes_[0].size() / 8 >= size_);
      break;
  }
  if (size_ > kMostRows || !enough || (!there_.empty() && there_.size() * 8 < size_))
    return damaged("a buffer that is too short for its values");
  return absl::OkStatus();
}

absl::Status Values::entries(uint64_t i, uint64_t values, uint64_t& begin, uint64_t& end) const {
  const auto at = [&](const std::string& numbers, uint64_t place, bool wide) {
    return wide ? load<int64_t>(numbers.data() + place * 8)
                : int64_t{load<int32_t>(numbers.data() + place * 4)};
  };
  int64_t from = 0, to = 0;
  switch (layout_) {
    case Layout::list32:
    case Layout::list64:
      from = at(main_, i, layout_ == Layout::list64);
      to = at(main_, i + 1, layout_ == Layout::list64);
      break;
    case Layout::list_view32:
    case Layout::list_view64:
      from = at(main_, i, layout_ == Layout::list_view64);
      if (__builtin_add_overflow(from, at(bytes_[0], i, layout_ == Layout::list_view64), &to)) to = -1;
      break;
    default:
      from = static_cast<int64_t>(i * width_);  // both factors have 32 bits
      to = from + int64_t{width_};
  }
  if (from < 0 || to < from || static_cast<uint64_t>(to) > values)
    return damaged("a list that lies outside of its values");
  begin = static_cast<uint64_t>(from);
  end = static_cast<uint64_t>(to);
  return absl::OkStatus();
}

int64_t Values::number(uint64_t i) const {
  const char* at = main_.data() + i * width_;
  switch (width_) {
    case 1:
      return has_sign_ ? int64_t{load<int8_t>(at)} : int64_t{load<uint8_t>(at)};
    case 2:
      return has_sign_ ? int64_t{load<int16_t>(at)} : int64_t{load<uint16_t>(at)};
    case 4:
      return has_sign_ ? int64_t{load<int32_t>(at)} : int64_t{load<uint32_t>(at)};
    default:
      return load<int64_t>(at);
  }
}

template <typename Offset>
absl::Status Values::between(uint64_t i, tables::Cell& out) const {
  const auto begin = load<Offset>(main_.data() + i * sizeof(Offset));
  const auto end = load<Offset>(main_.data() + (i + 1) * sizeof(Offset));
  if (begin < 0 || end < begin || static_cast<uint64_t>(end) > bytes_[0].size())
    return damaged("a text that lies outside of its buffer");
  out.bytes =
      std::string_view(bytes_[0]).substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return absl::OkStatus();
}

absl::Status Values::view(uint64_t i, tables::Cell& out) const {
  constexpr size_t kWidth = 16, kInside = 12;
  const char* at = main_.data() + i * kWidth;
  const auto length = load<uint32_t>(at);
  if (length <= kInside) {
    out.bytes = {at + 4, length};
    return absl::OkStatus();
  }
  const auto buffer = load<uint32_t>(at + 8), begin = load<uint32_t>(at + 12);
  if (buffer >= bytes_.size() || begin > bytes_[buffer].size() || length > bytes_[buffer].size() - begin)
    return damaged("a text that lies outside of its buffer");
  out.bytes = std::string_view(bytes_[buffer]).substr(begin, length);
  return absl::OkStatus();
}

absl::Status Values::get(uint64_t i, tables::Cell& out) const {
  out = {.there = layout_ != Layout::nulls && is_there(i)};
  if (!out.there) return absl::OkStatus();
  switch (layout_) {
    case Layout::nulls:
      return absl::OkStatus();
    case Layout::bits:
      out.number = static_cast<uint8_t>(main_[i / 8]) >> (i % 8) & 1;
      return absl::OkStatus();
    case Layout::numbers:
      out.number = number(i);
      // A time outside of any calendar becomes the largest number.
      if (scale_ != 1 && __builtin_mul_overflow(out.number, scale_, &out.number)) out.number = INT64_MAX;
      if (divisor_ != 1) out.number = out.number / divisor_ - (out.number % divisor_ < 0 ? 1 : 0);
      return absl::OkStatus();
    case Layout::fixed:
      out.bytes = std::string_view(main_).substr(i * width_, width_);
      return absl::OkStatus();
    case Layout::bytes32:
      return between<int32_t>(i, out);
    case Layout::bytes64:
      return between<int64_t>(i, out);
    case Layout::views:
      return view(i, out);
    default:
      return absl::OkStatus();  // it has no values of its own
  }
}

namespace {

using tables::Kind;

absl::Status in_column(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("column \"{}\": {}", name, std_sv(status.message())))};
}

void put(std::string_view json, uint64_t most, std::string& out) {
  if (out.size() <= most) out += json;
}

}  // namespace

absl::StatusOr<NestedValues> NestedValues::read(const Field& field, const BatchHead& head, const Body& body) {
  const std::string& name = field.column.name;
  absl::StatusOr<Values> values = Values::read(field, field.dictionary.has_value(), head, body);
  if (!values.ok()) return in_column(name, values.status());
  NestedValues out(field, *std::move(values));
  for (const Field& child : field.children) {
    absl::StatusOr<NestedValues> inside = read(child, head, body);
    if (!inside.ok()) return in_column(name, inside.status());
    if (field.column.kind == Kind::structure && inside->values().size() < out.values_.size())
      return in_column(name, absl::DataLossError("a structure with fewer values than rows"));
    out.children_.push_back(*std::move(inside));
    out.names_.emplace_back(out.names_.empty() ? "{" : ",");
    append_json_string(out.names_.back(), child.column.name);
    out.names_.back() += ':';
  }
  if (field.column.kind == Kind::map && out.children_[0].values_.size() > out.children_[1].values_.size())
    return in_column(name, absl::DataLossError("a map with fewer values than keys"));
  return out;
}

absl::Status NestedValues::append(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const {
  if (field_->column.kind == Kind::value) {
    tables::Cell cell;
    RETURN_IF_ERROR(values_.get(i, cell));
    if (field_->dictionary && cell.there) {
      const tables::Cell place = cell;
      RETURN_IF_ERROR(lookup(*field_, place, cell));
    }
    if (out.size() <= most) tables::append_json(field_->column, cell, out);
    return absl::OkStatus();
  }
  if (!values_.there(i)) {
    put("null", most, out);
    return absl::OkStatus();
  }
  if (field_->column.kind != Kind::structure) return append_entries(i, lookup, most, out);
  for (size_t child = 0; child < children_.size(); ++child) {
    put(names_[child], most, out);
    RETURN_IF_ERROR(children_[child].append(i, lookup, most, out));
  }
  put("}", most, out);
  return absl::OkStatus();
}

absl::Status NestedValues::append_entries(uint64_t i, const Lookup& lookup, uint64_t most,
                                          std::string& out) const {
  uint64_t begin = 0, end = 0;
  RETURN_IF_ERROR(values_.entries(i, children_[0].values_.size(), begin, end));
  const bool map = field_->column.kind == Kind::map;
  put(map ? "{" : "[", most, out);
  for (uint64_t entry = begin; entry < end && out.size() <= most; ++entry) {
    if (entry > begin) out += ',';
    const size_t key = out.size();
    RETURN_IF_ERROR(children_[0].append(entry, lookup, most, out));
    if (!map) continue;
    tables::quote(out, key);
    put(":", most, out);
    RETURN_IF_ERROR(children_[1].append(entry, lookup, most, out));
  }
  put(map ? "}" : "]", most, out);
  return absl::OkStatus();
}

}  // namespace doppel::arrow
