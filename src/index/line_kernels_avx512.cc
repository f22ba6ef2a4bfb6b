// g++ 12 warns about uninitialised values inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "index/line_kernels.h"
#include "index/line_kernels_inline.h"

namespace doppel {
namespace {

__m512i all64(uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); }
__m128i shift_by(uint64_t bits) { return _mm_cvtsi64_si128(static_cast<long long>(bits)); }

// TableLayout::place() for eight hashes.
void places(const TableLayout& layout, Line* lines, const uint64_t* h, size_t n, LinePlace* out) {
  const auto depth = static_cast<uint64_t>(layout.depth);
  const __m512i base = all64(layout.base);
  const __m512i groups = all64(layout.groups());
  const __m512i frontier = all64(layout.frontier);
  const __m512i one = all64(1);
  const __m512i bits24 = all64(0xffffff);
  const __m512i least = all64(kBlocksLeast);
  const auto rule = [&](auto value) {
    return [now = all64(static_cast<uint64_t>(value(layout.rule[0]))),
            next = all64(static_cast<uint64_t>(value(layout.rule[1])))](__mmask8 below) {
      return _mm512_mask_blend_epi64(below, now, next);
    };
  };
  const auto blocks = rule([](const TableLayout::Rule& r) { return r.blocks; });
  const auto unit_shift =
      rule([](const TableLayout::Rule& r) { return TableLayout::kFractionBits - kUnitBits - r.window; });
  const auto free_bits = rule([&](const TableLayout::Rule& r) { return layout.free_bits(r); });
  for (size_t i = 0; i < n; i += 8) {
    const auto lanes = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512i hash = _mm512_maskz_loadu_epi64(lanes, h + i);
    const __m512i top = _mm512_srli_epi64(hash, 64 - TableLayout::kFractionBits);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(top, 32), base);
    const __m512i spread = _mm512_add_epi64(_mm512_mul_epu32(top, base), _mm512_slli_epi64(high, 32));
    const __m512i group = _mm512_srl_epi64(spread, shift_by(TableLayout::kFractionBits - depth));
    const __mmask8 below = _mm512_cmplt_epu64_mask(group, frontier);
    const __m512i unit = _mm512_srlv_epi64(spread, unit_shift(below));
    const __m512i free = free_bits(below);
    const __m512i part = _mm512_and_si512(unit, _mm512_sub_epi64(_mm512_sllv_epi64(one, free), one));
    const __m512i block = _mm512_srlv_epi64(_mm512_mul_epu32(part, blocks(below)), free);
    // block_at()
    const __m512i guarded = _mm512_or_si512(group, all64(uint64_t{1} << depth));
    const __m512i lowest = _mm512_and_si512(guarded, _mm512_sub_epi64(_mm512_setzero_si512(), guarded));
    const __m512i zeros = _mm512_sub_epi64(all64(63), _mm512_lzcnt_epi64(lowest));
    const __mmask8 first = _mm512_cmplt_epu64_mask(block, least);
    const __mmask8 upper = _mm512_mask_cmplt_epu64_mask(first, zeros, all64(depth));
    const __m512i up = _mm512_mask_add_epi64(_mm512_maskz_mov_epi64(first, zeros), upper, zeros, one);
    const __m512i number = _mm512_mask_add_epi64(block, upper, block, least);
    const __m512i at = _mm512_add_epi64(_mm512_mul_epu32(number, _mm512_srlv_epi64(groups, up)),
                                        _mm512_srlv_epi64(group, up));
    const __m512i home =
        _mm512_srli_epi64(_mm512_mul_epu32(_mm512_and_si512(hash, bits24), all64(kHomes)), 24);
    const __m512i line = _mm512_add_epi64(_mm512_slli_epi64(at, 3), home);
    const __m512i address =
        _mm512_add_epi64(_mm512_slli_epi64(line, 6), all64(reinterpret_cast<uintptr_t>(lines)));
    const __m512i stored = _mm512_and_si512(unit, all64(kStoredMask));
    const __m512i low = _mm512_unpacklo_epi64(address, stored);
    const __m512i up4 = _mm512_unpackhi_epi64(address, stored);
    const __m512i order0 = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i order1 = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const size_t words = 2 * (n - i >= 8 ? size_t{8} : n - i);
    const auto words0 = static_cast<__mmask8>(words >= 8 ? 0xff : (1u << words) - 1);
    const auto words1 = static_cast<__mmask8>(words >= 16 ? 0xff : words <= 8 ? 0 : (1u << (words - 8)) - 1);
    static_assert(sizeof(LinePlace) == 16);
    auto* to = reinterpret_cast<long long*>(out + i);
    _mm512_mask_storeu_epi64(to, words0, _mm512_permutex2var_epi64(low, order0, up4));
    _mm512_mask_storeu_epi64(to + 8, words1, _mm512_permutex2var_epi64(low, order1, up4));
  }
}

}  // namespace

extern const LineKernels kLineKernelsAvx512;
const LineKernels kLineKernelsAvx512{places, promising_lines, put_in_homes};

}  // namespace doppel
