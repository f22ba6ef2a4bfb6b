// The kernels of index/ with AVX-512.

// g++ 12 warns about uninitialised values inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "index/line_kernels.h"
#include "index/print_lines.h"

namespace doppel {

int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits);

int equal_bits_avx512(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int64_t equal = 0;
  for (int base = 0; base < k; base += 64) {
    const __mmask64 lanes =
        k - base < 64 ? _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(k - base)) : ~uint64_t{0};
    const __m512i x = _mm512_maskz_loadu_epi8(lanes, a + base);
    const __m512i y = _mm512_maskz_loadu_epi8(lanes, b + base);
    const uint64_t word = _mm512_mask_cmpeq_epi8_mask(lanes, x, y);
    bits[base / 64] = word;
    equal += _mm_popcnt_u64(word);
  }
  return static_cast<int>(equal);
}

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

namespace {

// Up to sixteen entries, in 32-bit lanes; lanes from `count` on are zero.
struct Lanes {
  __m512i ordinals;
  __m512i stored;
  uint32_t count;
};

__m512i all32(uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); }

// Loads eleven entries; the other lanes are undefined.
Lanes load_line(const Line& line) {
  const auto* p = reinterpret_cast<const uint8_t*>(&line);
  const auto* low = reinterpret_cast<const __m256i*>(p + offsetof(Line, low));
  const auto* middle = reinterpret_cast<const __m128i*>(p + offsetof(Line, middle));
  long long high = 0;
  std::memcpy(&high, p + offsetof(Line, high), sizeof high);
  const __m512i half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const __m512i shift = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512i nibbles = _mm512_and_si512(
      _mm512_srlv_epi32(_mm512_permutexvar_epi32(half, _mm512_set1_epi64(high)), shift), all32(15));
  const __m512i upper = _mm512_or_si512(_mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128(middle)), 16),
                                        _mm512_slli_epi32(nibbles, 24));
  return {_mm512_or_si512(_mm512_cvtepu16_epi32(_mm256_loadu_si256(low)), upper),
          _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), kSlots};
}

// Stores the whole line, with an empty filter. Each store also writes bytes that the next ones overwrite.
void store_line(Line& line, __m512i ordinals, __m512i stored, uint32_t count) {
  auto* p = reinterpret_cast<uint8_t*>(&line);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(stored));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + offsetof(Line, low)), _mm512_cvtepi32_epi16(ordinals));
  const __m128i middle = _mm512_cvtepi32_epi8(_mm512_srli_epi32(ordinals, 16));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + offsetof(Line, middle)), middle);
  const __m128i top = _mm512_cvtepi32_epi8(_mm512_srli_epi32(ordinals, 24));
  constexpr uint64_t kNibbles = 0x0f0f0f0f0f0f0f0f;
  const uint64_t nibbles = _pext_u64(static_cast<uint64_t>(_mm_cvtsi128_si64(top)), kNibbles) |
                           _pext_u64(static_cast<uint64_t>(_mm_extract_epi64(top, 1)), kNibbles) << 32;
  const uint64_t last = nibbles << 24 | (static_cast<uint64_t>(_mm_extract_epi64(middle, 1)) & 0xffffff);
  std::memcpy(p + offsetof(Line, high) - 3, &last, sizeof last);
  line.tail = static_cast<uint32_t>(nibbles >> 40) | count << 4;
}

struct Spilled {
  uint8_t block;
  uint8_t home;
  uint16_t stored;
  uint32_t ordinal;
};

}  // namespace

// Goes through the blocks home by home: keeps the entries that stay in a line, and appends those that move
// from the previous block. Entries that do not fit, and those of overflow lines, are placed after all homes.
void rebuild_group_avx512(Rebuild& r) {
  Spilled spilled[kGroupSlots];
  uint32_t spills = 0;
  const __m512i blocks = all32(r.blocks_next);
  const __m512i origin = all32(r.origin);
  uint32_t firsts[kBlocksMost];
  for (uint32_t j = 0; j < r.blocks; ++j) firsts[j] = TableLayout::first_of_block(j, r.blocks, r.free);
  for (uint32_t i = 0; i < kHomes; ++i) {
    Lanes coming{_mm512_setzero_si512(), _mm512_setzero_si512(), 0};
    for (uint32_t j = 0; j < r.blocks_next; ++j) {
      Line& line = r.block[j]->line[i];
      __m512i ordinals = _mm512_setzero_si512();
      __m512i stored = ordinals;
      Lanes moving{ordinals, ordinals, 0};
      uint32_t staying = 0;
      if (j < r.blocks) {
        const Lanes here = load_line(line);
        const uint32_t all = (uint32_t{1} << home_count(line)) - 1;
        const __m512i age =
            _mm512_and_si512(_mm512_sub_epi32(here.ordinals, all32(r.window.low)), all32(kOrdinalMask));
        const uint32_t valid =
            _mm512_mask_cmplt_epu32_mask(static_cast<__mmask16>(all), age, all32(r.window.size));
        const __m512i first = all32(firsts[j]);
        const __m512i beyond = _mm512_sub_epi32(_mm512_sub_epi32(here.stored, origin), first);
        const __m512i free = _mm512_add_epi32(_mm512_and_si512(beyond, all32(kStoredMask)), first);
        const uint32_t moves = _mm512_mask_cmpge_epu32_mask(
            static_cast<__mmask16>(valid), _mm512_mullo_epi32(free, blocks), all32((j + 1) << r.free));
        const auto move = static_cast<__mmask16>(moves);
        const auto stay = static_cast<__mmask16>(valid & ~moves);
        moving = {_mm512_maskz_compress_epi32(move, here.ordinals),
                  _mm512_maskz_compress_epi32(move, here.stored),
                  static_cast<uint32_t>(_mm_popcnt_u32(moves))};
        ordinals = _mm512_maskz_compress_epi32(stay, here.ordinals);
        stored = _mm512_maskz_compress_epi32(stay, here.stored);
        staying = static_cast<uint32_t>(_mm_popcnt_u32(valid)) - moving.count;
        r.dropped += static_cast<uint32_t>(_mm_popcnt_u32(all & ~valid));
      }
      const uint32_t room = kSlots - staying;
      const uint32_t fitting = coming.count < room ? coming.count : room;
      const auto into = static_cast<__mmask16>(((uint32_t{1} << fitting) - 1) << staying);
      ordinals = _mm512_or_si512(ordinals, _mm512_maskz_expand_epi32(into, coming.ordinals));
      stored = _mm512_or_si512(stored, _mm512_maskz_expand_epi32(into, coming.stored));
      store_line(line, ordinals, stored, staying + fitting);
      if (fitting < coming.count) {
        alignas(64) uint32_t rest[2][16];
        _mm512_store_si512(rest[0], coming.ordinals);
        _mm512_store_si512(rest[1], coming.stored);
        for (uint32_t x = fitting; x < coming.count; ++x)
          spilled[spills++] = {static_cast<uint8_t>(j), static_cast<uint8_t>(i),
                               static_cast<uint16_t>(rest[1][x]), rest[0][x]};
      }
      r.moved += moving.count;
      coming = moving;
    }
  }
  for (uint32_t j = 0; j < r.blocks; ++j) {
    Line& overflow = r.block[j]->line[kHomes];
    const uint32_t count = overflow_count(overflow);
    const uint32_t first = firsts[j];
    for (uint32_t slot = 0; slot < count; ++slot) {
      const uint32_t stored = overflow.hash[slot];
      const uint32_t ordinal = ordinal_at(overflow, slot);
      if (!r.window.contains(ordinal)) {
        ++r.dropped;
        continue;
      }
      const uint32_t to = r.free_bits(stored, first) * r.blocks_next >> r.free;
      r.moved += to != j ? 1 : 0;
      spilled[spills++] = {static_cast<uint8_t>(to), static_cast<uint8_t>(overflow_home(overflow, slot)),
                           static_cast<uint16_t>(stored), ordinal};
    }
    overflow = Line{};
  }
  for (uint32_t x = 0; x < spills; ++x) {
    const Spilled& s = spilled[x];
    Line& home = r.block[s.block]->line[s.home];
    Line& overflow = r.block[s.block]->line[kHomes];
    if (home_count(home) < kSlots) {
      put_in_home(home, s.stored, s.ordinal);
    } else if (overflow_count(overflow) < kOverflowSlots) {
      put_in_overflow(home, overflow, s.stored, s.ordinal);
    } else {
      r.loose_entries[r.loose++] = {&home, s.stored, s.ordinal};
    }
  }
}

namespace {

struct Slots {
  explicit Slots(const PrintLine& line)
      : entries(_mm512_loadu_si512(line)),
        without(_mm512_srli_epi64(entries, kPrintOrdinalBits)),
        displacements(_mm512_and_si512(without, all64(kPrintBehindMost))) {}
  uint32_t equal(uint64_t value) const { return _mm512_cmpeq_epi64_mask(without, all64(value)); }
  uint32_t behind(uint64_t lines) const { return _mm512_cmpeq_epi64_mask(displacements, all64(lines)); }
  uint32_t nearer(uint64_t lines) const { return _mm512_cmplt_epu64_mask(displacements, all64(lines)); }
  uint32_t free() const { return _mm512_testn_epi64_mask(entries, entries); }
  uint32_t expired(uint64_t low, uint64_t live) const {
    const __m512i ordinals = all64(kPrintOrdinalMask);
    const __m512i age = _mm512_sub_epi64(_mm512_and_si512(entries, ordinals), all64(low));
    return _mm512_cmpge_epu64_mask(_mm512_and_si512(age, ordinals), all64(live));
  }
  void copy(uint64_t base, uint64_t in_top, uint64_t unit_next, uint64_t* to, uint32_t* homes) const {
    _mm512_storeu_si512(to, _mm512_and_si512(entries, all64(~(kPrintBehindMost << kPrintOrdinalBits))));
    const __mmask8 before = _mm512_cmpgt_epu64_mask(displacements, all64(in_top));
    const __m512i first = _mm512_mask_sub_epi64(all64(base), before, all64(base), all64(unit_next));
    const __m512i share =
        _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(entries, 32), all64(unit_next)), 32);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(homes),
                        _mm512_cvtepi64_epi32(_mm512_add_epi64(first, share)));
  }

  __m512i entries, without, displacements;
};

}  // namespace

extern const PrintLineKernels kPrintLineKernelsAvx512{find_in_lines<Slots>, put_in_lines<Slots>,
                                                      take_from_lines<Slots>};

}  // namespace doppel
