#pragma once
// A sketch is num_perm slots of 64 bits. The share of equal slots of two sketches estimates the
// Jaccard similarity of the two sets of shingles; the slot-wise minimum is the sketch of the union.
//
// Two families: `fast` (Fast Similarity Sketching; Dahlgaard, Knudsen, Thorup 2017), O(n + k log k)
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

// Immutable after construction, shared by threads.
class Sketcher {
 public:
  // num_perm: 8 to 1024 slots.
  Sketcher(SketchFamily family, int num_perm, const HashKey& key);

  int num_perm() const { return num_perm_; }
  SketchFamily family() const { return family_; }

  // slots[0..num_perm) = the sketch of the empty set.
  void clear(uint64_t* slots) const;

  // Adds shingles. Any split of a set over calls gives the same slots; repeats change nothing.
  // The hashes must be uniformly distributed over 64 bits, as the text stage makes them: the first round
  // takes their bits as they are. Callers with other numbers must mix them first.
  void update(uint64_t* slots, std::span<const uint64_t> shingles) const;

  // slots = the sketch of the union.
  void merge(uint64_t* slots, const uint64_t* other) const;

  // The 8 low bits of each slot's rank: what is kept in memory, stored and logged.
  void slices(const uint64_t* slots, uint8_t* out) const;

 private:
  SketchFamily family_;
  int num_perm_;
  std::vector<uint64_t> keys_;  // fast: two words a round; classic: one salt a slot
};

// The share of equal slots: an unbiased estimate of the Jaccard similarity.
double estimate_jaccard(const uint64_t* a, const uint64_t* b, int num_perm);

// How many of k slices are equal.
int equal_slices(const uint8_t* a, const uint8_t* b, int k);

// The estimate from slices as an integer pair: of k slices, `equal` are equal, one in 256 by chance.
// similarity = inter / uni, with inter clamped at 0.
struct Overlap {
  uint64_t inter = 0;
  uint64_t uni = 0;
  bool operator==(const Overlap&) const = default;
};
Overlap overlap_from_slices(int equal, int k);

}  // namespace doppel
