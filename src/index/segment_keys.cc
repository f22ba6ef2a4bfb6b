#include "index/segment_keys.h"

#include <algorithm>

#include "base/status.h"

namespace doppel {

absl::Status SegmentKeys::load(const SegmentSource& source) {
  const uint64_t bytes = part_.filter.bytes();
  const uint64_t room = bytes + 8 * part_.filter.columns;  // probes read one block more
  filter_ = Pages(room, room, room < kHugePage ? room : 0);
  filter_.require(room);
  RETURN_IF_ERROR(read_checked(source, part_.at, filter_.data(), bytes, part_.filter_crc, "filter"));
  directory_.resize(part_.pages);
  return read_checked(source, part_.directory_at(), reinterpret_cast<uint8_t*>(directory_.data()),
                      4 * directory_.size(), part_.directory_crc, "directory");
}

bool SegmentKeys::has(uint64_t key, bool repeated) const {
  const uint64_t of_filter = shape_.filter_key(key);
  const uint64_t coefficients = filter_coefficients(of_filter, repeated);
  uint32_t hit = 0;
  return probe(filter_probe_scalar, &of_filter, &coefficients, 1, &hit) != 0;
}

PageRange SegmentKeys::pages_of(uint64_t key) const {
  if (directory_.empty()) return {};
  const auto top = static_cast<uint32_t>(key >> (shape_.bits - 32));
  // Keys are uniform, so the place in proportion is close; the range around it doubles until it has the key.
  const uint64_t n = directory_.size();
  const uint64_t guess = std::min(n - 1, (top * n) >> 32);
  uint64_t low = guess;
  uint64_t high = guess;
  for (uint64_t step = 16; low > 0 && directory_[low] >= top; step *= 2) low -= std::min(low, step);
  for (uint64_t step = 16; high < n && directory_[high] <= top; step *= 2) high = std::min(n, high + step);
  const auto* begin = directory_.data();
  // A page whose first key has the same top may begin behind the key, or among entries of it.
  const auto first = static_cast<uint64_t>(std::lower_bound(begin + low, begin + high, top) - begin);
  const auto behind = static_cast<uint64_t>(std::upper_bound(begin + low, begin + high, top) - begin);
  if (behind == 0) return {};
  return {first == 0 ? 0 : first - 1, behind - 1};
}

void SegmentKeys::find(const uint8_t* page, uint64_t key, PodVector<uint32_t>& ordinals) const {
  const uint64_t first = KeyPage::first_key(page);
  if (key < first || (key - first) >> (8 * shape_.entry_bytes - ordinal_bits_) != 0) return;
  const uint64_t wanted = (key - first) << ordinal_bits_;
  const uint64_t end = wanted + (uint64_t{1} << ordinal_bits_);
  uint32_t low = 0;
  for (uint32_t high = KeyPage::count(page); low < high;) {
    const uint32_t middle = (low + high) / 2;
    if (KeyPage::entry(shape_, page, middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < KeyPage::count(page); ++low) {
    const uint64_t entry = KeyPage::entry(shape_, page, low);
    if (entry >= end) break;
    ordinals.push_back(static_cast<uint32_t>(entry - wanted));
  }
}

}  // namespace doppel
