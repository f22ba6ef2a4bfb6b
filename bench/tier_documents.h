#pragma once
// Documents for tier_bench: document n is always the same, and shares nothing with the others.

#include <cstring>
#include <vector>

#include "index/banding.h"
#include "index/index.h"

namespace doppel::tier {

class Documents {
 public:
  Documents(const CandidateIndexOptions& options, size_t room)
      : bands_(static_cast<size_t>(options.banding.bands)),
        num_perm_(static_cast<size_t>(options.num_perm)),
        keys_(options.banding, options.key),
        slices_(room * num_perm_),
        band_keys_(room * bands_),
        digests_(room) {}

  // Puts document n in place i.
  void take(size_t i, uint64_t n) {
    uint8_t* slices = &slices_[i * num_perm_];
    for (size_t at = 0; at + 8 <= num_perm_; at += 8) {
      const uint64_t word = mix64(n * 32 + at / 8 + 1);
      std::memcpy(slices + at, &word, 8);
    }
    digests_[i] = {mix64(n * 32 + 30), mix64(n * 32 + 31)};
    set_keys(i);
  }
  // Makes a near copy of it.
  void change_slice(size_t i, size_t at) {
    slices_[i * num_perm_ + at] ^= 1;
    digests_[i].low ^= 1;
    set_keys(i);
  }

  Query query(size_t i) const { return {&slices_[i * num_perm_], &band_keys_[i * bands_], digests_[i]}; }
  Row row(size_t i) const {
    return {.slices = &slices_[i * num_perm_], .digest = digests_[i], .body = {i, 100}, .mask = &mask_};
  }

 private:
  void set_keys(size_t i) {
    for (size_t j = 0; j < bands_; ++j)
      band_keys_[i * bands_ + j] = keys_.key(static_cast<int>(j), &slices_[i * num_perm_]);
  }
  size_t bands_, num_perm_;
  BandKeys keys_;
  std::vector<uint8_t> slices_;
  std::vector<uint64_t> band_keys_;
  std::vector<Digest> digests_;
  uint32_t mask_ = ~uint32_t{0};
};

}  // namespace doppel::tier
