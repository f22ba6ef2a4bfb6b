#include "files/parquet/hybrid.h"

#include <algorithm>

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

}  // namespace doppel::parquet
