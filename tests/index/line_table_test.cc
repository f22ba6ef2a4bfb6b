// One table against a multimap: no inserted entry may be missing, however the table grew.

#include "index/line_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "text/hash_key.h"

namespace doppel {
namespace {

struct Rows final : EntrySource {
  uint64_t hash_of(int, uint32_t ordinal) const override { return hashes[ordinal]; }
  void prefetch(int, uint32_t) const override {}
  bool alive(uint32_t ordinal) const override { return ordinal >= low && !dead(ordinal); }
  bool dead(uint32_t ordinal) const { return ordinal < removed.size() && removed[ordinal]; }

  void insert(LineTable& table, uint64_t h) {
    const auto ordinal = static_cast<uint32_t>(hashes.size());
    hashes.push_back(h);
    Insertion insertion;
    insertion.source = this;
    insertion.window = {low, ordinal + 1 - low};
    insertion.expired = low > 0;
    table.insert(h, ordinal, insertion);
    moved_max = std::max(moved_max, insertion.moved);
  }
  bool finds(const LineTable& table, uint32_t ordinal) const {
    PodVector<uint32_t> found;
    const uint64_t h = hashes[ordinal];
    const LineTable::Place at = table.place(h);
    table.find(h, at, found);
    hits += found.size();
    return std::count(found.begin(), found.end(), ordinal) == 1;
  }
  void expect_all(const LineTable& table, size_t step = 1) const {
    for (size_t i = low; i < hashes.size(); i += step) {
      const auto ordinal = static_cast<uint32_t>(i);
      ASSERT_TRUE(finds(table, ordinal) || dead(ordinal)) << ordinal << " of " << hashes.size();
    }
  }

  std::vector<uint64_t> hashes;
  std::vector<bool> removed;
  uint32_t low = 0;
  uint32_t moved_max = 0;
  mutable uint64_t hits = 0;
};

constexpr uint64_t kMost = uint64_t{1} << 24;

TEST(LineTable, KeepsEverythingWhileItGrows) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rows rows;
  LineTable table({.entries_max = kMost});
  uint64_t check = 1;
  for (uint64_t i = 0; i < 60000; ++i) {
    rows.insert(table, mix64(seed + i));
    if (i != check) continue;
    ASSERT_NO_FATAL_FAILURE(rows.expect_all(table));
    check += 1 + check / 16;
  }
  rows.expect_all(table);
  EXPECT_EQ(table.entries(), rows.hashes.size());
  EXPECT_LE(rows.moved_max, kMovesMax);
  EXPECT_LT(table.side_entries(), rows.hashes.size() / 40);
}

// Grows past the sizes at which entries take other bits of their hashes from the rows.
TEST(LineTable, KeepsEverythingPastAMillion) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rows rows;
  LineTable table({.entries = 100000, .phase = .3, .entries_max = kMost});
  for (uint64_t i = 0; i < 1060000; ++i) {
    rows.insert(table, mix64(seed + i));
    if (i % 100000 == 99999) {
      ASSERT_NO_FATAL_FAILURE(rows.expect_all(table, 37));
    }
  }
  rows.expect_all(table, 7);
  EXPECT_LE(rows.moved_max, kMovesMax);
  rows.hits = 0;
  for (uint32_t ordinal = 0; ordinal < 100000; ++ordinal) rows.finds(table, ordinal);
  EXPECT_LT(rows.hits, 100000u * 101 / 100);  // hardly any that share only the stored bits
}

TEST(LineTable, HotKeysAndNeighboursOfHotKeys) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Rows rows;
  LineTable table({.entries_max = kMost});
  std::vector<uint64_t> hot;
  for (int i = 0; i < 20; ++i) hot.push_back(random());
  hot.push_back(0);
  hot.push_back(~uint64_t{0});
  for (int i = 0; i < 20000; ++i) {
    uint64_t h = random();
    if (i % 3 == 0) h = hot[random() % hot.size()];
    if (i % 3 == 1) h = hot[random() % hot.size()] ^ (random() & 0xffffffffffff);  // same neighbourhood
    rows.insert(table, h);
    if (i % 1000 == 999) {
      ASSERT_NO_FATAL_FAILURE(rows.expect_all(table));
    }
  }
  EXPECT_LE(rows.moved_max, kMovesMax);
}

// A window that slides endlessly: neither the table nor its filters grow endlessly.
TEST(LineTable, CleansWhatHasExpired) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Rows rows;
  LineTable table({.entries_max = kMost});
  const std::vector<uint64_t> hot{random(), random(), random()};
  for (int i = 0; i < 400000; ++i) {
    rows.insert(table, i % 50 == 0 ? hot[random() % 3] : random());
    if (rows.hashes.size() > 20000 && i % 100 == 0)
      rows.low = static_cast<uint32_t>(rows.hashes.size()) - 20000;
    if (i % 20000 == 19999) {
      ASSERT_NO_FATAL_FAILURE(rows.expect_all(table));
    }
  }
  EXPECT_LT(table.bytes(), 20000 * 20u);
  int elsewhere = 0;
  for (int i = 0; i < 10000; ++i) elsewhere += LineTable::maybe_elsewhere(table.place(random())) ? 1 : 0;
  EXPECT_LT(elsewhere, 2500);
}

// One key whose rows come and go: lookups do not go through the dead ones for ever.
TEST(LineTable, ForgetsDeadEntriesOfAHotKey) {
  Rows rows;
  LineTable table({.entries_max = kMost});
  const uint64_t h = mix64(1);
  for (uint32_t i = 0; i < 20000; ++i) {
    rows.insert(table, h);
    rows.removed.resize(rows.hashes.size());
    if (i >= 20) rows.removed[i - 20] = true;
  }
  EXPECT_LT(table.entries(), 100u);
  for (uint32_t i = 19980; i < 20000; ++i) EXPECT_TRUE(rows.finds(table, i));
}

}  // namespace
}  // namespace doppel
