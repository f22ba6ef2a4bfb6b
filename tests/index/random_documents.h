#pragma once
// Random documents for tests of the index.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "index/index.h"

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
