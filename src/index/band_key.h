#pragma once
// The key of a band: a keyed 64-bit hash of its `rows` slices.

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "index/banding.h"
#include "text/hash_key.h"

namespace doppel {

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
