// Keys, digests, and how evenly shingle hashes are spread.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "reference.h"
#include "text/hash_key.h"

namespace doppel {
namespace {

namespace ref = reference;
constexpr HashKey kKey{0x0123456789abcdef, 0xfedcba9876543210};

TEST(Key, DerivesIndependentStableValues) {
  std::set<uint64_t> seen;
  for (const char* purpose : {"", "word", "band", "digest"}) {
    for (uint64_t i = 0; i < 1000; ++i) seen.insert(kKey.derive(purpose, i));
  }
  EXPECT_EQ(seen.size(), 4000u);
  EXPECT_NE((HashKey{1, 0}.derive("x")), (HashKey{0, 1}.derive("x")));
}

TEST(Digests, StreamGivesTheSame) {
  Digester digester(kKey);
  ref::Random random(1);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>(random());
  for (size_t size : {0u, 1u, 3u, 8u, 16u, 17u, 128u, 129u, 240u, 241u, 512u, 1024u, 1025u, 3000u}) {
    std::string_view all = std::string_view(text).substr(0, size);
    const Digest want = digester.digest(all);
    for (int round = 0; round < 5; ++round) {
      Digester::Stream stream(digester);
      for (std::string_view rest = all; !rest.empty();) {
        size_t n = std::min(rest.size(), ref::below(random, 300));
        stream.update(rest.substr(0, n));
        rest.remove_prefix(n);
      }
      ASSERT_EQ(stream.finish(), want) << size;
    }
    EXPECT_NE(Digester(HashKey{5, 6}).digest(all), want) << size;
  }
}

// Pearson's statistic over 256 cells, in standard deviations from its mean.
double deviations(const std::vector<uint64_t>& counts, double total) {
  const double mean = total / static_cast<double>(counts.size());
  double chi = 0;
  for (uint64_t n : counts) chi += (static_cast<double>(n) - mean) * (static_cast<double>(n) - mean) / mean;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (chi - freedom) / std::sqrt(2 * freedom);
}

// Ascending numbers are about the least random words there are.
std::vector<std::string> counting_words(size_t n) {
  std::vector<std::string> words;
  for (size_t i = 0; i < n; ++i) words.push_back(std::to_string(i));
  return words;
}

TEST(Distribution, EveryByteOfAShingleHashIsUniform) {
  for (uint64_t number = 0; number < 4; ++number) {
    for (int size : {1, 2, 5, 64}) {
      std::string text;
      for (const std::string& word : counting_words(100000)) text += word + " ";
      const std::vector<uint64_t> hashes = ref::shingled(text, HashKey{number, 0}, size);
      EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());
      for (int shift = 0; shift < 64; shift += 8) {
        std::vector<uint64_t> counts(256);
        for (uint64_t h : hashes) ++counts[h >> shift & 255];
        EXPECT_LT(std::abs(deviations(counts, static_cast<double>(hashes.size()))), 6)
            << size << " bit " << shift;
      }
      // Low bits (bins) and high bits (ranks) together.
      std::vector<uint64_t> counts(256);
      for (uint64_t h : hashes) ++counts[(h & 15) | (h >> 60 << 4)];
      EXPECT_LT(std::abs(deviations(counts, static_cast<double>(hashes.size()))), 6) << size;
    }
  }
}

// Changing one bit of one word changes each bit of the hash about half of the time.
TEST(Distribution, Avalanche) {
  ref::Random random(3);
  constexpr int kTrials = 4000;
  for (size_t length : {1u, 3u, 8u, 9u, 16u, 20u}) {
    for (int size : {1, 5}) {
      std::vector<int> flips(64);
      for (int trial = 0; trial < kTrials; ++trial) {
        HashKey key{random(), random()};
        std::vector<std::string> words(static_cast<size_t>(size));
        for (std::string& word : words) {
          for (size_t i = 0; i < length; ++i) word += static_cast<char>('a' + ref::below(random, 16));
        }
        const uint64_t before = ref::shingles(words, key, size)[0];
        char& c = words[ref::below(random, words.size())][ref::below(random, length)];
        c = static_cast<char>(c ^ 1 << ref::below(random, 4));
        const uint64_t after = ref::shingles(words, key, size)[0];
        for (int bit = 0; bit < 64; ++bit)
          flips[static_cast<size_t>(bit)] += static_cast<int>((before ^ after) >> bit & 1);
      }
      for (int bit = 0; bit < 64; ++bit) {
        EXPECT_NEAR(flips[static_cast<size_t>(bit)], kTrials / 2.0, 6 * std::sqrt(kTrials / 4.0))
            << length << " bit " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace doppel
