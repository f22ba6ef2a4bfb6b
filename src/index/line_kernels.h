#pragma once
// What is done for many entries of a table at once.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "index/line.h"
#include "index/table_layout.h"

namespace doppel {

// The home of an entry and what is stored of it.
struct LinePlace {
  Line* home;
  uint32_t stored;
};

struct LineKernels {
  // out[i]: where h[i] belongs in a table of this layout.
  void (*places)(const TableLayout& layout, Line* lines, const uint64_t* h, size_t n, LinePlace* out);
  // Those of the places, by number, where something may be found at home or elsewhere; returns how many.
  // `out` has room for n + 1.
  size_t (*promising)(const LinePlace* places, size_t n, uint32_t* out);
  // Enters ordinals at home, and returns how many found no room there, or too many equals: their numbers are
  // in `full`, which has room for n + 1.
  size_t (*put_homes)(const LinePlace* places, const uint32_t* ordinals, size_t n, uint32_t* full);
};
const LineKernels& line_kernels_for(Simd level);

}  // namespace doppel
