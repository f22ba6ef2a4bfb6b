#pragma once
// Where in a table a hash belongs, and how that changes while the table grows.
//
// 40 bits of the hash, times the number of base groups: the whole part is the base group, the fraction goes
// on. After each doubling (`depth` of them) one more bit of the fraction belongs to the number of the group.
// The unit of an entry is 18 bits of the fraction, from bit `window` on; entries store the lower 16 of these,
// and their place says the others. What the group does not say yet of the unit, times the number of
// blocks in a group, chooses the block; other bits of the hash choose the home in the block, for ever. So a
// group becomes one of one block more from what its entries store, without a look at a row, and the order of
// the blocks in a group is the order of hashes.
//
// A group has kBlocksLeast blocks to twice as many; those with twice as many are two groups of the next
// depth. Blocks lie in the order in which they are made, which is: block 0 of all groups, block 1 of all,
// and so on; at each depth kBlocksLeast more for each group. block_at() says from the number of a group alone
// where its blocks are.

#include <cstdint>

#include "index/line.h"

namespace doppel {

inline constexpr uint32_t kBlocksLeast = 4;
inline constexpr int kUnitBits = kStoredBits + 2;  // the block says two bits at least
inline constexpr uint32_t kBlocksMost = 2 * kBlocksLeast;

struct TableLayout {
  static constexpr int kFractionBits = 40;
  static constexpr uint64_t kBaseMost = uint64_t{1} << 24;

  // How the entries of a group are placed in it.
  struct Rule {
    uint32_t blocks = kBlocksLeast;  // of a group
    int window = 0;                  // first bit of the fraction that belongs to units
  };

  uint64_t base = 1;  // groups at depth 0
  int depth = 0;
  Rule rule[2];           // of groups from the frontier on, and of those below it
  uint64_t frontier = 0;  // 0 but while a round goes through the groups

  uint64_t groups() const { return base << depth; }

  // By 24 bits of the hash that nothing else uses.
  static uint32_t home(uint64_t h) { return static_cast<uint32_t>((h & 0xffffff) * kHomes >> 24); }

  uint64_t spread(uint64_t h) const { return (h >> (64 - kFractionBits)) * base; }
  uint64_t group(uint64_t h) const { return spread(h) >> (kFractionBits - depth); }
  static uint32_t unit(uint64_t spread, int window) {
    return static_cast<uint32_t>(spread >> (kFractionBits - kUnitBits - window)) &
           ((uint32_t{1} << kUnitBits) - 1);
  }
  // Bits of a unit that the group does not say.
  int free_bits(const Rule& r) const { return kUnitBits - (depth - r.window); }
  // The block in its group of an entry.
  uint32_t block(uint32_t unit, const Rule& r) const {
    const int free = free_bits(r);
    return (unit & ((uint32_t{1} << free) - 1)) * r.blocks >> free;
  }
  // The lowest free bits that belong to block j of so many.
  static uint32_t first_of_block(uint32_t j, uint32_t blocks, int free) {
    return ((j << free) + blocks - 1) / blocks;
  }

  // The place in the table of block j of a group. Without a branch: nothing here can be foreseen.
  uint64_t block_at(uint64_t group, uint32_t j) const {
    const auto zeros = static_cast<uint32_t>(__builtin_ctzll(group | uint64_t{1} << depth));
    // The first blocks of a group that is the upper half of another one were made as the last of that; those
    // of a lower half are those of the whole.
    const uint32_t upper = (zeros - static_cast<uint32_t>(depth)) >> 31;  // zeros < depth
    const uint32_t first = 0 - ((j - kBlocksLeast) >> 31);                // all ones: j < kBlocksLeast
    const uint32_t up = (zeros + upper) & first;
    const uint64_t number = j + (kBlocksLeast * upper & first);
    return number * (groups() >> up) + (group >> up);
  }

  struct Place {
    uint64_t line;
    uint32_t stored;
  };
  Place place(uint64_t h) const {
    const uint64_t s = spread(h);
    const uint64_t g = s >> (kFractionBits - depth);
    const Rule& r = rule[(g - frontier) >> 63];  // g < frontier
    const uint32_t u = unit(s, r.window);
    return {block_at(g, block(u, r)) * kBlockLines + home(h), u & kStoredMask};
  }
};

}  // namespace doppel
