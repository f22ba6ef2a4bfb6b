// The kernels of index/ with AVX2.

#include <immintrin.h>

#include <cstdint>

#include "index/print_lines.h"
#include "index/segment_filter.h"

namespace doppel {

int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);

int equal_bits_avx2(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int64_t equal = 0;
  for (int base = 0; base < k; base += 64) {
    uint64_t word = 0;
    const int end = k - base < 64 ? k - base : 64;
    int i = 0;
    for (; i + 32 <= end; i += 32) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + base + i));
      const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + base + i));
      word |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y))))
              << i;
    }
    for (; i < end; ++i) word |= static_cast<uint64_t>(a[base + i] == b[base + i]) << i;
    bits[base / 64] = word;
    equal += _mm_popcnt_u64(word);
  }
  return static_cast<int>(equal);
}

size_t filter_probe_avx2(const uint64_t* words, const FilterShape& shape, const uint64_t* keys,
                         const uint64_t* coefficients, size_t n, uint32_t* hits) {
  return filter_probe_inline(words, shape, keys, coefficients, n, hits);
}

namespace {

// The eight entries of a line.
struct Slots {
  __m256i low, high;
};

Slots load(const PrintLine& line) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(line)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 4))};
}

__m256i all64(uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }

uint32_t signs(__m256i low, __m256i high) {
  const int a = _mm256_movemask_pd(_mm256_castsi256_pd(low));
  const int b = _mm256_movemask_pd(_mm256_castsi256_pd(high));
  return static_cast<uint32_t>(a | b << 4);
}

uint32_t equal(const Slots& slots, uint64_t value) {
  const __m256i wanted = all64(value);
  return signs(_mm256_cmpeq_epi64(slots.low, wanted), _mm256_cmpeq_epi64(slots.high, wanted));
}

Slots without_ordinals(const Slots& slots) {
  return {_mm256_srli_epi64(slots.low, kPrintOrdinalBits), _mm256_srli_epi64(slots.high, kPrintOrdinalBits)};
}

Slots displacements(const Slots& slots) {
  const __m256i bits = all64(kPrintBehindMost);
  const Slots shifted = without_ordinals(slots);
  return {_mm256_and_si256(shifted.low, bits), _mm256_and_si256(shifted.high, bits)};
}

// As with AVX-512: the first lines of all prints, then the second lines of those whose first one is full, and
// so on. No branch that decides how far a search goes depends on an entry.
size_t find(const PrintPlace* places, size_t n, uint32_t* rest, PrintMatch* out) {
  size_t found = 0;
  uint32_t* now = rest;
  uint32_t* next = rest + n;
  size_t left = n;
  for (uint64_t behind = 0; behind <= kPrintBehindMost && left != 0; ++behind) {
    const __m256i least = all64(behind);
    size_t on = 0;
    for (size_t x = 0; x < left; ++x) {
      const uint32_t i = behind == 0 ? static_cast<uint32_t>(x) : now[x];
      const PrintLine* at = places[i].home + behind;
      const Slots line = load(*at);
      const uint64_t wanted = (places[i].print & 0xffffffff) << 4 | behind;
      uint32_t same = equal(without_ordinals(line), wanted);
      const Slots others = displacements(line);
      const uint32_t nearer =
          signs(_mm256_cmpgt_epi64(least, others.low), _mm256_cmpgt_epi64(least, others.high));
      const size_t further = nearer == 0 && (*at)[kPrintLineEntries - 1] != 0 ? 1 : 0;
      _mm_prefetch(reinterpret_cast<const char*>(at + further), _MM_HINT_T0);
      next[on] = i;
      on += further;
      for (; same != 0; same &= same - 1) {
        out[found++] = {i, static_cast<uint32_t>((*at)[_tzcnt_u32(same)] & kPrintOrdinalMask)};
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
    const Slots slots = load(*line);
    if (own) {
      const uint64_t wanted = entry >> kPrintOrdinalBits | behind;
      same += static_cast<uint32_t>(_mm_popcnt_u32(equal(without_ordinals(slots), wanted)));
      if (same >= kPrintSameMost) return PrintPut::too_many_same;
    }
    const uint32_t free = equal(slots, 0);
    if (free != 0) {
      (*line)[_tzcnt_u32(free)] = entry | behind << kPrintOrdinalBits;
      return same + 1 == kPrintSameMost ? PrintPut::last_of_same : PrintPut::done;
    }
    const Slots others = displacements(slots);
    for (uint64_t least = 0; least < behind; ++least) {
      const uint32_t at = equal(others, least);
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
  const __m256i ordinals = all64(kPrintOrdinalMask);
  const __m256i kept = all64(~(kPrintBehindMost << kPrintOrdinalBits));
  const __m256i low = all64(taking.low);
  const __m256i live = all64(taking.live);
  const __m256i unit_next = all64(taking.unit_next);
  const __m256i lower_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  uint64_t top = at / taking.unit;
  uint64_t in_top = at % taking.unit;
  taken = 0;
  for (size_t i = 0; i < n; ++i) {
    const Slots line = load(lines[i]);
    const uint32_t used = ~equal(line, 0) & 0xff;
    const auto alive = [&](__m256i half) {
      const __m256i age = _mm256_and_si256(_mm256_sub_epi64(_mm256_and_si256(half, ordinals), low), ordinals);
      return _mm256_cmpgt_epi64(live, age);
    };
    if ((used & ~signs(alive(line.low), alive(line.high))) != 0) return i;
    const Slots behind = displacements(line);
    const __m256i base = all64(top * taking.unit_next);
    const auto home = [&](__m256i half, __m256i displacement) {
      // Where its home has the last top, the mask is -1.
      const __m256i before = _mm256_cmpgt_epi64(displacement, all64(in_top));
      const __m256i share = _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(half, 32), unit_next), 32);
      const __m256i sum =
          _mm256_sub_epi64(_mm256_add_epi64(base, share), _mm256_and_si256(before, unit_next));
      return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(sum, lower_halves));
    };
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(entries + taken), _mm256_and_si256(line.low, kept));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(entries + taken + 4), _mm256_and_si256(line.high, kept));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(homes + taken), home(line.low, behind.low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(homes + taken + 4), home(line.high, behind.high));
    const __m256i none = _mm256_setzero_si256();
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lines[i]), none);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lines[i] + 4), none);
    taken += static_cast<size_t>(_mm_popcnt_u32(used));
    if (++in_top == taking.unit) {
      in_top = 0;
      ++top;
    }
  }
  return n;
}

}  // namespace

extern const PrintLineKernels kPrintLineKernelsAvx2{find, put, take};

}  // namespace doppel
