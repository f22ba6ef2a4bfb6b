#include <immintrin.h>

#include "sketch/prints_kernels.h"

namespace doppel {
namespace {

__m256i load(const uint64_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

void smaller(const uint64_t* a, const uint64_t* b, size_t n, uint64_t* out) {
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256i x = load(a + i);
    const __m256i y = load(b + i);
    const __m256i larger = _mm256_cmpgt_epi64(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_blendv_epi8(x, y, larger));
  }
  for (; i < n; ++i) out[i] = b[i] < a[i] ? b[i] : a[i];
}

void sixteen(const uint64_t* values, size_t n, uint64_t* out) {
  for (size_t have = 1; have < 16 && n > have; have *= 2) {
    n -= have;
    smaller(values, values + have, n, out);
    values = out;
  }
}

size_t changes(const uint64_t* values, size_t n, uint32_t* out) {
  if (n == 0) return 0;
  size_t count = 0;
  out[count++] = 0;
  size_t i = 1;
  for (; i + 4 <= n; i += 4) {
    const __m256i equal = _mm256_cmpeq_epi64(load(values + i), load(values + i - 1));
    auto differ = static_cast<unsigned>(~_mm256_movemask_pd(_mm256_castsi256_pd(equal))) & 15;
    for (; differ != 0; differ &= differ - 1) out[count++] = static_cast<uint32_t>(i) + _tzcnt_u32(differ);
  }
  for (; i < n; ++i) {
    if (values[i] != values[i - 1]) out[count++] = static_cast<uint32_t>(i);
  }
  return count;
}

size_t last_of(const uint64_t* values, size_t n, uint64_t value) {
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(value));
  size_t end = n;
  for (; end >= 4; end -= 4) {
    const __m256i equal = _mm256_cmpeq_epi64(load(values + end - 4), wanted);
    const auto at = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
    if (at != 0) return end - 4 + (31 - _lzcnt_u32(at));
  }
  while (end > 0 && values[end - 1] != value) --end;
  return end > 0 ? end - 1 : n;
}

}  // namespace

extern const PrintKernels kPrintKernelsAvx2{smaller, sixteen, changes, last_of};

}  // namespace doppel
