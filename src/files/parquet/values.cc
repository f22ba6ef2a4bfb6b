#include "files/parquet/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace doppel::parquet {

bool HybridReader::begin_run() {
  uint64_t head = 0;
  for (int shift = 0;; shift += 7) {
    if (bytes_.empty() || shift > 28) return false;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    head |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  repeated_ = (head & 1) == 0;
  const uint64_t count = head >> 1;
  if (count == 0) return false;
  if (!repeated_) {
    // The last run may be truncated behind its last value; the missing bits are padding.
    const uint64_t size = std::min<uint64_t>(count * bits_, bytes_.size());
    left_ = bits_ == 0 ? count * 8 : std::min(count * 8, size * 8 / bits_);
    run_ = bytes_.data();
    bit_ = 0;
    bytes_.remove_prefix(size);
    return left_ > 0;
  }
  const size_t size = (bits_ + 7) / 8;
  if (bytes_.size() < size) return false;
  value_ = 0;
  for (size_t i = 0; i < size; ++i)
    value_ |= static_cast<uint32_t>(static_cast<uint8_t>(bytes_[i])) << (8 * i);
  bytes_.remove_prefix(size);
  left_ = count;
  return true;
}

// Reads the next value of a bit-packed run, which holds all of its bits.
uint32_t HybridReader::unpack() {
  uint64_t out = 0;
  unsigned have = 0;
  while (have < bits_) {
    const auto byte = static_cast<uint8_t>(run_[bit_ >> 3]);
    const auto from = static_cast<unsigned>(bit_ & 7);
    const unsigned take = std::min(8 - from, bits_ - have);
    out |= static_cast<uint64_t>((byte >> from) & ((1U << take) - 1)) << have;
    have += take;
    bit_ += take;
  }
  return static_cast<uint32_t>(out);
}

namespace {

constexpr uint64_t kMostValues = UINT64_C(1) << 31;

uint64_t unsigned_from_zigzag(uint64_t value) { return value >> 1 ^ (~(value & 1) + 1); }

bool take_varint(std::string_view& from, uint64_t& out) {
  ByteReader in(from);
  out = in.varint();
  from = in.rest();
  return in.ok();
}

}  // namespace

bool DeltaReader::begin(std::string_view bytes) {
  *this = {};
  rest_ = bytes;
  uint64_t block = 0, first = 0;
  if (!take_varint(rest_, block) || !take_varint(rest_, miniblocks_) || !take_varint(rest_, values_) ||
      !take_varint(rest_, first))
    return false;
  if (block == 0 || block % 128 != 0 || block > kMostValues || miniblocks_ == 0 || block % miniblocks_ != 0 ||
      values_ > kMostValues)
    return false;
  per_miniblock_ = block / miniblocks_;
  value_ = unsigned_from_zigzag(first);
  left_ = values_;
  return per_miniblock_ % 8 == 0;
}

bool DeltaReader::begin_block() {
  uint64_t least = 0;
  if (!take_varint(rest_, least) || rest_.size() < miniblocks_) return false;
  least_ = unsigned_from_zigzag(least);
  widths_ = rest_.substr(0, miniblocks_);
  rest_.remove_prefix(miniblocks_);
  return true;
}

bool DeltaReader::begin_miniblock() {
  if (widths_.empty() && !begin_block()) return false;
  bits_ = static_cast<uint8_t>(widths_.front());
  widths_.remove_prefix(1);
  const uint64_t size = per_miniblock_ / 8 * bits_;
  // The last miniblock may be truncated behind its last value.
  const uint64_t needed = std::min(size, (std::min(left_, per_miniblock_) * bits_ + 7) / 8);
  if (bits_ > 64 || rest_.size() < needed) return false;
  miniblock_ = rest_.substr(0, size);
  rest_.remove_prefix(miniblock_.size());
  bit_ = 0;
  in_miniblock_ = per_miniblock_;
  return true;
}

bool DeltaReader::next(int64_t& value) {
  if (left_ == 0) return false;
  if (!first_) {
    if (in_miniblock_ == 0 && !begin_miniblock()) return false;
    uint64_t difference = 0;
    for (unsigned have = 0; have < bits_;) {
      const auto byte = static_cast<uint8_t>(miniblock_[bit_ >> 3]);
      const auto from = static_cast<unsigned>(bit_ & 7);
      const unsigned take = std::min(8 - from, bits_ - have);
      difference |= static_cast<uint64_t>((byte >> from) & ((1U << take) - 1)) << have;
      have += take;
      bit_ += take;
    }
    value_ += least_ + difference;
    --in_miniblock_;
  }
  first_ = false;
  --left_;
  value = static_cast<int64_t>(value_);
  return true;
}

bool DeltaReader::find_end(std::string_view& behind) const {
  DeltaReader scout = *this;
  if (scout.left_ > 0) --scout.left_;  // the first value is in the header
  while (scout.left_ > 0) {
    if (!scout.begin_miniblock()) return false;
    scout.left_ -= std::min(scout.left_, scout.per_miniblock_);
  }
  behind = scout.rest_;
  return true;
}

namespace {

constexpr uint32_t kInt96 = 12;
constexpr uint64_t kMostOfDictionary = 16 << 20;

absl::Status too_short() { return absl::DataLossError("a page ends before its values do"); }
absl::Status damaged(Encoding encoding) {
  return absl::DataLossError(fmt::format("a page has damaged values ({})", name_of(encoding)));
}

// The size of a value in bytes; 0 if it varies or is not whole bytes.
uint32_t width_of(const Column& column) {
  switch (column.stored) {
    case Stored::int32:
    case Stored::float32:
      return sizeof(uint32_t);
    case Stored::int64:
    case Stored::float64:
      return sizeof(uint64_t);
    case Stored::fixed:
      return column.length;
    case Stored::int96:
      return kInt96;
    case Stored::boolean:
    case Stored::bytes:
      break;
  }
  return 0;
}

class PlainValues final : public PageValues {
 public:
  PlainValues(const Column& column, std::string_view page)
      : stored_(column.stored), length_(column.length), rest_(page) {}

  absl::Status next(Cell& out) override {
    switch (stored_) {
      case Stored::boolean:
        if (rest_.empty()) return too_short();
        out.number = (static_cast<uint8_t>(rest_.front()) >> bit_) & 1;
        if (++bit_ == 8) {
          bit_ = 0;
          rest_.remove_prefix(1);
        }
        return absl::OkStatus();
      case Stored::int32:
        return number<int32_t>(out);
      case Stored::int64:
        return number<int64_t>(out);
      case Stored::float32:
        return number<uint32_t>(out);
      case Stored::float64:
        return number<uint64_t>(out);
      case Stored::int96:
        return bytes(kInt96, out);
      case Stored::fixed:
        return bytes(length_, out);
      case Stored::bytes:
        break;
    }
    if (rest_.size() < sizeof(uint32_t)) return too_short();
    const auto length = load<uint32_t>(rest_.data());
    rest_.remove_prefix(sizeof length);
    return bytes(length, out);
  }

 private:
  template <typename T>
  absl::Status number(Cell& out) {
    if (rest_.size() < sizeof(T)) return too_short();
    out.number = static_cast<int64_t>(load<T>(rest_.data()));
    rest_.remove_prefix(sizeof(T));
    return absl::OkStatus();
  }
  absl::Status bytes(uint32_t length, Cell& out) {
    if (rest_.size() < length) return too_short();
    out.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return absl::OkStatus();
  }

  Stored stored_;
  uint32_t length_;
  std::string_view rest_;
  unsigned bit_ = 0;
};

class DictionaryValues final : public PageValues {
 public:
  DictionaryValues(std::string_view indices, unsigned bits, const Dictionary& dictionary)
      : indices_(indices, bits), dictionary_(dictionary) {}

  absl::Status next(Cell& out) override {
    uint32_t index = 0;
    if (!indices_.next(index)) return too_short();
    if (index >= dictionary_.size()) {
      return absl::DataLossError(
          fmt::format("a page names value {} of a dictionary that has {}", index, dictionary_.size()));
    }
    dictionary_.get(index, out);
    return absl::OkStatus();
  }

 private:
  HybridReader indices_;
  const Dictionary& dictionary_;
};

// BYTE_STREAM_SPLIT: the first bytes of all values, then all second bytes and so on.
class SplitValues final : public PageValues {
 public:
  SplitValues(const Column& column, uint32_t width, std::string_view page)
      : column_(column), page_(page), values_(page.size() / width), value_(width, '\0') {}

  absl::Status next(Cell& out) override {
    if (at_ == values_) return too_short();
    for (size_t i = 0; i < value_.size(); ++i) value_[i] = page_[i * values_ + at_];
    ++at_;
    return PlainValues(column_, value_).next(out);
  }

 private:
  const Column& column_;
  std::string_view page_;
  size_t values_ = 0, at_ = 0;
  std::string value_;
};

class RleBooleans final : public PageValues {
 public:
  explicit RleBooleans(std::string_view runs) : runs_(runs, 1) {}
  absl::Status next(Cell& out) override {
    uint32_t value = 0;
    if (!runs_.next(value)) return too_short();
    out.number = value & 1;
    return absl::OkStatus();
  }

 private:
  HybridReader runs_;
};

class DeltaNumbers final : public PageValues {
 public:
  explicit DeltaNumbers(const DeltaReader& numbers, bool is_32) : numbers_(numbers), is_32_(is_32) {}
  absl::Status next(Cell& out) override {
    if (!numbers_.next(out.number)) return damaged(Encoding::delta_binary_packed);
    if (is_32_) out.number = static_cast<int32_t>(out.number);
    return absl::OkStatus();
  }

 private:
  DeltaReader numbers_;
  bool is_32_;
};

// DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
class DeltaLengths final : public PageValues {
 public:
  static absl::StatusOr<DeltaLengths> of(std::string_view page) {
    DeltaLengths out;
    if (!out.lengths_.begin(page) || !out.lengths_.find_end(out.rest_))
      return damaged(Encoding::delta_length_byte_array);
    return out;
  }
  absl::Status next(Cell& out) override {
    int64_t length = 0;
    if (!lengths_.next(length) || length < 0 || static_cast<uint64_t>(length) > rest_.size())
      return damaged(Encoding::delta_length_byte_array);
    out.bytes = rest_.substr(0, static_cast<size_t>(length));
    rest_.remove_prefix(static_cast<size_t>(length));
    return absl::OkStatus();
  }

 private:
  DeltaReader lengths_;
  std::string_view rest_;
};

// DELTA_BYTE_ARRAY: the lengths of the prefixes that values share with the one before, then the suffixes.
class DeltaBytes final : public PageValues {
 public:
  static absl::StatusOr<std::unique_ptr<PageValues>> of(std::string_view page) {
    DeltaReader prefixes;
    std::string_view behind;
    if (!prefixes.begin(page) || !prefixes.find_end(behind)) return damaged(Encoding::delta_byte_array);
    ASSIGN_OR_RETURN(DeltaLengths suffixes, DeltaLengths::of(behind));
    return std::unique_ptr<PageValues>(new DeltaBytes(prefixes, std::move(suffixes)));
  }
  absl::Status next(Cell& out) override {
    int64_t prefix = 0;
    Cell suffix;
    RETURN_IF_ERROR(suffixes_.next(suffix));
    if (!prefixes_.next(prefix) || prefix < 0 || static_cast<uint64_t>(prefix) > last_.size() ||
        last_.size() > kMostBytes)
      return damaged(Encoding::delta_byte_array);
    last_.resize(static_cast<size_t>(prefix));
    last_.append(suffix.bytes);
    out.bytes = last_;
    return absl::OkStatus();
  }

 private:
  // A value has at most 2 GiB, as in the other encodings.
  static constexpr size_t kMostBytes = INT32_MAX;

  DeltaBytes(const DeltaReader& prefixes, DeltaLengths suffixes)
      : prefixes_(prefixes), suffixes_(std::move(suffixes)) {}

  DeltaReader prefixes_;
  DeltaLengths suffixes_;
  std::string last_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PageValues>> make_page_values(Encoding encoding, const Column& column,
                                                             std::string_view page,
                                                             const Dictionary& dictionary) {
  const bool is_bytes = column.stored == Stored::bytes || column.stored == Stored::fixed;
  switch (encoding) {
    case Encoding::plain:
      return std::make_unique<PlainValues>(column, page);
    case Encoding::plain_dictionary:
    case Encoding::rle_dictionary: {
      if (page.empty()) return too_short();
      const auto bits = static_cast<uint8_t>(page.front());
      if (bits > 32) return damaged(encoding);
      return std::make_unique<DictionaryValues>(page.substr(1), bits, dictionary);
    }
    case Encoding::rle: {
      if (column.stored != Stored::boolean) break;
      ByteReader in(page);
      const std::string_view runs = in.bytes(in.fixed<uint32_t>());
      if (!in.ok()) return too_short();
      return std::make_unique<RleBooleans>(runs);
    }
    case Encoding::delta_binary_packed: {
      if (column.stored != Stored::int32 && column.stored != Stored::int64) break;
      DeltaReader numbers;
      if (!numbers.begin(page)) return damaged(encoding);
      return std::make_unique<DeltaNumbers>(numbers, column.stored == Stored::int32);
    }
    case Encoding::delta_length_byte_array: {
      if (column.stored != Stored::bytes) break;
      ASSIGN_OR_RETURN(DeltaLengths values, DeltaLengths::of(page));
      return std::make_unique<DeltaLengths>(std::move(values));
    }
    case Encoding::delta_byte_array:
      if (!is_bytes) break;
      return DeltaBytes::of(page);
    case Encoding::byte_stream_split: {
      const uint32_t width = width_of(column);
      if (width == 0) break;
      if (page.size() % width != 0) return damaged(encoding);
      return std::make_unique<SplitValues>(column, width, page);
    }
    default:
      break;
  }
  return absl::UnimplementedError(
      fmt::format("its encoding is {}, which is not read for such a column", name_of(encoding)));
}

void Dictionary::get(uint64_t place, Cell& out) const {
  const char* at = page_.data() + (width_ > 0 ? place * width_ : 0);
  switch (stored_) {
    case Stored::boolean:
      out.number = static_cast<uint8_t>(page_[place / 8]) >> (place % 8) & 1;
      return;
    case Stored::int32:
      out.number = load<int32_t>(at);
      return;
    case Stored::float32:
      out.number = load<uint32_t>(at);
      return;
    case Stored::int64:
    case Stored::float64:
      out.number = load<int64_t>(at);
      return;
    case Stored::int96:
    case Stored::fixed:
      out.bytes = {at, width_};
      return;
    case Stored::bytes:
      const char* length = page_.data() + begins_[place];
      out.bytes = {length + sizeof(uint32_t), load<uint32_t>(length)};
  }
}

absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values, Dictionary& out) {
  out.clear();
  // Writers limit dictionaries to a few megabytes.
  if (values > kMostOfDictionary) {
    return absl::DataLossError(
        fmt::format("a dictionary of {} values, more than the {} that are read", values, kMostOfDictionary));
  }
  out.page_ = page;
  out.stored_ = column.stored;
  out.width_ = width_of(column);
  if (out.width_ > 0 ? page.size() / out.width_ < values
                     : column.stored == Stored::boolean && page.size() * 8 < values)
    return too_short();
  if (column.stored == Stored::bytes) {
    out.begins_.reserve(std::min<uint64_t>(values, page.size() / sizeof(uint32_t)));
    uint64_t at = 0;
    for (uint64_t i = 0; i < values; ++i) {
      if (page.size() - at < sizeof(uint32_t)) return too_short();
      const auto length = load<uint32_t>(page.data() + at);
      if (page.size() - at - sizeof length < length) return too_short();
      out.begins_.push_back(static_cast<uint32_t>(at));
      at += sizeof length + length;
    }
  }
  out.size_ = values;
  return absl::OkStatus();
}

}  // namespace doppel::parquet
