#pragma once
// The lines of the table of prints (print_table.h), as the kernels know them.
//
//   bits 0-27   ordinal of an original
//   bits 28-31  how many lines the entry is behind the home of its print
//   bits 32-63  the low bits of its print; never 0, so that 0 is no entry

#include <cstddef>
#include <cstdint>

#include "base/simd.h"

namespace doppel {

inline constexpr uint32_t kPrintLineEntries = 8;
inline constexpr int kPrintOrdinalBits = 28;
inline constexpr uint64_t kPrintOrdinalMask = (uint64_t{1} << kPrintOrdinalBits) - 1;
inline constexpr uint64_t kPrintBehindMost = 15;
inline constexpr uint32_t kPrintSameMost = 4;  // entries of one print in lines

// How many lines an entry is behind its home.
static inline uint64_t print_behind(uint64_t entry) { return entry >> kPrintOrdinalBits & kPrintBehindMost; }

using PrintLine = uint64_t[kPrintLineEntries];

// What is looked up: where a print has its home.
struct PrintPlace {
  const PrintLine* home;
  uint64_t print;
};

struct PrintMatch {
  uint32_t asked;  // the number of the place
  uint32_t ordinal;
};

enum class PrintPut : uint8_t {
  done,
  last_of_same,   // done, and there are kPrintSameMost of this print now
  too_many_same,  // nothing has changed
  no_room,        // nothing has changed
  moved_out,      // done, and another one found no room
};

// How lines are taken out of a table that gets more of them.
struct PrintTaking {
  uint64_t unit, unit_next;  // lines that prints with the same highest bits have, before and after; unit > 15
  uint64_t low, live;        // so many ordinals from `low` on live
};

struct PrintLineKernels {
  // All entries of these prints; of one print, those nearer to its home first. `out` has room for
  // kPrintSameMost * n + 8 of them, `rest` for 2 * (n + 8) numbers. Returns how many.
  size_t (*find)(const PrintPlace* places, size_t n, uint32_t* rest, PrintMatch* out);
  // Enters an entry at home or behind. What comes to a full line takes the place of the entry there whose
  // home is last, if that is behind its own, and this entry moves on. So no line that an entry is behind
  // holds one with a later home, and a search ends at the first that does: rows of full lines are long, but
  // nothing is far from home. `out`: the entry that moved out, its home in lines from `home` on.
  PrintPut (*put)(PrintLine* home, uint64_t entry, uint64_t& out, ptrdiff_t& out_home);
  // Empties the first lines of n, the number of the first is `at`, as long as everything in them lives.
  // Returns how many; it may leave them to others. `entries` get what was in them, without how far it was
  // behind, `homes` where that goes; both have room for 8 (n + 1), and `taken` becomes how many there are.
  size_t (*take)(PrintLine* lines, size_t n, uint64_t at, const PrintTaking& taking, uint64_t* entries,
                 uint32_t* homes, size_t& taken);
};
const PrintLineKernels& print_line_kernels_for(Simd level);

extern const PrintLineKernels kPrintLineKernelsAvx512;

}  // namespace doppel
