#pragma once
// Operations on many entries of a table at once: where they belong, which may match, and how a group is
// rebuilt.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "index/line.h"
#include "index/table_layout.h"

namespace doppel {

// The home of an entry, and the stored bits of its hash.
struct LinePlace {
  Line* home;
  uint32_t stored;
};

struct LineKernels {
  // out[i] is where h[i] belongs in a table of this layout.
  void (*places)(const TableLayout& layout, Line* lines, const uint64_t* h, size_t n, LinePlace* out);
  // Lists the indices of places that may hold a match, in their home or elsewhere. Returns their number.
  // `out` has room for n + 1.
  size_t (*promising)(const LinePlace* places, size_t n, uint32_t* out);
  // Enters ordinals at home. Lists in `full` (room for n + 1) the indices of entries whose home had no room
  // or too many equals. Returns their number.
  size_t (*put_homes)(const LinePlace* places, const uint32_t* ordinals, size_t n, uint32_t* full);
};
const LineKernels& line_kernels_for(Simd level);

// The kernels for the instruction set for which the including file is compiled. They are static for the same
// reason as in line.h. No branch depends on an entry, because such branches are
// unpredictable.
static inline size_t promising_lines(const LinePlace* places, size_t n, uint32_t* out) {
  size_t found = 0;
  for (size_t i = 0; i < n; ++i) {
    const Line& home = *places[i].home;
    const uint32_t stored = places[i].stored;
    const uint32_t any = same_hash(home, stored, home_count(home)) | (home.tail & filter_bit(stored));
    out[found] = static_cast<uint32_t>(i);
    found += any != 0 ? 1 : 0;
  }
  return found;
}

static inline size_t put_in_homes(const LinePlace* places, const uint32_t* ordinals, size_t n,
                                  uint32_t* full) {
  Line nobodys = {};
  size_t fulls = 0;
  for (size_t i = 0; i < n; ++i) {
    Line& home = *places[i].home;
    const uint32_t stored = places[i].stored;
    const uint32_t count = home_count(home);
    const uint32_t same = same_hash(home, stored, count);
    const uint32_t fits = (count < kSlots ? 1u : 0u) & (count_bits(same) < kSameMax ? 1u : 0u);
    uint32_t all = 0 - fits;
    asm("" : "+r"(all));  // keeps the compiler from making a branch
    Line* const to[2] = {&nobodys, &home};
    set_entry(*to[all & 1], count & all, stored, ordinals[i]);
    home.tail += fits << 4;
    full[fulls] = static_cast<uint32_t>(i);
    fulls += 1 - fits;
  }
  return fulls;
}

// Rebuilds a group of a table, with one more block or without expired entries. Each entry moves to where the
// new number of blocks puts it: homes first, then overflow lines.
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
