#include "files/parquet/delta.h"

#include <algorithm>

#include "base/bytes.h"

namespace doppel::parquet {
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

}  // namespace doppel::parquet
