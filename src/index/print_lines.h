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

// The loops of the kernels. Slots is what an instruction set knows of the eight entries of a line; each
// function returns a bit for each entry. A Slots in an anonymous namespace keeps these functions in its file.
//
//   explicit Slots(const PrintLine& line);
//   uint32_t equal(uint64_t value) const;     // entries that are `value` without their ordinals
//   uint32_t behind(uint64_t lines) const;    // entries of this displacement
//   uint32_t nearer(uint64_t lines) const;    // entries of a smaller one
//   uint32_t free() const;
//   uint32_t expired(uint64_t low, uint64_t live) const;  // see PrintTaking; free ones may count
//   void copy(uint64_t base, uint64_t in_top, uint64_t unit_next, uint64_t* entries, uint32_t* homes) const;
//     writes all entries without displacement, and their new homes: `base` is the first one of the prints
//     with the same highest bits as the line, which has `in_top` lines with these bits before it

// Searches the first lines of all prints, then the second lines of those whose first one is full, and so on.
// Each round prefetches for the next one. A search stops at a line with an entry of less displacement: the
// entry would have been displaced if the print were further on. No branch that decides how far a search goes
// depends on an entry, because such branches are unpredictable.
template <typename Slots>
static inline size_t find_in_lines(const PrintPlace* places, size_t n, uint32_t* rest, PrintMatch* out) {
  size_t found = 0;
  uint32_t* now = rest;
  uint32_t* next = rest + n;
  size_t left = n;
  for (uint64_t behind = 0; behind <= kPrintBehindMost && left != 0; ++behind) {
    size_t on = 0;
    for (size_t x = 0; x < left; ++x) {
      const uint32_t i = behind == 0 ? static_cast<uint32_t>(x) : now[x];
      const PrintLine* at = places[i].home + behind;
      const Slots slots(*at);
      const size_t further = (slots.nearer(behind) | slots.free()) == 0 ? 1 : 0;
      fetch(at + further);
      next[on] = i;
      on += further;
      uint32_t same = slots.equal((places[i].print & 0xffffffff) << 4 | behind);
      for (; same != 0; same &= same - 1)
        out[found++] = {i, static_cast<uint32_t>((*at)[__builtin_ctz(same)] & kPrintOrdinalMask)};
    }
    left = on;
    now = next;
    next = now == rest ? rest + n : rest;
  }
  return found;
}

template <typename Slots>
static inline PrintPut put_in_lines(PrintLine* home, uint64_t entry, uint64_t& out, ptrdiff_t& out_home) {
  uint64_t behind = 0;  // of the entry that is carried
  uint32_t same = 0;
  bool own = true;
  for (PrintLine* line = home;; ++line, ++behind) {
    if (behind > kPrintBehindMost) {
      if (own) return PrintPut::no_room;
      out = entry;
      out_home = line - home - static_cast<ptrdiff_t>(behind);
      return PrintPut::moved_out;
    }
    const Slots slots(*line);
    if (own) {
      same += static_cast<uint32_t>(__builtin_popcount(slots.equal(entry >> kPrintOrdinalBits | behind)));
      if (same >= kPrintSameMost) return PrintPut::too_many_same;
    }
    if (const uint32_t free = slots.free(); free != 0) {
      (*line)[__builtin_ctz(free)] = entry | behind << kPrintOrdinalBits;
      return same + 1 == kPrintSameMost ? PrintPut::last_of_same : PrintPut::done;
    }
    for (uint64_t least = 0; least < behind; ++least) {
      const uint32_t last = slots.behind(least);
      if (last == 0) continue;
      uint64_t& slot = (*line)[__builtin_ctz(last)];
      const uint64_t other = slot & ~(kPrintBehindMost << kPrintOrdinalBits);
      slot = entry | behind << kPrintOrdinalBits;
      entry = other;
      behind = least;
      own = false;
      break;
    }
  }
}

template <typename Slots>
static inline size_t take_from_lines(PrintLine* lines, size_t n, uint64_t at, const PrintTaking& taking,
                                     uint64_t* entries, uint32_t* homes, size_t& taken) {
  uint64_t top = at / taking.unit;
  uint64_t in_top = at % taking.unit;
  taken = 0;
  for (size_t i = 0; i < n; ++i) {
    const Slots slots(lines[i]);
    const uint32_t used = ~slots.free() & 0xff;
    if ((used & slots.expired(taking.low, taking.live)) != 0) return i;
    slots.copy(top * taking.unit_next, in_top, taking.unit_next, entries + taken, homes + taken);
    __builtin_memset(lines[i], 0, sizeof(PrintLine));
    taken += static_cast<size_t>(__builtin_popcount(used));
    if (++in_top == taking.unit) {
      in_top = 0;
      ++top;
    }
  }
  return n;
}

}  // namespace doppel
