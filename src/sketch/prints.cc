#include "sketch/prints.h"

#include <array>
#include <bit>

#include "text/hash_key.h"

namespace doppel {
namespace {

uint64_t key_of(uint64_t shingle, uint64_t salt) {
  const uint64_t key = mix64(shingle ^ salt) >> (64 - kPrintBits);
  return static_cast<uint32_t>(key) == 0 ? key | 1 : key;
}

void smaller(const uint32_t* a, const uint32_t* b, size_t n, uint32_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = std::min(a[i], b[i]);
}

size_t minima(const uint32_t* values, const uint32_t* least, size_t n, size_t window, uint32_t* /*changes*/,
              uint32_t* out) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i != 0 && least[i] == least[i - 1] && out[count - 1] >= i) continue;
    size_t at = i + window - 1;
    while (values[at] != least[i]) --at;
    out[count++] = static_cast<uint32_t>(at);
  }
  return count;
}

constexpr PrintKernels kScalar{smaller, minima};

// Writes the minimum of each window to `out`, and returns their number. 1 <= window <= tops.size()
size_t least_of_windows(const PrintKernels& kernels, std::span<const uint32_t> tops, size_t window,
                        uint32_t* out) {
  const uint32_t* from = tops.data();
  size_t n = tops.size();
  if (window == 1) std::copy(from, from + n, out);
  for (size_t have = 1; have < window; from = out) {
    const size_t more = std::min(have, window - have);
    n -= more;
    kernels.smaller(from, from + more, n, out);
    have += more;
  }
  return n;
}

// Marks the minima of narrow windows that are the minimum of a wide window, from one to the next: the first
// one that is as small and comes into the window; else, when the window has passed it, the smallest one in
// it.
void mark_wide(std::span<const uint32_t> tops, std::span<const uint32_t> minima, size_t wide,
               uint8_t* stored) {
  const auto top = [&](size_t i) { return tops[minima[i]]; };
  size_t now = 0;
  for (size_t i = 1; i < minima.size() && minima[i] < wide; ++i) now = top(i) < top(now) ? i : now;
  for (;;) {
    stored[now] = 1;
    const size_t passed = minima[now] + wide;  // the last position of the first window behind it
    size_t next = now + 1, i = next;
    for (; i < minima.size() && minima[i] < passed && top(i) > top(now); ++i)
      next = top(i) < top(next) ? i : next;
    const bool comes_in = i < minima.size() && minima[i] < passed;
    if (!comes_in && passed >= tops.size()) return;
    const bool at_end = i < minima.size() && minima[i] == passed && top(i) < top(next);
    now = comes_in || at_end ? i : next;
  }
}

// Marks the minimum of every beginning that is shorter than a wide window.
void mark_beginnings(std::span<const uint32_t> tops, std::span<const uint32_t> minima, size_t wide,
                     uint8_t* stored) {
  uint32_t least = ~uint32_t{0};
  for (size_t i = 0; i < minima.size() && minima[i] < wide; ++i) {
    if (tops[minima[i]] > least) continue;
    stored[i] = 1;
    least = tops[minima[i]];
  }
}

// Whether all keys differ; `false` may be wrong. Spares most texts the table.
bool surely_differ(std::span<const Print> prints) {
  constexpr size_t kBits = 8'192;
  std::array<uint64_t, kBits / 64> seen{};
  uint64_t twice = 0;
  for (const Print& print : prints) {
    uint64_t& word = seen[print.key / 64 % seen.size()];
    const uint64_t bit = uint64_t{1} << print.key % 64;
    twice |= word & bit;
    word |= bit;
  }
  return twice == 0;
}

// Gives prints of one key one number. If one of them is stored, marks all of them as stored.
void number_keys(PodVector<Print>& out) {
  if (surely_differ(out)) return;
  constexpr uint32_t kNone = ~uint32_t{0};
  thread_local PodVector<uint32_t> table;  // by hash of the key: its first print
  const size_t mask = std::bit_ceil(2 * out.size() + 1) - 1;
  table.assign(mask + 1, kNone);
  uint32_t numbers = 0;
  bool repeats = false;
  for (size_t i = 0; i < out.size(); ++i) {
    size_t at = out[i].key & mask;
    while (table[at] != kNone && out[table[at]].key != out[i].key) at = (at + 1) & mask;
    if (table[at] == kNone) {
      table[at] = static_cast<uint32_t>(i);
      out[i].number = numbers++;
    } else {
      out[i].number = out[table[at]].number;
      out[table[at]].stored |= out[i].stored;
      repeats = true;
    }
  }
  if (!repeats) return;
  for (Print& print : out) {
    size_t at = print.key & mask;
    while (out[table[at]].key != print.key) at = (at + 1) & mask;
    print.stored = out[table[at]].stored;
  }
}

}  // namespace

const PrintKernels& print_kernels_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kPrintKernelsAvx512;
  if (level == Simd::avx2) return kPrintKernelsAvx2;
#endif
  static_cast<void>(level);
  return kScalar;
}

void find_prints(std::span<const uint64_t> shingles, std::span<const uint32_t> tops, uint32_t passage,
                 uint64_t salt, PodVector<Print>& out) {
  out.clear();
  if (shingles.empty()) return;
  thread_local PodVector<uint32_t> least, changes, positions;
  thread_local PodVector<uint8_t> stored;
  const PrintKernels& kernels = print_kernels_for(simd_level());
  const size_t all = shingles.size();
  const size_t narrow = std::min<size_t>(asked_window(all, passage), all);
  const size_t wide = std::min<size_t>(stored_window(all, passage), all);
  least.resize(all);
  changes.resize(all + 16);
  positions.resize(all);
  const size_t windows = least_of_windows(kernels, tops, narrow, least.data());
  const size_t count =
      kernels.minima(tops.data(), least.data(), windows, narrow, changes.data(), positions.data());
  const std::span<const uint32_t> minima(positions.data(), count);
  stored.assign(count, 0);
  mark_wide(tops, minima, wide, stored.data());
  mark_beginnings(tops, minima, wide, stored.data());
  out.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    out.push_back(
        {.key = key_of(shingles[minima[i]], salt), .position = minima[i], .number = i, .stored = stored[i]});
  number_keys(out);
}

}  // namespace doppel
