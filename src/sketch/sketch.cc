// Chooses the kernels and holds the keys; fast_rounds.h has the algorithms.

#include "sketch/sketch.h"

#include <algorithm>

#include "base/check.h"
#include "base/simd.h"
#include "sketch/fast_rounds.h"

namespace doppel {

// Fast Similarity Sketching in its readable form.
void first_round_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n) {
  for (size_t i = 0; i < n; ++i) lower(slots[first_bin(x[i], k)], first_slot(x[i]));
}

bool middle_rounds_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys, int from,
                          int to) {
  if (n <= kFewShingles) return middle_rounds_of_few(slots, k, x, n, keys, from, to);
  for (int round = from; round < to; ++round) {
    const uint64_t open = first_open(round);
    if (largest_slot(slots, k) < open) return false;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; ++i) {
      uint64_t& slot = slots[round_bin(x[i], key, k)];
      if (slot >= open) lower(slot, round_slot(x[i], key, round));
    }
  }
  return largest_slot(slots, k) >= first_open(to);
}

void last_rounds(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* keys) {
  for (int round = k; round < 2 * k; ++round) {
    uint64_t& slot = slots[round - k];
    if (slot < first_open(round)) continue;
    const RoundKey key = round_key(keys, round);
    for (size_t i = 0; i < n; ++i) lower(slot, round_slot(x[i], key, round));
  }
}

namespace {

// After this round, a set of at least 4k distinct shingles has filled every slot (except with probability k /
// e^16). If a slot is still open, most shingles are repeats, and one pass that drops them makes all further
// rounds cheap: a page that repeats one word a million times does not cost a million steps in each round.
constexpr int kRepeatsRound = 4;

// Returns the distinct shingles, or nothing if there are more than `most`.
std::vector<uint64_t> without_repeats(std::span<const uint64_t> shingles, size_t most) {
  size_t size = 64;
  while (size < 2 * most) size *= 2;
  std::vector<uint64_t> table(size, 0);  // 0 marks a free entry
  std::vector<uint64_t> distinct;
  bool zero_seen = false;
  for (uint64_t x : shingles) {
    if (x == 0) {
      if (!zero_seen) distinct.push_back(x);
      zero_seen = true;
      continue;
    }
    size_t place = x & (size - 1);
    while (table[place] != 0 && table[place] != x) place = (place + 1) & (size - 1);
    if (table[place] == x) continue;
    if (distinct.size() == most) return {};
    table[place] = x;
    distinct.push_back(x);
  }
  return distinct;
}

struct FastKernels {
  decltype(&first_round_scalar) first;
  decltype(&middle_rounds_scalar) middle;
};

FastKernels fast_kernels() {
  switch (simd_level()) {
#if defined(__x86_64__)
    case Simd::avx512:
      return {first_round_avx512, middle_rounds_avx512};
    case Simd::avx2:
      return {first_round_avx2, middle_rounds_avx2};
#elif defined(__aarch64__)
    case Simd::neon:
      return {first_round_scalar, middle_rounds_neon};
#endif
    default:
      return {first_round_scalar, middle_rounds_scalar};
  }
}

void fast_update(uint64_t* slots, int k, std::span<const uint64_t> shingles, const uint64_t* keys) {
  if (shingles.empty()) return;
  const FastKernels kernels = fast_kernels();
  kernels.first(slots, k, shingles.data(), shingles.size());
  if (!kernels.middle(slots, k, shingles.data(), shingles.size(), keys, 1, kRepeatsRound)) return;
  std::vector<uint64_t> distinct;
  if (shingles.size() >= 4 * static_cast<size_t>(k)) {
    distinct = without_repeats(shingles, 4 * static_cast<size_t>(k));
    if (!distinct.empty()) shingles = distinct;
  }
  if (!kernels.middle(slots, k, shingles.data(), shingles.size(), keys, kRepeatsRound, k)) return;
  last_rounds(slots, k, shingles.data(), shingles.size(), keys);
}

void classic_update(uint64_t* slots, int k, std::span<const uint64_t> x, const uint64_t* salts) {
  switch (simd_level()) {
#if defined(__x86_64__)
    case Simd::avx512:
      return classic_update_avx512(slots, k, x.data(), x.size(), salts);
    case Simd::avx2:
      return classic_update_avx2(slots, k, x.data(), x.size(), salts);
#endif
    default:
      return classic_update_scalar(slots, k, x.data(), x.size(), salts);
  }
}

}  // namespace

void classic_update_scalar(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  classic_loop(slots, k, x, n, salts);
}

std::string_view sketch_family_name(SketchFamily family) {
  return family == SketchFamily::fast ? "fast" : "classic";
}

Sketcher::Sketcher(SketchFamily family, int num_perm, const HashKey& key)
    : family_(family), num_perm_(num_perm) {
  DOPPEL_CHECK(num_perm >= 8 && num_perm <= kMaxSlots, "a sketch has 8 to kMaxSlots slots", num_perm,
               kMaxSlots);
  if (family == SketchFamily::classic) {
    for (int i = 0; i < num_perm; ++i) keys_.push_back(key.derive("classic sketch", i));
    return;
  }
  for (int round = 0; round < 2 * num_perm; ++round) {
    keys_.push_back(key.derive("fast sketch", 2 * round));
    keys_.push_back(key.derive("fast sketch", 2 * round + 1) | 1);
  }
}

void Sketcher::clear(uint64_t* slots) const { std::fill_n(slots, num_perm_, kEmptySlot); }

void Sketcher::update(uint64_t* slots, std::span<const uint64_t> shingles) const {
  if (family_ == SketchFamily::classic) {
    classic_update(slots, num_perm_, shingles, keys_.data());
  } else {
    fast_update(slots, num_perm_, shingles, keys_.data());
  }
}

void Sketcher::merge(uint64_t* slots, const uint64_t* other) const {
  for (int i = 0; i < num_perm_; ++i) slots[i] = std::min(slots[i], other[i]);
}

void Sketcher::slices(const uint64_t* slots, uint8_t* out) const {
  for (int i = 0; i < num_perm_; ++i) out[i] = static_cast<uint8_t>(slots[i]);
}

double estimate_jaccard(const uint64_t* a, const uint64_t* b, int num_perm) {
  int equal = 0;
  for (int i = 0; i < num_perm; ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / num_perm;
}

int equal_slices(const uint8_t* a, const uint8_t* b, int k) {
  int equal = 0;
  for (int i = 0; i < k; ++i) equal += a[i] == b[i];
  return equal;
}

// Of k slices, J k + (1 - J) k / 256 are expected to be equal, so J = (256 equal - k) / 255 k.
Overlap overlap_from_slices(int equal, int k) {
  int64_t inter = int64_t{256} * equal - k;
  return {inter > 0 ? static_cast<uint64_t>(inter) : 0, 255 * static_cast<uint64_t>(k)};
}

}  // namespace doppel
