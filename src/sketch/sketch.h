#pragma once
// A sketch is num_perm slots of 64 bits. The share of slots that are equal in two sketches estimates the
// Jaccard similarity of the two sets of shingles; the slot-wise minimum is the sketch of the union.
//
// There are two families: `fast` (Fast Similarity Sketching; Dahlgaard, Knudsen, Thorup 2017), O(n + k log k)
// and of lower variance, and `classic` (k independent min-wise hashes), O(n k), for comparison.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/hash_key.h"

namespace doppel {

enum class SketchFamily { fast, classic };
std::string_view sketch_family_name(SketchFamily family);

inline constexpr uint64_t kEmptySlot = ~uint64_t{0};

// Immutable after construction; threads may share it.
class Sketcher {
 public:
  // num_perm: 8 to 1024 slots.
  Sketcher(SketchFamily family, int num_perm, const HashKey& key);

  int num_perm() const { return num_perm_; }
  SketchFamily family() const { return family_; }

  // Sets slots[0..num_perm) to the sketch of the empty set.
  void clear(uint64_t* slots) const;

  // Adds shingles. Any split of a set over several calls gives the same slots; repeats change nothing. The
  // hashes must be uniformly distributed over 64 bits, as those of the text stage are, because the first
  // round uses their bits unmixed. Callers with other numbers must mix them first.
  void update(uint64_t* slots, std::span<const uint64_t> shingles) const;

  // Sets `slots` to the sketch of the union.
  void merge(uint64_t* slots, const uint64_t* other) const;

  // Extracts the 8 low bits of each slot's rank, which are kept in memory, stored and logged.
  void slices(const uint64_t* slots, uint8_t* out) const;

 private:
  SketchFamily family_;
  int num_perm_;
  std::vector<uint64_t> keys_;  // fast: two words for each round; classic: one salt for each slot
};

// Returns the share of equal slots: an unbiased estimate of the Jaccard similarity.
double estimate_jaccard(const uint64_t* a, const uint64_t* b, int num_perm);

// Returns how many of k slices are equal.
int equal_slices(const uint8_t* a, const uint8_t* b, int k);

// The estimate from slices as a pair of integers: similarity = inter / uni. `equal` of k slices are equal, of
// which one in 256 is expected by chance; inter is clamped at 0.
struct Overlap {
  uint64_t inter = 0;
  uint64_t uni = 0;
  bool operator==(const Overlap&) const = default;
};
Overlap overlap_from_slices(int equal, int k);

}  // namespace doppel
