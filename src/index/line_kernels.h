#pragma once
// Operations on many entries of a table at once.

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

}  // namespace doppel
