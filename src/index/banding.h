#pragma once
// Bands and rows: the S-curve that decides which pairs become candidates.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "text/hash_key.h"

namespace doppel {

struct Banding {
  int bands = 0;
  int rows = 0;
  int mask_words() const { return (bands + 31) / 32; }  // 32-bit words with a bit for each band
  bool operator==(const Banding&) const = default;
};

// The probability that two documents of Jaccard similarity s share a band: 1-(1-s^r)^b.
double meeting_probability(double s, Banding banding);

// The cost of a document with these bands and rows, in table accesses, if its neighbours are distributed like
// those of web pages (docs/adr/0025): each table is queried and filled, and each neighbour that shares a band
// is compared. Only for choosing.
double banding_cost(double threshold, Banding banding);

// Returns the cheapest banding that reaches `recall` at `threshold`; for each r it considers the smallest b
// with r*b <= num_perm. 11 x 4 for .8, .995 and 128. An error says what would be possible.
absl::StatusOr<Banding> choose_banding(double threshold, double recall, int num_perm);

// The number of equal slices of a document at the threshold, minus five standard errors. Candidates with
// fewer are not verified.
int min_equal_slices(uint32_t threshold_ppm, int num_perm);

// The key of a band: a keyed 64-bit hash of its `rows` slices.
class BandKeys {
 public:
  BandKeys(Banding banding, const HashKey& key) : rows_(banding.rows) {
    for (int j = 0; j < banding.bands; ++j) {
      salts_.push_back({key.derive("band", static_cast<uint64_t>(j) * 2),
                        key.derive("band", static_cast<uint64_t>(j) * 2 + 1) | 1});
    }
  }

  // `slices` are the slices of the whole row, not only of this band.
  uint64_t key(int band, const uint8_t* slices) const {
    const uint8_t* p = slices + static_cast<size_t>(band) * static_cast<size_t>(rows_);
    const Salt& salt = salts_[static_cast<size_t>(band)];
    uint64_t h = salt.start;
    int rest = rows_;
    for (; rest > 8; rest -= 8, p += 8) h = fold_multiply(h ^ load<uint64_t>(p), salt.factor) + salt.start;
    return mix64(fold_multiply(h ^ word(p, rest), salt.factor));
  }

 private:
  struct Salt {
    uint64_t start = 0;
    uint64_t factor = 0;
  };

  // Loads 1 to 8 bytes without reading beyond them.
  static uint64_t word(const uint8_t* p, int bytes) {
    if (bytes >= 4)
      return load<uint32_t>(p) | static_cast<uint64_t>(load<uint32_t>(p + bytes - 4)) << (8 * (bytes - 4));
    if (bytes >= 2)
      return load<uint16_t>(p) | static_cast<uint64_t>(load<uint16_t>(p + bytes - 2)) << (8 * (bytes - 2));
    return *p;
  }

  int rows_;
  std::vector<Salt> salts_;
};

}  // namespace doppel
