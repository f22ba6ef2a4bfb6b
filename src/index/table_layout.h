#pragma once
// Where in a table a hash belongs, and how that changes while the table grows.
//
// 40 bits of the hash are multiplied by the number of base groups: the integer part is the base group, the
// fraction is used further. After each doubling (`depth` of them), one more bit of the fraction belongs to
// the group number. The unit of an entry is 18 bits of the fraction, from bit `window` on. Entries store the
// lower 16 bits of their unit; their position implies the others. The bits of the unit that the group number
// does not contain, multiplied by the number of blocks in a group, select the block. Other bits of the hash
// select the home in the block and never change. So a group is rebuilt with one more block from what its
// entries store, without reading a row, and the blocks in a group are in the order of hashes.
//
// A group has kBlocksLeast to kBlocksMost blocks; one with kBlocksMost becomes two groups of the next depth.
// Blocks are stored in the order in which they were created: block 0 of all groups, block 1 of all groups,
// and so on; each depth adds kBlocksLeast blocks for each group. block_at() computes the position of a block
// from the number of its group alone.

#include <cstdint>

#include "index/line.h"

namespace doppel {

inline constexpr uint32_t kBlocksLeast = 4;
inline constexpr int kUnitBits = kStoredBits + 2;  // the block implies at least two bits
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
  Rule rule[2];           // of groups from the frontier on, and below it
  uint64_t frontier = 0;  // 0 except during a round

  uint64_t groups() const { return base << depth; }

  // The home depends on 24 bits of the hash that nothing else uses.
  static uint32_t home(uint64_t h) { return static_cast<uint32_t>((h & 0xffffff) * kHomes >> 24); }

  uint64_t spread(uint64_t h) const { return (h >> (64 - kFractionBits)) * base; }
  uint64_t group(uint64_t h) const { return spread(h) >> (kFractionBits - depth); }
  static uint32_t unit(uint64_t spread, int window) {
    return static_cast<uint32_t>(spread >> (kFractionBits - kUnitBits - window)) &
           ((uint32_t{1} << kUnitBits) - 1);
  }
  // The number of unit bits that the group number does not contain.
  int free_bits(const Rule& r) const { return kUnitBits - (depth - r.window); }
  // The block of an entry in its group.
  uint32_t block(uint32_t unit, const Rule& r) const {
    const int free = free_bits(r);
    return (unit & ((uint32_t{1} << free) - 1)) * r.blocks >> free;
  }
  // The lowest value of the free bits that belongs to block j.
  static uint32_t first_of_block(uint32_t j, uint32_t blocks, int free) {
    return ((j << free) + blocks - 1) / blocks;
  }

  // The position of block j of a group in the table. It has no branches, because they would be unpredictable.
  uint64_t block_at(uint64_t group, uint32_t j) const {
    const auto zeros = static_cast<uint32_t>(__builtin_ctzll(group | uint64_t{1} << depth));
    // The first blocks of an upper half were created as the last blocks of the group that was split; those of
    // a lower half are the group's first blocks.
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
