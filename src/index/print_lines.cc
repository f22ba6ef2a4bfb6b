#include "index/print_lines.h"

namespace doppel {
namespace {

// A search stops at a line with an entry of less displacement: the entry would have been displaced if the
// print were further on.
size_t find(const PrintPlace* places, size_t n, uint32_t* /*rest*/, PrintMatch* out) {
  size_t found = 0;
  for (size_t i = 0; i < n; ++i) {
    for (uint64_t behind = 0; behind <= kPrintBehindMost; ++behind) {
      const PrintLine& line = places[i].home[behind];
      const uint64_t wanted = (places[i].print & 0xffffffff) << 4 | behind;
      bool over = line[kPrintLineEntries - 1] == 0;
      for (const uint64_t entry : line) {
        over |= print_behind(entry) < behind;
        if (entry >> kPrintOrdinalBits != wanted) continue;
        out[found++] = {static_cast<uint32_t>(i), static_cast<uint32_t>(entry & kPrintOrdinalMask)};
      }
      if (over) break;
    }
  }
  return found;
}

PrintPut put(PrintLine* home, uint64_t entry, uint64_t& out, ptrdiff_t& out_home) {
  uint64_t behind = 0;  // of the entry to be placed
  uint32_t same = 0;
  bool own = true;
  for (PrintLine* line = home;; ++line, ++behind) {
    if (behind > kPrintBehindMost) {
      if (own) return PrintPut::no_room;
      out = entry;
      out_home = line - home - static_cast<ptrdiff_t>(behind);
      return PrintPut::moved_out;
    }
    uint64_t* last = *line;  // the entry whose home is last
    uint64_t* free = nullptr;
    for (uint64_t& slot : *line) {
      if (slot == 0) {
        free = &slot;
        break;
      }
      same += own && slot >> kPrintOrdinalBits == (entry >> kPrintOrdinalBits | behind) ? 1 : 0;
      if (print_behind(slot) < print_behind(*last)) last = &slot;
    }
    if (same >= kPrintSameMost) return PrintPut::too_many_same;
    if (free != nullptr) {
      *free = entry | behind << kPrintOrdinalBits;
      return same + 1 == kPrintSameMost ? PrintPut::last_of_same : PrintPut::done;
    }
    const uint64_t others = print_behind(*last);
    if (others >= behind) continue;
    const uint64_t other = *last & ~(kPrintBehindMost << kPrintOrdinalBits);
    *last = entry | behind << kPrintOrdinalBits;
    entry = other;
    behind = others;
    own = false;
  }
}

size_t take(PrintLine* /*lines*/, size_t /*n*/, uint64_t /*at*/, const PrintTaking& /*taking*/,
            uint64_t* /*entries*/, uint32_t* /*homes*/, size_t& taken) {
  taken = 0;
  return 0;
}

constexpr PrintLineKernels kScalar{find, put, take};

}  // namespace

const PrintLineKernels& print_line_kernels_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kPrintLineKernelsAvx512;
  if (level == Simd::avx2) return kPrintLineKernelsAvx2;
#endif
  static_cast<void>(level);
  return kScalar;
}

}  // namespace doppel
