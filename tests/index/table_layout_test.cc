// The places of blocks and hashes, through many doublings.

#include "index/table_layout.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace doppel {
namespace {

// The blocks of a table are contiguous, in the order in which growth creates them.
TEST(TableLayout, BlocksStandInTheOrderInWhichTheyAreMade) {
  for (uint64_t base : {1, 2, 3, 5, 16, 23}) {
    TableLayout layout;
    layout.base = base;
    uint64_t made = 0;
    for (uint32_t j = 0; j < kBlocksLeast; ++j) {
      for (uint64_t g = 0; g < base; ++g) ASSERT_EQ(layout.block_at(g, j), made++);
    }
    for (; layout.depth < 6; ++layout.depth) {
      for (uint32_t j = kBlocksLeast; j < kBlocksMost; ++j) {
        for (uint64_t g = 0; g < layout.groups(); ++g) ASSERT_EQ(layout.block_at(g, j), made++);
      }
      // A group with all its blocks becomes two groups of the next depth.
      TableLayout deeper = layout;
      ++deeper.depth;
      for (uint64_t g = 0; g < layout.groups(); ++g) {
        for (uint32_t j = 0; j < kBlocksMost; ++j)
          ASSERT_EQ(layout.block_at(g, j), deeper.block_at(2 * g + j / kBlocksLeast, j % kBlocksLeast));
      }
    }
  }
}

// An entry never changes its home, keeps its block when groups are counted differently, and moves at most to
// the next block when there is one more.
TEST(TableLayout, EntriesMoveToTheNextBlockAtMost) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    TableLayout layout;
    layout.base = 1 + random() % 1000;
    const uint64_t h = random();
    const uint32_t home = layout.home(h);
    for (; layout.depth < 12; ++layout.depth) {
      const uint64_t spread = layout.spread(h);
      const int window = layout.depth > 5 ? layout.depth - static_cast<int>(random() % 5) : 0;
      const uint32_t unit = TableLayout::unit(spread, window);
      uint32_t before = layout.block(unit, {kBlocksLeast, window});
      for (uint32_t blocks = kBlocksLeast + 1; blocks <= kBlocksMost; ++blocks) {
        const uint32_t block = layout.block(unit, {blocks, window});
        ASSERT_TRUE(block == before || block == before + 1) << blocks;
        before = block;
      }
      const uint64_t at = layout.block_at(layout.group(h), before);
      TableLayout deeper = layout;
      ++deeper.depth;
      ASSERT_EQ(deeper.block_at(deeper.group(h), deeper.block(unit, {kBlocksLeast, window})), at);
      ASSERT_EQ(deeper.home(h), home);
    }
  }
}

}  // namespace
}  // namespace doppel
