#pragma once
// Rebuilds a group of a table, with one more block or without expired entries. Each entry moves to where the
// new number of blocks puts it: homes first, then overflow lines.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "index/line.h"
#include "index/table_layout.h"

namespace doppel {

struct Rebuild {
  Block* block[kBlocksMost] = {};  // of the group; those from `blocks` on are empty
  uint32_t blocks = 0;
  uint32_t blocks_next = 0;  // the same number, or one more
  int free = 0;              // bits of the units that the group number does not contain
  uint32_t origin = 0;       // the group's part of the units
  OrdinalWindow window;

  // The free bits of an entry in a block; `first` is the lowest value in that block.
  uint32_t free_bits(uint32_t stored, uint32_t first) const {
    return first + ((stored - origin - first) & kStoredMask);
  }

  // The results.
  uint32_t moved = 0;    // entries moved to another block
  uint32_t dropped = 0;  // entries outside the window
  // Entries that did not fit into a line.
  struct Loose {
    const Line* home;
    uint32_t stored;
    uint32_t ordinal;
  };
  uint32_t loose = 0;
  Loose loose_entries[kBlocksMost * kBlockSlots];
};
inline constexpr uint32_t kGroupSlots = kBlocksMost * kBlockSlots;

// An entry and its position.
struct Standing {
  uint32_t ordinal;
  uint16_t stored;
  uint8_t block;
  uint8_t home;
};
// Appends the entries of a block to `out`. Returns their number.
uint32_t standing_in(const Block& block, uint8_t number, Standing* out);

using RebuildGroup = void (*)(Rebuild& rebuild);
void rebuild_group_scalar(Rebuild& rebuild);
void rebuild_group_avx512(Rebuild& rebuild);
RebuildGroup rebuild_group_for(Simd level);

}  // namespace doppel
