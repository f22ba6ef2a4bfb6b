#pragma once
// The kernels of line_kernels.h, for the instruction set for which the including file is compiled. They are
// static for the same reason as in line.h. No branch depends on an entry, because such branches are
// unpredictable.

#include "index/line_kernels.h"

namespace doppel {

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

}  // namespace doppel
