// The scalar form of each kernel, and which form a processor gets.

#include <bit>
#include <cstring>

#include "index/compare.h"
#include "index/line_kernels.h"

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

uint32_t standing_in(const Block& block, uint8_t number, Standing* out) {
  uint32_t n = 0;
  for (uint32_t home = 0; home < kHomes; ++home) {
    const Line& line = block.line[home];
    for (uint32_t slot = 0; slot < home_count(line); ++slot)
      out[n++] = {ordinal_at(line, slot), line.hash[slot], number, static_cast<uint8_t>(home)};
  }
  const Line& overflow = block.line[kHomes];
  for (uint32_t slot = 0; slot < overflow_count(overflow); ++slot)
    out[n++] = {ordinal_at(overflow, slot), overflow.hash[slot], number,
                static_cast<uint8_t>(overflow_home(overflow, slot))};
  return n;
}

void rebuild_group_scalar(Rebuild& r) {
  Standing entries[kGroupSlots];
  uint32_t n = 0;
  for (uint32_t j = 0; j < r.blocks; ++j) {
    n += standing_in(*r.block[j], static_cast<uint8_t>(j), entries + n);
    std::memset(static_cast<void*>(r.block[j]), 0, sizeof(Block));
  }
  uint32_t first[kBlocksMost];
  for (uint32_t j = 0; j < r.blocks; ++j) first[j] = TableLayout::first_of_block(j, r.blocks, r.free);
  for (uint32_t i = 0; i < n; ++i) {
    const Standing& e = entries[i];
    if (!r.window.contains(e.ordinal)) {
      ++r.dropped;
      continue;
    }
    const uint32_t to = r.free_bits(e.stored, first[e.block]) * r.blocks_next >> r.free;
    r.moved += to != e.block ? 1 : 0;
    Line& home = r.block[to]->line[e.home];
    Line& overflow = r.block[to]->line[kHomes];
    if (home_count(home) < kSlots) {
      put_in_home(home, e.stored, e.ordinal);
    } else if (overflow_count(overflow) < kOverflowSlots) {
      put_in_overflow(home, overflow, e.stored, e.ordinal);
    } else {
      r.loose_entries[r.loose++] = {&home, e.stored, e.ordinal};
    }
  }
}

RebuildGroup rebuild_group_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return rebuild_group_avx512;
#endif
  (void)level;
  return rebuild_group_scalar;
}

int equal_bits_scalar(const uint8_t* a, const uint8_t* b, int k, uint64_t* bits) {
  int equal = 0;
  for (int base = 0; base < k; base += 64) {
    uint64_t word = 0;
    for (int i = 0; i < 64 && base + i < k; ++i) {
      word |= static_cast<uint64_t>(a[base + i] == b[base + i]) << i;
    }
    bits[base / 64] = word;
    equal += std::popcount(word);
  }
  return equal;
}

EqualBits equal_bits_for(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return equal_bits_avx512;
  if (level == Simd::avx2) return equal_bits_avx2;
#elif defined(__aarch64__)
  if (level == Simd::neon) return equal_bits_neon;
#endif
  (void)level;
  return equal_bits_scalar;
}

}  // namespace doppel
