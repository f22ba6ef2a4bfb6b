#pragma once
// A group of a table is made from its blocks: with one block more, or without what has expired. Everything
// goes where the new number of blocks wants it; homes first, then what overflowed.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "index/line.h"
#include "index/table_layout.h"

namespace doppel {

struct Rebuild {
  Block* block[kBlocksMost] = {};  // of the group; those from `blocks` on are empty
  uint32_t blocks = 0;
  uint32_t blocks_next = 0;  // as many, or one more
  int free = 0;              // bits of the units that the group does not say
  uint32_t origin = 0;       // the group's part of the units
  OrdinalWindow window;

  // The free bits of an entry in block j, whose lowest are `first`.
  uint32_t free_bits(uint32_t stored, uint32_t first) const {
    return first + ((stored - origin - first) & kStoredMask);
  }

  // What it did.
  uint32_t moved = 0;    // entries that went to another block
  uint32_t dropped = 0;  // entries outside the window
  // Entries that found no place in a line.
  struct Loose {
    const Line* home;
    uint32_t stored;
    uint32_t ordinal;
  };
  uint32_t loose = 0;
  Loose loose_entries[kBlocksMost * kBlockSlots];
};
inline constexpr uint32_t kGroupSlots = kBlocksMost * kBlockSlots;

// An entry and its place.
struct Standing {
  uint32_t ordinal;
  uint16_t stored;
  uint8_t block;
  uint8_t home;
};
// Appends the entries of a block to `out`; returns how many.
uint32_t standing_in(const Block& block, uint8_t number, Standing* out);

using RebuildGroup = void (*)(Rebuild& rebuild);
void rebuild_group_scalar(Rebuild& rebuild);
void rebuild_group_avx512(Rebuild& rebuild);
RebuildGroup rebuild_group_for(Simd level);

}  // namespace doppel
