// The kernels of sketch/ with NEON.

#include <arm_neon.h>

#include "base/neon.h"
#include "sketch/fast_rounds.h"
#include "sketch/radix_sort.h"

namespace doppel {

// Fast similarity sketching, as with AVX-512, with eight shingles at a time. The open slots are a table of
// bits, which the instructions for tables look up.
namespace {

constexpr int kOpenBytes = kMaxSlots / 8;

// Sets a bit for each slot that does not hold an earlier round than `round`.
inline bool find_open(const uint64_t* slots, int k, int round, uint8_t* open) {
  const uint64x2_t first = vdupq_n_u64(first_open(round));
  uint32_t any = 0;
  for (int i = 0; i < kOpenBytes; ++i) open[i] = 0;
  int i = 0;
  for (; i + 8 <= k; i += 8) {
    const auto later = [&](int j) {
      return vcombine_u32(vmovn_u64(vcgeq_u64(vld1q_u64(slots + i + j), first)),
                          vmovn_u64(vcgeq_u64(vld1q_u64(slots + i + j + 2), first)));
    };
    const uint16x8_t lanes = vcombine_u16(vmovn_u32(later(0)), vmovn_u32(later(4)));
    const uint32_t bits = bits_of(vmovn_u16(lanes));
    open[i / 8] = static_cast<uint8_t>(bits);
    any |= bits;
  }
  for (; i < k; ++i) {
    const uint32_t bit = slots[i] >= first_open(round) ? 1 : 0;
    open[i / 8] = static_cast<uint8_t>(open[i / 8] | bit << (i % 8));
    any |= bit;
  }
  return any != 0;
}

// The table of open slots in registers.
struct SmallTable {  // k <= 256
  uint8x16x2_t bytes;
  explicit SmallTable(const uint8_t* open) : bytes(vld1q_u8_x2(open)) {}
  uint8x16_t at(uint8x16_t i) const { return vqtbl2q_u8(bytes, i); }  // 0 beyond the end
};
struct LargeTable {
  uint8x16x4_t low, high;
  explicit LargeTable(const uint8_t* open) : low(vld1q_u8_x4(open)), high(vld1q_u8_x4(open + 64)) {}
  uint8x16_t at(uint8x16_t i) const {
    return vqtbx4q_u8(vqtbl4q_u8(low, i), high, vsubq_u8(i, vdupq_n_u8(64)));
  }
};

template <typename Table>
inline void middle_round(uint64_t* slots, int k, const uint64_t* x, size_t n, const RoundKey& key, int round,
                         const uint8_t* open) {
  const Table table(open);
  const auto factor = static_cast<uint32_t>(key.flip >> 32) | 1;
  // All ones in the lanes of four shingles whose slot is open.
  const auto hits = [&](const uint64_t* four) {
    const uint32x4_t halves = vcombine_u32(vmovn_u64(vld1q_u64(four)), vmovn_u64(vld1q_u64(four + 2)));
    const uint32x4_t product = vmulq_n_u32(halves, factor);
    const uint32x4_t bin = vshrq_n_u32(vmulq_n_u32(vshrq_n_u32(product, 10), static_cast<uint32_t>(k)), 22);
    // The three upper bytes of each lane lie beyond the table.
    const uint32x4_t place = vorrq_u32(vshrq_n_u32(bin, 3), vdupq_n_u32(0xffffff00));
    const uint32x4_t byte = vreinterpretq_u32_u8(table.at(vreinterpretq_u8_u32(place)));
    const int32x4_t shift = vreinterpretq_s32_u32(vandq_u32(bin, vdupq_n_u32(7)));
    return vtstq_u32(byte, vshlq_u32(vdupq_n_u32(1), shift));
  };
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const uint16x8_t both = vcombine_u16(vmovn_u32(hits(x + i)), vmovn_u32(hits(x + i + 4)));
    uint64_t lanes = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(both)), 0) & 0x8080808080808080;
    for (; lanes != 0; lanes &= lanes - 1) {
      const uint64_t shingle = x[i + static_cast<size_t>(__builtin_ctzll(lanes) / 8)];
      lower(slots[round_bin(shingle, key, k)], round_slot(shingle, key, round));
    }
  }
  for (; i < n; ++i) {
    const uint32_t bin = round_bin(x[i], key, k);
    if ((open[bin / 8] >> (bin % 8) & 1) != 0) lower(slots[bin], round_slot(x[i], key, round));
  }
}

}  // namespace

bool middle_rounds_neon(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                        int to) {
  if (n <= kFewShingles) return middle_rounds_of_few(slots, k, x, n, keys, from, to);
  uint8_t open[kOpenBytes];
  for (int round = from; round < to; ++round) {
    if (!find_open(slots, k, round, open)) return false;
    const RoundKey key = round_key(keys, round);
    k <= 256 ? middle_round<SmallTable>(slots, k, x, n, key, round, open)
             : middle_round<LargeTable>(slots, k, x, n, key, round, open);
  }
  return find_open(slots, k, to, open);
}

namespace {

// The radix sort, as with AVX2, with four values at a time.

// counts[i] = the sum of all counts before it; `size` is a multiple of 8.
inline void running_starts(uint16_t* counts, size_t size) {
  const uint16x8_t none = vdupq_n_u16(0);
  uint16x8_t carry = none;  // the total so far, in every lane
  for (size_t i = 0; i < size; i += 8) {
    const uint16x8_t x = vld1q_u16(counts + i);
    uint16x8_t sums = vaddq_u16(x, vextq_u16(none, x, 7));
    sums = vaddq_u16(sums, vextq_u16(none, sums, 6));
    sums = vaddq_u16(sums, vextq_u16(none, sums, 4));
    vst1q_u16(counts + i, vaddq_u16(vsubq_u16(sums, x), carry));
    carry = vaddq_u16(carry, vdupq_laneq_u16(sums, 7));
  }
}

// Orders every second pair of neighbours, starting at v[0] or v[1]. Returns whether any pair was out of
// order.
inline bool sweep(uint32_t* v, size_t n) {
  const uint32x4_t second = {0, ~0u, 0, ~0u};
  uint32x4_t changed = vdupq_n_u32(0);
  for (size_t i = 0; i < n; i += 4) {
    const uint32x4_t x = vld1q_u32(v + i);
    const uint32x4_t swapped = vrev64q_u32(x);
    const uint32x4_t ordered = vbslq_u32(second, vmaxq_u32(x, swapped), vminq_u32(x, swapped));
    changed = vorrq_u32(changed, veorq_u32(x, ordered));
    vst1q_u32(v + i, ordered);
  }
  return vmaxvq_u32(changed) != 0;
}

}  // namespace

bool bucket_sort_neon(const uint32_t* values, size_t n, uint32_t* sorted) {
  return bucket_sort_by(values, n, sorted, running_starts, sweep);
}

size_t count_distinct_neon(const uint32_t* sorted, size_t n) {
  uint32x4_t repeats = vdupq_n_u32(0);
  size_t i = 1;
  for (; i + 4 <= n; i += 4)  // an equal lane is -1
    repeats = vsubq_u32(repeats, vceqq_u32(vld1q_u32(sorted + i), vld1q_u32(sorted + i - 1)));
  size_t distinct = n - vaddvq_u32(repeats);
  for (; i < n; ++i) distinct -= sorted[i] == sorted[i - 1];
  return distinct;
}

}  // namespace doppel
