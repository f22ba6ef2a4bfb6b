#pragma once
// Random documents for tests of the index.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "index/banding.h"
#include "index/index.h"
#include "sketch/prints.h"

namespace doppel::index_test {

using Random = std::mt19937_64;

// Documents whose bands collide often: slices are copied from a few templates, band by band.
class Documents {
 public:
  Documents(const CandidateIndexOptions& options, int templates, double copied, Random& random)
      : options_(options), copied_(copied), random_(random) {
    for (int t = 0; t < templates; ++t) templates_.push_back(noise());
  }

  std::vector<uint8_t> slices() {
    std::vector<uint8_t> out = noise();
    std::bernoulli_distribution copy(copied_);
    const size_t rows = static_cast<size_t>(options_.banding.rows);
    for (size_t at = 0; at + rows <= out.size(); at += rows) {
      if (!copy(random_)) continue;
      const auto& from = templates_[random_() % templates_.size()];
      std::copy_n(from.begin() + static_cast<ptrdiff_t>(at), rows, out.begin() + static_cast<ptrdiff_t>(at));
    }
    return out;
  }
  Digest digest() {
    return random_() % 4 == 0 ? Digest{random_() % 50, random_() % 2} : Digest{random_(), random_()};
  }

 private:
  std::vector<uint8_t> noise() {
    std::vector<uint8_t> out(static_cast<size_t>(options_.num_perm));
    for (auto& slice : out) slice = static_cast<uint8_t>(random_());
    return out;
  }
  const CandidateIndexOptions& options_;
  double copied_;
  Random& random_;
  std::vector<std::vector<uint8_t>> templates_;
};

// Documents that share nothing; document n is always the same, and n + 1 is its id tag and its payload.
class Unique {
 public:
  explicit Unique(const CandidateIndexOptions& options)
      : keys_(options.banding, options.key), slices_(static_cast<size_t>(options.num_perm)) {
    band_keys_.resize(static_cast<size_t>(options.banding.bands));
  }
  void take(uint64_t n) {
    Random random(n);
    for (uint8_t& slice : slices_) slice = static_cast<uint8_t>(random());
    digest_ = {random(), random()};
    number_ = n;
    set_keys();
  }
  void change_slice(size_t at) {
    slices_[at] ^= uint8_t{1};
    digest_.low ^= 1;
    set_keys();
  }
  Row row() const {
    return {.slices = slices_.data(),
            .digest = digest_,
            .id_tag = number_ + 1,
            .payload = static_cast<uint32_t>(number_ + 1),
            .body = {1, 2},
            .mask = &mask_};
  }
  Query query() const { return {slices_.data(), band_keys_.data(), digest_}; }
  const uint64_t* band_keys() const { return band_keys_.data(); }

 private:
  void set_keys() {
    for (size_t j = 0; j < band_keys_.size(); ++j)
      band_keys_[j] = keys_.key(static_cast<int>(j), slices_.data());
  }
  BandKeys keys_;
  std::vector<uint8_t> slices_;
  std::vector<uint64_t> band_keys_;
  Digest digest_;
  uint64_t number_ = 0;
  uint32_t mask_ = ~uint32_t{0};
};

inline std::vector<uint64_t> prints_of(Seq seq) {
  Random random(seq + 1'000'000);
  std::vector<uint64_t> out(14);
  for (uint64_t& print : out) print = random() >> (64 - kPrintBits);
  return out;
}

inline void expect_found(const Found& found, const Found& expected) {
  ASSERT_EQ(found.exact, expected.exact);
  ASSERT_EQ(found.candidates, expected.candidates);
  ASSERT_EQ(found.counts.size(), expected.counts.size());
  for (size_t c = 0; c < expected.counts.size(); ++c) {
    ASSERT_EQ(found.counts[c].band, expected.counts[c].band);
    ASSERT_EQ(found.counts[c].listed, expected.counts[c].listed);
  }
}

}  // namespace doppel::index_test
