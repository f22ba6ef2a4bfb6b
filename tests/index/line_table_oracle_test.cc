// A table against a multimap: random inserts, removals, expiry and lookups at every level of instructions,
// with hot keys, crowded neighbourhoods and many steps of growth.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/simd.h"
#include "index/line_table.h"

namespace doppel {
namespace {

using Random = std::mt19937_64;

struct Workload {
  const char* name;
  LineTable::Options options;
  uint32_t inserts = 30000;
  uint32_t hot_keys = 0;
  double hot = 0;      // share of inserts that have one of the hot keys
  double crowded = 0;  // share that only differs from a hot key in bits that entries store or in the home
  double removed = 0;  // removals for each insert
  uint32_t lives = 0;  // how many of the last inserts are not expired; 0: all
  uint32_t batch = 1;  // the most inserts between two payments
  uint32_t first = 0;  // ordinal of the first
  // At these sizes everything expires, and the ordinals are used again: for other rows, while the table still
  // has entries of the old ones.
  std::vector<uint32_t> again{};
};

// Rows, and the multimap of the live ones.
class Rows : public EntrySource {
 public:
  explicit Rows(uint32_t first) : first_(first), low_(first) {}

  uint64_t hash_of(int, uint32_t ordinal) const override { return hashes_[number(ordinal)]; }
  void prefetch(int, uint32_t) const override {}
  bool alive(uint32_t ordinal) const override {
    return window().contains(ordinal) && !dead_[number(ordinal)];
  }
  OrdinalWindow window() const {
    return {low_ & kOrdinalMask, first_ + static_cast<uint32_t>(hashes_.size()) - low_};
  }

  uint32_t insert(uint64_t h) {
    const uint32_t ordinal = (first_ + static_cast<uint32_t>(hashes_.size())) & kOrdinalMask;
    hashes_.push_back(h);
    dead_.push_back(false);
    live_.emplace(h, ordinal);
    return ordinal;
  }
  void remove(size_t i) {
    if (dead_[i] || first_ + i < low_) return;
    dead_[i] = true;
    erase(i);
  }
  void keep(uint32_t lives) {
    for (; first_ + hashes_.size() - low_ > lives; ++low_) {
      if (!dead_[low_ - first_]) erase(low_ - first_);
    }
  }
  size_t size() const { return hashes_.size(); }
  uint64_t hash(size_t i) const { return hashes_[i]; }
  const std::unordered_multimap<uint64_t, uint32_t>& live() const { return live_; }

 private:
  size_t number(uint32_t ordinal) const { return (ordinal - first_) & kOrdinalMask; }
  void erase(size_t i) {
    const auto [from, to] = live_.equal_range(hashes_[i]);
    const auto ordinal = (first_ + static_cast<uint32_t>(i)) & kOrdinalMask;
    live_.erase(std::find_if(from, to, [&](const auto& entry) { return entry.second == ordinal; }));
  }

  uint32_t first_, low_;
  std::vector<uint64_t> hashes_;
  std::vector<bool> dead_;
  std::unordered_multimap<uint64_t, uint32_t> live_;
};

class Trial {
 public:
  Trial(const Workload& work, uint64_t seed)
      : work_(work), random_(seed), table_(work.options), rows_(work.first) {
    for (uint32_t i = 0; i < work.hot_keys; ++i) hot_.push_back(random_());
  }

  void run() {
    for (const uint32_t inserts : work_.again) {
      ASSERT_NO_FATAL_FAILURE(run(inserts));
      rows_ = Rows(work_.first);
    }
    run(work_.inserts);
  }

 private:
  void run(uint32_t inserts) {
    uint64_t check = 64;
    while (rows_.size() < inserts) {
      insert_batch();
      for (double n = work_.removed * work_.batch; n > 0 && (n >= 1 || chance(n)); --n)
        rows_.remove(random_() % rows_.size());
      if (work_.lives != 0) rows_.keep(work_.lives);
      for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(expect_same(rows_.hash(random_() % rows_.size())));
      ASSERT_NO_FATAL_FAILURE(expect_same(random_()));
      if (rows_.size() < check) continue;
      ASSERT_NO_FATAL_FAILURE(expect_all());
      check = rows_.size() + rows_.size() / 3 + 1;
    }
    expect_all();
  }

  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  uint64_t next_key() {
    const double p = std::uniform_real_distribution<>(0, 1)(random_);
    if (p < work_.hot) return hot_[random_() % hot_.size()];
    if (p >= work_.hot + work_.crowded) return random_();
    const uint64_t h = hot_[random_() % hot_.size()];
    const int first = static_cast<int>(random_() % 50);
    return h ^ (random_() & 0xff) << first;
  }

  void insert_batch() {
    Insertion insertion;
    insertion.source = &rows_;
    const uint32_t n = 1 + static_cast<uint32_t>(random_() % work_.batch);
    insertion.moved_max = kMovesMax * n;
    std::vector<std::pair<uint64_t, uint32_t>> batch;
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t h = next_key();
      batch.push_back({h, rows_.insert(h)});
    }
    insertion.window = rows_.window();
    insertion.expired = work_.lives != 0 || !work_.again.empty();
    if (n == 1) {
      table_.insert(batch[0].first, batch[0].second, insertion);
    } else {
      for (auto [h, ordinal] : batch) {
        const LineTable::Place at = table_.place(h);
        if (!LineTable::put_home(at, ordinal) && !LineTable::put_overflow(at, ordinal))
          table_.put_aside(h, at, ordinal, insertion);
      }
      table_.pay(n, insertion);
    }
    ASSERT_LE(insertion.moved, insertion.moved_max);
  }

  void expect_same(uint64_t h) {
    PodVector<uint32_t> found;
    const LineTable::Place at = table_.place(h);
    table_.find(h, at, found);
    std::vector<uint32_t> equal;
    for (uint32_t ordinal : found) {
      if (rows_.alive(ordinal) && rows_.hash_of(0, ordinal) == h) equal.push_back(ordinal);
    }
    std::vector<uint32_t> expected;
    const auto [from, to] = rows_.live().equal_range(h);
    for (auto it = from; it != to; ++it) expected.push_back(it->second);
    std::sort(equal.begin(), equal.end());
    // A row may have the hash of the one that had its ordinal.
    if (!work_.again.empty()) equal.erase(std::unique(equal.begin(), equal.end()), equal.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(equal, expected) << "after " << rows_.size() << " inserts";
  }
  void expect_all() {
    uint64_t last = 0;
    for (const auto& [h, ordinal] : rows_.live()) {
      if (h == last) continue;  // equal hashes are adjacent
      last = h;
      ASSERT_NO_FATAL_FAILURE(expect_same(h));
    }
    ASSERT_GE(table_.entries(), rows_.live().size());
    if (work_.removed == 0 && work_.lives == 0 && work_.again.empty()) {
      ASSERT_EQ(table_.entries(), rows_.size());
    }
  }

  const Workload& work_;
  Random random_;
  LineTable table_;
  Rows rows_;
  std::vector<uint64_t> hot_;
};

class LineTableOracle : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override {
    before_ = simd_level();
    force_simd(GetParam());
  }
  void TearDown() override { force_simd(before_); }

  static void run(const Workload& work) {
    const uint64_t seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << work.name << ", seed " << seed);
    Trial(work, seed).run();
  }
  Simd before_ = simd_level();
};

constexpr uint64_t kMost = uint64_t{1} << 24;

TEST_P(LineTableOracle, KeysOfAllKinds) {
  for (const Workload& work : std::initializer_list<Workload>{
           {.name = "unique", .options = {.entries_max = kMost}},
           {.name = "in batches", .options = {.phase = .7, .entries_max = kMost}, .batch = 256},
           {.name = "in small batches", .options = {.phase = .5, .entries_max = kMost}, .batch = 8},
           {.name = "ordinals that begin again",
            .options = {.entries_max = kMost},
            .removed = .1,
            .lives = 20000,
            .first = kOrdinalMask - 12000},
           {.name = "thousands of hot keys",
            .options = {.entries_max = kMost},
            .inserts = 60000,
            .hot_keys = 3000,
            .hot = .8},
           {.name = "a few very hot keys",
            .options = {.entries_max = kMost},
            .inserts = 20000,
            .hot_keys = 5,
            .hot = .5,
            .batch = 64},
           {.name = "crowds", .options = {.entries_max = kMost}, .hot_keys = 40, .hot = .1, .crowded = .6},
           {.name = "crowds that come and go",
            .options = {.phase = .2, .entries_max = kMost},
            .inserts = 60000,
            .hot_keys = 100,
            .hot = .2,
            .crowded = .3,
            .removed = .3,
            .lives = 9000,
            .batch = 16},
           {.name = "a short window",
            .options = {.entries = 5000, .phase = .9, .entries_max = kMost},
            .inserts = 60000,
            .removed = .05,
            .lives = 3000},
           {.name = "ordinals of gone rows",
            .options = {.entries_max = kMost},
            .inserts = 60000,
            .again = {60, 500, 4000, 20000}},
           {.name = "ordinals of gone rows, with hot keys",
            .options = {.phase = .4, .entries_max = kMost},
            .hot_keys = 30,
            .hot = .3,
            .crowded = .2,
            .again = {60, 500, 4000}},
           {.name = "no room to grow",
            .options = {.entries = 6000, .entries_max = 7000},
            .inserts = 20000,
            .hot_keys = 10,
            .hot = .1}})
    ASSERT_NO_FATAL_FAILURE(run(work));
}

// Grows past the sizes at which entries take other bits of their hashes.
TEST_P(LineTableOracle, LargeTables) {
  run({.name = "large",
       .options = {.entries_max = kMost},
       .inserts = 700000,
       .hot_keys = 50,
       .hot = .01,
       .removed = .05,
       .batch = 256});
  run({.name = "large from the beginning",
       .options = {.entries = 300000, .phase = .4, .entries_max = kMost},
       .inserts = 700000,
       .lives = 600000,
       .batch = 256});
  run({.name = "large, with ordinals of gone rows",
       .options = {.entries_max = kMost},
       .inserts = 300000,
       .hot_keys = 50,
       .hot = .01,
       .batch = 256,
       .again = {200000}});
}

INSTANTIATE_TEST_SUITE_P(Levels, LineTableOracle, testing::ValuesIn(simd_levels()),
                         [](const auto& level) { return std::string(simd_name(level.param)); });

}  // namespace
}  // namespace doppel
