// The kernels for many entries: the fast forms against the plain ones, and the plain ones against the layout.

#include "index/line_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

namespace doppel {
namespace {

class LineKernelsTest : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override {}
  uint32_t ordinal() { return static_cast<uint32_t>(random_()) & kOrdinalMask; }
  TableLayout layout() {
    TableLayout out;
    out.base = 1 + random_() % (uint64_t{1} << (1 + random_() % 20));
    out.depth = static_cast<int>(random_() % 8);
    out.rule[0] = {kBlocksLeast + static_cast<uint32_t>(random_() % kBlocksLeast), 0};
    out.rule[1] = {out.rule[0].blocks + 1, random_() % 2 == 0 ? 0 : out.depth};
    out.frontier = random_() % 2 == 0 ? 0 : random_() % out.groups();
    return out;
  }

  const uint64_t seed_ = std::random_device{}();
  testing::ScopedTrace trace_{__FILE__, __LINE__, testing::Message() << "seed " << seed_};
  std::mt19937_64 random_{seed_};
};

TEST_P(LineKernelsTest, PlacesAreThoseOfTheLayout) {
  for (int round = 0; round < 3000; ++round) {
    const TableLayout table = layout();
    std::vector<uint64_t> h(random_() % 40);
    for (uint64_t& one : h) one = random_() % 16 == 0 ? 0 - (random_() % 2) : random_();
    auto* const lines = reinterpret_cast<Line*>(uint64_t{1} << 40);  // nothing is read
    std::vector<LinePlace> found(h.size() + 1, LinePlace{lines, 77});
    line_kernels_for(GetParam()).places(table, lines, h.data(), h.size(), found.data());
    for (size_t i = 0; i < h.size(); ++i) {
      const TableLayout::Place expected = table.place(h[i]);
      ASSERT_EQ(found[i].home - lines, static_cast<ptrdiff_t>(expected.line));
      ASSERT_EQ(found[i].stored, expected.stored);
    }
    ASSERT_EQ(found.back().stored, 77u);  // nothing is written past the end
  }
}

TEST_P(LineKernelsTest, ProbesAndEntriesAtHome) {
  const LineKernels& fast = line_kernels_for(GetParam());
  const LineKernels& plain = line_kernels_for(Simd::scalar);
  for (int round = 0; round < 500; ++round) {
    std::array<Block, 2> blocks[2] = {};
    const uint64_t different = 1 + random_() % 50;
    for (int step = 0; step < 6; ++step) {
      std::vector<uint32_t> number;
      std::vector<uint32_t> ordinals;
      std::vector<LinePlace> places[2];
      for (uint64_t i = random_() % 64; i > 0; --i) {
        const uint64_t at = random_() % (2 * kBlockLines);
        if (at % kBlockLines == kHomes) continue;
        const auto stored = static_cast<uint32_t>(random_() % different * 1000);
        ordinals.push_back(ordinal());
        for (int b = 0; b < 2; ++b) places[b].push_back({&blocks[b][0].line[0] + at, stored});
      }
      std::vector<uint32_t> out[2] = {std::vector<uint32_t>(ordinals.size() + 1),
                                      std::vector<uint32_t>(ordinals.size() + 1)};
      const auto expect_same = [&](size_t n0, size_t n1) {
        ASSERT_EQ(n0, n1);
        ASSERT_TRUE(std::equal(out[0].begin(), out[0].begin() + static_cast<ptrdiff_t>(n0), out[1].begin()));
        ASSERT_EQ(std::memcmp(&blocks[0], &blocks[1], sizeof blocks[0]), 0);
      };
      ASSERT_NO_FATAL_FAILURE(expect_same(plain.promising(places[0].data(), ordinals.size(), out[0].data()),
                                          fast.promising(places[1].data(), ordinals.size(), out[1].data())));
      ASSERT_NO_FATAL_FAILURE(
          expect_same(plain.put_homes(places[0].data(), ordinals.data(), ordinals.size(), out[0].data()),
                      fast.put_homes(places[1].data(), ordinals.data(), ordinals.size(), out[1].data())));
      for (auto& b : blocks) b[0].line[2].tail |= 0x1100 << step;  // some filter
    }
  }
}

// A rebuilt group contains each entry of the window once, in its block and home.
TEST_P(LineKernelsTest, RebuildsGroups) {
  using Entry = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // block, home, stored, ordinal
  for (int round = 0; round < 2000; ++round) {
    TableLayout table = layout();
    table.frontier = 0;
    table.rule[1].window = table.rule[0].window;
    if (random_() % 4 == 0) table.rule[1] = table.rule[0];
    const uint64_t group = random_() % table.groups();
    std::array<Block, kBlocksMost> blocks = {};
    Rebuild r;
    r.blocks = table.rule[0].blocks;
    r.blocks_next = table.rule[1].blocks;
    r.free = table.free_bits(table.rule[0]);
    r.origin = static_cast<uint32_t>(group << r.free);
    r.window = {ordinal(), random_() % 2 == 0 ? kOrdinalMask : ordinal()};
    for (uint32_t j = 0; j < kBlocksMost; ++j) r.block[j] = &blocks[j];
    std::vector<Entry> expected;
    uint32_t all = 0;
    const uint64_t n = random_() % (r.blocks * 100);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t free = random_() & ((uint64_t{1} << r.free) - 1);
      const auto unit = static_cast<uint32_t>(group << r.free | free);
      const uint32_t stored = unit & kStoredMask;
      const auto home = static_cast<uint32_t>(random_() % kHomes);
      Block& block = blocks[table.block(unit, table.rule[0])];
      const uint32_t edge = r.window.low + (random_() % 2 == 0 ? r.window.size : 0) - random_() % 2;
      const uint32_t o = random_() % 8 == 0 ? edge & kOrdinalMask : ordinal();
      if (home_count(block.line[home]) < kSlots) {
        put_in_home(block.line[home], stored, o);
      } else if (overflow_count(block.line[kHomes]) < kOverflowSlots) {
        put_in_overflow(block.line[home], block.line[kHomes], stored, o);
      } else {
        continue;
      }
      ++all;
      if (r.window.contains(o)) expected.emplace_back(table.block(unit, table.rule[1]), home, stored, o);
    }
    rebuild_group_for(GetParam())(r);
    std::vector<Entry> found;
    for (uint32_t j = 0; j < r.blocks_next; ++j) {
      Standing entries[kBlockSlots];
      const uint32_t here = standing_in(blocks[j], static_cast<uint8_t>(j), entries);
      for (uint32_t i = 0; i < here; ++i)
        found.emplace_back(j, entries[i].home, entries[i].stored, entries[i].ordinal);
      const Line& overflow = blocks[j].line[kHomes];
      for (uint32_t slot = 0; slot < overflow_count(overflow); ++slot) {
        const Line& home = blocks[j].line[overflow_home(overflow, slot)];
        ASSERT_TRUE((home.tail & filter_bit(overflow.hash[slot])) != 0);
        ASSERT_EQ(home_count(home), kSlots);
      }
    }
    for (uint32_t i = 0; i < r.loose; ++i) {
      const auto at = static_cast<uint32_t>(r.loose_entries[i].home - blocks[0].line);
      found.emplace_back(at / kBlockLines, at % kBlockLines, r.loose_entries[i].stored,
                         r.loose_entries[i].ordinal);
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected);
    ASSERT_EQ(r.dropped, all - expected.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, LineKernelsTest, testing::ValuesIn(simd_levels()),
                         [](const auto& level) { return std::string(simd_name(level.param)); });

}  // namespace
}  // namespace doppel
