#include "index/line_kernels.h"

#include "index/line_kernels_inline.h"

namespace doppel {

extern const LineKernels kLineKernelsAvx512;

namespace {

void places(const TableLayout& layout, Line* lines, const uint64_t* h, size_t n, LinePlace* out) {
  for (size_t i = 0; i < n; ++i) {
    const TableLayout::Place at = layout.place(h[i]);
    out[i] = {lines + at.line, at.stored};
  }
}

constexpr LineKernels kLineKernels{places, promising_lines, put_in_homes};

}  // namespace

const LineKernels& line_kernels_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kLineKernelsAvx512;
#endif
  (void)level;
  return kLineKernels;
}

}  // namespace doppel
