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

void smaller(const uint64_t* a, const uint64_t* b, size_t n, uint64_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = std::min(a[i], b[i]);
}

void sixteen(const uint64_t* values, size_t n, uint64_t* out) {
  for (size_t i = 0; i + 16 <= n; ++i) out[i] = *std::min_element(values + i, values + i + 16);
}

size_t changes(const uint64_t* values, size_t n, uint32_t* out) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i)
    if (i == 0 || values[i] != values[i - 1]) out[count++] = static_cast<uint32_t>(i);
  return count;
}

size_t last_of(const uint64_t* values, size_t n, uint64_t value) {
  for (size_t i = n; i > 0; --i)
    if (values[i - 1] == value) return i - 1;
  return n;
}

constexpr PrintKernels kScalar{smaller, sixteen, changes, last_of};

// `from` holds the minimum of `have` values from each of n positions on. Computes the minimum of `window`
// values into `out`, which may be `from`. Returns the number of positions. have <= window <= n + have - 1.
size_t widen(const PrintKernels& kernels, const uint64_t* from, size_t n, size_t have, size_t window,
             uint64_t* out) {
  if (have == window && from != out) std::copy(from, from + n, out);
  if (have == 1 && window >= 16) {
    kernels.sixteen(from, n, out);
    n -= 15;
    have = 16;
    from = out;
  }
  for (; have < window; from = out) {
    const size_t more = std::min(have, window - have);
    n -= more;
    kernels.smaller(from, from + more, n, out);
    have += more;
  }
  return n;
}

// Lists the minimum of every window, each once, by ascending position. If the minimum occurs several times in
// a window, takes the last one, and keeps it as long as it is in the window. `least` holds the minimum of
// each window; `places` says where it changes.
void take_least(const PrintKernels& kernels, std::span<const uint64_t> shingles, size_t window,
                std::span<const uint64_t> least, std::span<const uint32_t> places, uint64_t salt,
                PodVector<Print>& out) {
  for (size_t change = 0; change < places.size(); ++change) {
    const size_t end = change + 1 < places.size() ? places[change + 1] : least.size();
    const uint64_t value = least[places[change]];
    for (size_t begin = places[change]; begin < end;) {
      const size_t at = begin + kernels.last_of(&shingles[begin], window, value);
      out.push_back({.key = key_of(value, salt), .position = static_cast<uint32_t>(at)});
      begin = at + 1;
    }
  }
}

// Marks the prints that are the minimum of a wider window. `places` says where `least` changes.
void store_least(std::span<const uint64_t> shingles, std::span<const uint64_t> least,
                 std::span<const uint32_t> places, PodVector<Print>& out) {
  size_t at = 0;
  for (const uint32_t place : places) {
    while (out[at].position < place || shingles[out[at].position] != least[place]) ++at;
    out[at].stored = true;
  }
}

// Marks the minimum of every beginning that is shorter than a wide window.
void store_beginnings(std::span<const uint64_t> shingles, size_t wide, PodVector<Print>& out) {
  uint64_t least = ~uint64_t{0};
  for (Print& print : out) {
    if (print.position >= wide) return;
    const uint64_t value = shingles[print.position];
    if (value > least) continue;
    print.stored = true;
    least = value;
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

// Numbers the keys. If one print of a key is stored, marks all prints of the key as stored.
void number_keys(PodVector<Print>& out) {
  if (surely_differ(out)) {
    uint32_t next = 0;
    for (Print& print : out) print.number = next++;
    return;
  }
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

void find_prints(std::span<const uint64_t> shingles, uint32_t passage, uint64_t salt, PodVector<Print>& out) {
  out.clear();
  if (shingles.empty()) return;
  thread_local PodVector<uint64_t> least;
  thread_local PodVector<uint32_t> places;
  const PrintKernels& kernels = print_kernels_for(simd_level());
  const size_t all = shingles.size();
  const size_t narrow = std::min<size_t>(asked_window(all, passage), all);
  const size_t wide = std::min<size_t>(stored_window(all, passage), all);
  least.resize(all);
  places.resize(all + 8);
  const auto find_places = [&](size_t n) {
    return std::span<const uint32_t>(places.data(), kernels.changes(least.data(), n, places.data()));
  };
  size_t n = widen(kernels, shingles.data(), all, 1, narrow, least.data());
  take_least(kernels, shingles, narrow, {least.data(), n}, find_places(n), salt, out);
  n = widen(kernels, least.data(), n, narrow, wide, least.data());
  store_least(shingles, {least.data(), n}, find_places(n), out);
  store_beginnings(shingles, wide, out);
  number_keys(out);
}

}  // namespace doppel
