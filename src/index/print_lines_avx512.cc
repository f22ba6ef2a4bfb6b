// g++ 12 warns about uninitialised values inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "index/print_lines.h"

namespace doppel {
namespace {

// Searches the first lines of all prints, then the second lines of those whose first one is full, and so on.
// Each round prefetches for the next one. No branch that decides how far a search goes depends on an entry,
// because such branches are unpredictable.
size_t find(const PrintPlace* places, size_t n, uint32_t* rest, PrintMatch* out) {
  const __m512i behind_bits = _mm512_set1_epi64(kPrintBehindMost);
  size_t found = 0;
  uint32_t* now = rest;
  uint32_t* next = rest + n;
  size_t left = n;
  for (uint64_t behind = 0; behind <= kPrintBehindMost && left != 0; ++behind) {
    const __m512i less = _mm512_set1_epi64(static_cast<long long>(behind));
    size_t on = 0;
    for (size_t x = 0; x < left; ++x) {
      const uint32_t i = behind == 0 ? static_cast<uint32_t>(x) : now[x];
      const PrintLine* at = places[i].home + behind;
      const __m512i line = _mm512_loadu_si512(at);
      const __m512i without = _mm512_srli_epi64(line, kPrintOrdinalBits);
      const uint64_t wanted = (places[i].print & 0xffffffff) << 4 | behind;
      const unsigned same =
          _mm512_cmpeq_epi64_mask(without, _mm512_set1_epi64(static_cast<long long>(wanted)));
      const unsigned nearer = _mm512_cmplt_epu64_mask(_mm512_and_si512(without, behind_bits), less);
      const unsigned free = _mm512_testn_epi64_mask(line, line);
      const size_t further = (nearer | free) == 0 ? 1 : 0;
      _mm_prefetch(reinterpret_cast<const char*>(at + further), _MM_HINT_T0);
      next[on] = i;
      on += further;
      for (unsigned bits = same; bits != 0; bits &= bits - 1) {
        out[found++] = {i, static_cast<uint32_t>((*at)[_tzcnt_u32(bits)] & kPrintOrdinalMask)};
      }
    }
    left = on;
    now = next;
    next = now == rest ? rest + n : rest;
  }
  return found;
}

PrintPut put(PrintLine* home, uint64_t entry, uint64_t& out, ptrdiff_t& out_home) {
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
    const __m512i slots = _mm512_loadu_si512(line);
    const __m512i without = _mm512_srli_epi64(slots, kPrintOrdinalBits);
    if (own) {
      const uint64_t equal = entry >> kPrintOrdinalBits | behind;
      same += static_cast<uint32_t>(
          _mm_popcnt_u32(_mm512_cmpeq_epi64_mask(without, _mm512_set1_epi64(static_cast<long long>(equal)))));
      if (same >= kPrintSameMost) return PrintPut::too_many_same;
    }
    const unsigned free = _mm512_testn_epi64_mask(slots, slots);
    if (free != 0) {
      (*line)[_tzcnt_u32(free)] = entry | behind << kPrintOrdinalBits;
      return same + 1 == kPrintSameMost ? PrintPut::last_of_same : PrintPut::done;
    }
    const __m512i others = _mm512_and_si512(without, _mm512_set1_epi64(kPrintBehindMost));
    for (uint64_t least = 0; least < behind; ++least) {
      const unsigned at = _mm512_cmpeq_epi64_mask(others, _mm512_set1_epi64(static_cast<long long>(least)));
      if (at == 0) continue;
      uint64_t& last = (*line)[_tzcnt_u32(at)];
      const uint64_t other = last & ~(kPrintBehindMost << kPrintOrdinalBits);
      last = entry | behind << kPrintOrdinalBits;
      entry = other;
      behind = least;
      own = false;
      break;
    }
  }
}

size_t take(PrintLine* lines, size_t n, uint64_t at, const PrintTaking& taking, uint64_t* entries,
            uint32_t* homes, size_t& taken) {
  const auto each = [](uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); };
  const __m512i ordinals = each(kPrintOrdinalMask);
  const __m512i behind_bits = each(kPrintBehindMost);
  const __m512i kept = each(~(kPrintBehindMost << kPrintOrdinalBits));
  const __m512i low = each(taking.low);
  const __m512i live = each(taking.live);
  const __m512i unit_next = each(taking.unit_next);
  uint64_t top = at / taking.unit;
  uint64_t in_top = at % taking.unit;
  taken = 0;
  for (size_t i = 0; i < n; ++i) {
    const __m512i line = _mm512_loadu_si512(lines[i]);
    const unsigned used = _mm512_test_epi64_mask(line, line);
    const __m512i age = _mm512_and_si512(_mm512_sub_epi64(_mm512_and_si512(line, ordinals), low), ordinals);
    if ((used & ~static_cast<unsigned>(_mm512_cmplt_epu64_mask(age, live))) != 0) return i;
    const __m512i behind = _mm512_and_si512(_mm512_srli_epi64(line, kPrintOrdinalBits), behind_bits);
    const __mmask8 before = _mm512_cmpgt_epu64_mask(behind, each(in_top));  // its home has the last top
    const __m512i base =
        _mm512_mask_sub_epi64(each(top * taking.unit_next), before, each(top * taking.unit_next), unit_next);
    const __m512i share = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(line, 32), unit_next), 32);
    _mm512_storeu_si512(entries + taken, _mm512_and_si512(line, kept));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(homes + taken),
                        _mm512_cvtepi64_epi32(_mm512_add_epi64(base, share)));
    _mm512_storeu_si512(lines[i], _mm512_setzero_si512());
    taken += static_cast<size_t>(_mm_popcnt_u32(used));
    if (++in_top == taking.unit) {
      in_top = 0;
      ++top;
    }
  }
  return n;
}

}  // namespace

extern const PrintLineKernels kPrintLineKernelsAvx512{find, put, take};

}  // namespace doppel
