#include "sketch/compact_set.h"

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/checksums.h"
#include "sketch/overlap.h"
#include "sketch_support.h"

namespace doppel {
namespace {

PodVector<uint32_t> tops_of(const std::vector<uint64_t>& hashes) {
  PodVector<uint32_t> tops;
  for (uint64_t h : hashes) tops.push_back(static_cast<uint32_t>(h >> 32));
  return tops;
}

CompactSet made(const PodVector<uint32_t>& tops) {
  CompactSet set;
  make_compact_set(tops, set);
  return set;
}
CompactSet made(const std::vector<uint64_t>& hashes) { return made(tops_of(hashes)); }

std::string coded(const CompactSet& set) {
  std::string out;
  encode_compact_set(set, out);
  return out;
}

void expect_same(const CompactSet& a, const CompactSet& b) {
  ASSERT_EQ(a.bits, b.bits);
  ASSERT_EQ(a.values, b.values);
}

CompactSet made_by_definition(const PodVector<uint32_t>& tops) {
  std::set<uint32_t> distinct(tops.begin(), tops.end());
  CompactSet set;
  if (distinct.empty()) return set;
  int log = 0;
  while ((size_t{1} << log) < distinct.size()) ++log;
  set.bits = distinct.size() < 256 ? 24 : std::min(32, log + 9);
  std::set<uint32_t> values;
  for (uint32_t top : distinct) values.insert(static_cast<uint32_t>(uint64_t{top} >> (32 - set.bits)));
  set.values.assign(values.begin(), values.end());
  return set;
}

void expect_marks_by_definition(const CompactSet& of, const CompactSet& other) {
  const bool one_is_empty = of.values.empty() || other.values.empty();  // it has no bits
  const int bits = std::min(of.bits, other.bits);
  const int shift = one_is_empty ? 0 : of.bits - bits, other_shift = one_is_empty ? 0 : other.bits - bits;
  std::set<uint32_t> there;
  for (const uint32_t value : other.values) there.insert(value >> other_shift);
  std::vector<uint32_t> marks(of.values.size(), 7);
  mark_common(of.values, shift, other.values, other_shift, marks.data());
  for (size_t i = 0; i < marks.size(); ++i)
    ASSERT_EQ(marks[i] != 0, !there.empty() && there.contains(of.values[i] >> shift)) << i;
}

Overlap overlap_by_definition(const CompactSet& a, const CompactSet& b) {
  int bits = a.bits == 0 ? b.bits : b.bits == 0 ? a.bits : std::min(a.bits, b.bits);
  std::set<uint32_t> left;
  std::set<uint32_t> both;
  Overlap result;
  for (uint32_t v : a.values) left.insert(v >> (a.bits - bits));
  for (uint32_t v : b.values) both.insert(v >> (b.bits - bits));
  for (uint32_t v : left) result.inter += both.count(v);
  both.insert(left.begin(), left.end());
  result.uni = both.size();
  return result;
}

class CompactSetLevels : public ForEachLevel {};
INSTANTIATE_TEST_SUITE_P(Simd, CompactSetLevels, testing::ValuesIn(simd_levels()), level_name);

TEST_P(CompactSetLevels, MadeAsDefined) {
  std::mt19937_64 random(1);
  for (size_t n = 0; n < 1200; n += n < 70 ? 1 : 1 + random() % 40) {
    auto tops = tops_of(random_hashes(random, n));
    expect_same(made(tops), made_by_definition(tops));
  }
  for (size_t n : {255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 20'000, 100'000}) {
    auto tops = tops_of(random_hashes(random, n));
    expect_same(made(tops), made_by_definition(tops));
  }
}

// Values that hashes would not give: all in one bucket, the ends of the range, long ramps.
TEST_P(CompactSetLevels, MadeFromAnyNumbers) {
  std::mt19937_64 random(2);
  for (size_t n : {20, 300, 579, 3000}) {
    for (uint32_t mask : {0x3u, 0xffu, 0xfffu, 0xfffff000u, 0xff0000ffu}) {
      PodVector<uint32_t> tops;
      for (size_t i = 0; i < n; ++i) tops.push_back(static_cast<uint32_t>(random()) & mask);
      expect_same(made(tops), made_by_definition(tops));
    }
    PodVector<uint32_t> ramp;
    for (size_t i = 0; i < n; ++i) ramp.push_back(~static_cast<uint32_t>(i));
    expect_same(made(ramp), made_by_definition(ramp));
  }
  expect_same(made(PodVector<uint32_t>{0}), made_by_definition({0}));
  expect_same(made(PodVector<uint32_t>{~0u, 0, ~0u}), made_by_definition({~0u, 0}));
}

TEST_P(CompactSetLevels, IsAFunctionOfTheSetAlone) {
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto tops = tops_of(random_hashes(random, 1 + random() % (seed % 2 == 0 ? 40 : 1000)));
    CompactSet once = made(tops);
    const size_t distinct = tops.size();
    for (size_t i = random() % 2000; i != 0; --i) tops.push_back(tops[random() % distinct]);
    for (size_t i = random() % 2 == 0 ? 0 : 500; i != 0; --i) tops.push_back(tops[0]);
    std::shuffle(tops.begin(), tops.end(), random);
    expect_same(made(tops), once);
  }
}

TEST_P(CompactSetLevels, MillionsOfEqualShinglesAreOneValue) {
  CompactSet set = made(PodVector<uint32_t>(3'000'000, 0xabcdef01));
  EXPECT_EQ(set.bits, 24);
  EXPECT_EQ(set.values, (PodVector<uint32_t>{0xabcdef}));
}

TEST_P(CompactSetLevels, DecodesToWhatWasEncoded) {
  std::mt19937_64 random(3);
  for (size_t n = 0; n < 1200; n += n < 70 ? 1 : 1 + random() % 30) {
    CompactSet set = made(random_hashes(random, n));
    std::string bytes = "before";
    encode_compact_set(set, bytes);
    ASSERT_LE(bytes.size() - 6, max_encoded_size(set.values.size()));
    CompactSet back;
    back.values.resize(7);
    ASSERT_TRUE(decode_compact_set(std::string_view(bytes).substr(6), back).ok()) << n;
    expect_same(back, set);
  }
}

// Sets that hashes would not give, for every number of bits: dense, sparse, clustered, first and last value.
TEST_P(CompactSetLevels, DecodesAnySetOfAnyBits) {
  for (int seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    CompactSet set;
    set.bits = 1 + static_cast<int>(random() % 32);
    const uint64_t range = uint64_t{1} << set.bits;
    std::set<uint32_t> values;
    const uint64_t step = 1 + random() % std::max<uint64_t>(1, range / (1 + random() % 600));
    uint64_t value = random() % 2 == 0 ? 0 : random() % range;
    for (size_t i = random() % 700 + 1; i != 0 && value < range; --i) {
      values.insert(static_cast<uint32_t>(value));
      value += 1 + random() % step;
    }
    if (random() % 2 == 0) values.insert(static_cast<uint32_t>(range - 1));
    if (values.empty()) values.insert(0);
    set.values.assign(values.begin(), values.end());
    std::string bytes = coded(set);
    ASSERT_LE(bytes.size(), max_encoded_size(set.values.size()));
    CompactSet back;
    ASSERT_TRUE(decode_compact_set(bytes, back).ok());
    expect_same(back, set);
  }
}

TEST_P(CompactSetLevels, LargeSets) {
  std::mt19937_64 random(4);
  for (size_t n : {70'000, 1'000'000}) {
    CompactSet set = made(random_hashes(random, n));
    CompactSet back;
    ASSERT_TRUE(decode_compact_set(coded(set), back).ok());
    expect_same(back, set);
  }
}

TEST_P(CompactSetLevels, EveryTruncationExtensionAndBitFlipIsAnError) {
  std::mt19937_64 random(5);
  for (size_t n : {0, 1, 2, 3, 17, 100, 255, 256, 257, 579}) {
    const std::string good = coded(made(random_hashes(random, n)));
    CompactSet out;
    for (size_t size = 0; size < good.size(); ++size) {
      ASSERT_FALSE(decode_compact_set(std::string_view(good).substr(0, size), out).ok())
          << n << " cut " << size;
    }
    for (int byte = 0; byte < 256; ++byte) {
      ASSERT_FALSE(decode_compact_set(good + static_cast<char>(byte), out).ok())
          << n << " extended by " << byte;
    }
    ASSERT_FALSE(decode_compact_set(good + good, out).ok());
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
      ASSERT_FALSE(decode_compact_set(bad, out).ok()) << n << " bit " << bit;
      ASSERT_TRUE(out.values.empty());
    }
  }
}

// Bytes with a forged checksum must give an error or a valid set, and never take much memory.
TEST_P(CompactSetLevels, HostileBytesWithARightChecksum) {
  int accepted = 0;
  for (int seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string bytes =
        coded(made(random_hashes(random, random() % 2 == 0 ? 1 + random() % 20 : 256 + random() % 90)));
    for (size_t i = 1 + random() % 3; i != 0; --i) {
      size_t at = 4 + random() % (random() % 2 == 0 ? 6 : bytes.size() - 4);
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(5 + random() % bytes.size());
    store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
    CompactSet out;
    if (!decode_compact_set(bytes, out).ok()) continue;
    ++accepted;
    ASSERT_TRUE(std::is_sorted(out.values.begin(), out.values.end()));
    ASSERT_TRUE(std::adjacent_find(out.values.begin(), out.values.end()) == out.values.end());
    ASSERT_TRUE(out.values.empty() || uint64_t{out.values.back()} >> out.bits == 0);
    ASSERT_LE(out.values.size(), 8 * bytes.size());
  }
  EXPECT_GT(accepted, 500);
}

TEST(CompactSet, HugeCountsAreRefused) {
  for (uint64_t n : {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 40, ~uint64_t{0}}) {
    for (uint64_t zeros : {uint64_t{0}, n}) {
      std::string bytes(4, '\0');
      bytes.push_back(32);
      put_varint(bytes, n);
      put_varint(bytes, zeros);
      bytes.append(100, '\xff');
      store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
      CompactSet out;
      EXPECT_FALSE(decode_compact_set(bytes, out).ok());
    }
  }
}

TEST(CompactSet, CodedFormNeverChanges) {
  CompactSet set;
  set.bits = 12;
  set.values = {3, 4, 700, 4095};
  // b = 10; gaps 3, 0, 695, 3394; quotients 0, 0, 0, 3.
  EXPECT_EQ(coded(set).substr(4), std::string("\x0c\x04\x03"      // 12 bits, 4 values, 3 zeros
                                              "\x03\x00\xb7\x42"  // bits 0-7
                                              "\x08\x04"          // bits 8 and 9
                                              "\x47",             // ones at 0, 1, 2 and 6
                                              10));
}

TEST(CompactSet, SizeOnDisk) {
  std::mt19937_64 random(6);
  size_t sum = 0;
  for (int i = 0; i < 200; ++i) sum += coded(made(random_hashes(random, 579))).size();
  EXPECT_LE(sum / 200, 832u);
  EXPECT_EQ(coded(CompactSet{}).size(), 5u);
}

TEST_P(CompactSetLevels, OverlapAsDefined) {
  for (int seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto size = [&] { return random() % 3 == 0 ? random() % 40 : random() % 1200; };
    auto a = random_hashes(random, size());
    auto b = random_hashes(random, size());
    if (!a.empty()) {
      for (uint64_t& h : b) h = random() % 4 != 0 ? a[random() % a.size()] : h;
    }
    CompactSet left = made(a);
    CompactSet right = made(b);
    ASSERT_EQ(overlap(left, right), overlap_by_definition(left, right));
    ASSERT_EQ(overlap(right, left), overlap_by_definition(left, right));
    expect_marks_by_definition(left, right);
    expect_marks_by_definition(right, left);
    ASSERT_EQ(overlap(left, left), (Overlap{left.values.size(), left.values.size()}));
  }
}

// Few bits, so that blocks are full of values that become equal; and the largest possible value.
TEST_P(CompactSetLevels, OverlapOfCrowdedSets) {
  for (int seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto crowded = [&](int bits) {
      std::set<uint32_t> values;
      for (size_t i = random() % 100; i != 0; --i) {
        values.insert(static_cast<uint32_t>(random() % (uint64_t{1} << bits)) |
                      (random() % 2 == 0 ? 0 : ~0u << 6));
      }
      CompactSet set;
      set.bits = values.empty() ? 0 : bits;
      for (uint32_t v : values) {
        if (uint64_t{v} >> bits == 0) set.values.push_back(v);
      }
      if (set.values.empty()) set.bits = 0;
      return set;
    };
    int bits = seed % 2 == 0 ? 32 : 4 + static_cast<int>(random() % 6);
    CompactSet left = crowded(bits);
    CompactSet right = crowded(std::min(32, bits + static_cast<int>(random() % 4)));
    ASSERT_EQ(overlap(left, right), overlap_by_definition(left, right));
    ASSERT_EQ(overlap(right, left), overlap_by_definition(left, right));
    expect_marks_by_definition(left, right);
    expect_marks_by_definition(right, left);
  }
}

}  // namespace
}  // namespace doppel
