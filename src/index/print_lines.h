#pragma once
// The lines of the table of prints (print_table.h), and the kernels that work on them. An entry:
//
//   bits 0-27   ordinal of an original
//   bits 28-31  displacement: how many lines the entry is behind the home of its print
//   bits 32-63  the low bits of its print; never 0, so that 0 is a free slot

#include <cstddef>
#include <cstdint>

#include "base/simd.h"

namespace doppel {

inline constexpr uint32_t kPrintLineEntries = 8;
inline constexpr int kPrintOrdinalBits = 28;
inline constexpr uint64_t kPrintOrdinalMask = (uint64_t{1} << kPrintOrdinalBits) - 1;
inline constexpr uint64_t kPrintBehindMost = 15;
inline constexpr uint32_t kPrintSameMost = 4;  // entries of one print in lines; more go aside

// The displacement of an entry: how many lines it is behind its home.
static inline uint64_t print_behind(uint64_t entry) { return entry >> kPrintOrdinalBits & kPrintBehindMost; }

using PrintLine = uint64_t[kPrintLineEntries];

// A print to look up, and its home.
struct PrintPlace {
  const PrintLine* home;
  uint64_t print;
};

struct PrintMatch {
  uint32_t asked;  // index of the place
  uint32_t ordinal;
};

enum class PrintPut : uint8_t {
  done,
  last_of_same,   // done, and the lines now have kPrintSameMost entries of this print
  too_many_same,  // nothing has changed
  no_room,        // nothing has changed
  moved_out,      // done, but another entry found no room and moved out
};

// How to empty lines of a table that is growing.
struct PrintTaking {
  uint64_t unit, unit_next;  // lines for prints with the same highest bits, before and after; unit > 15
  uint64_t low, live;        // the `live` ordinals from `low` on have not expired
};

struct PrintLineKernels {
  // Finds all entries of these prints; of one print, the entries nearer to its home come first. `out` has
  // room for kPrintSameMost * n + 8 matches, `rest` for 2 * (n + 8) numbers. Returns the number of matches.
  size_t (*find)(const PrintPlace* places, size_t n, uint32_t* rest, PrintMatch* out);
  // Enters an entry by Robin Hood hashing: in a full line, it displaces the entry whose home is last, if that
  // home is behind its own, and the displaced entry moves on. So a search ends at the first line that has an
  // entry with a later home, and no entry is far from its home although long rows of lines are full. If an
  // entry moved out, `out` is this entry, and `out_home` is its home in lines from `home` on.
  PrintPut (*put)(PrintLine* home, uint64_t entry, uint64_t& out, ptrdiff_t& out_home);
  // Empties the first of n lines, until one of them has an expired entry; it may stop earlier. The first line
  // has the index `at`. Returns the number of emptied lines. Writes their entries without displacement to
  // `entries` and their new homes to `homes`, which both have room for 8 * (n + 1), and sets `taken` to the
  // number of entries.
  size_t (*take)(PrintLine* lines, size_t n, uint64_t at, const PrintTaking& taking, uint64_t* entries,
                 uint32_t* homes, size_t& taken);
};
const PrintLineKernels& print_line_kernels_for(Simd level);

extern const PrintLineKernels kPrintLineKernelsAvx2, kPrintLineKernelsAvx512;

}  // namespace doppel
