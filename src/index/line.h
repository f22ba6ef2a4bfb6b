#pragma once
// A cache line of a table: eleven entries, each with 16 bits of the key's hash and a 28-bit ordinal.
//
// Lines form blocks of eight: seven homes and one shared overflow line. A home contains only entries that
// belong to it, in order of arrival; a search stops at its count. An entry whose home is full goes to the
// overflow line, with the number of its home. If that is full too, the entry goes to the side set. The home's
// filter has a bit for every entry that belongs to it and is elsewhere.
//
// The last word of a home: 4 bits of the last ordinal, 4 bits of count, 24 bits of filter. The last word of
// an overflow line: for each of ten entries 3 bits with 1 + its home (0: free), and a flag that says whether
// the side set has more. So a block of zeros is empty.
//
// The functions are static, because kernels for other instruction sets include them too, and the linker must
// not choose one of those copies for all processors.

#include <cstddef>
#include <cstdint>

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include "base/neon.h"
#endif

namespace doppel {

inline constexpr int kOrdinalBits = 28;
inline constexpr uint32_t kOrdinalMask = (uint32_t{1} << kOrdinalBits) - 1;
inline constexpr int kStoredBits = 16;
inline constexpr uint32_t kStoredMask = (uint32_t{1} << kStoredBits) - 1;

inline constexpr uint32_t kSlots = 11;          // of a home
inline constexpr uint32_t kOverflowSlots = 10;  // of an overflow line
inline constexpr uint32_t kHomes = 7;           // of a block
inline constexpr uint32_t kBlockLines = kHomes + 1;
inline constexpr uint32_t kBlockSlots = kHomes * kSlots + kOverflowSlots;

inline constexpr uint32_t kFilterShift = 8;
inline constexpr uint32_t kFilterBits = 24;
inline constexpr uint32_t kAside = uint32_t{1}
                                   << 30;  // flag of an overflow line: the side set has more entries

inline constexpr uint32_t kSameMax = 4;  // equal hashes that a line may hold; more go to the side set

struct alignas(64) Line {
  uint16_t hash[kSlots];
  uint16_t low[kSlots];    // bits 0 to 15 of the ordinals
  uint8_t middle[kSlots];  // bits 16 to 23
  uint8_t high[5];         // bits 24 to 27, two ordinals in a byte; `tail` has the bits of the eleventh
  uint32_t tail;
};
static_assert(sizeof(Line) == 64 && offsetof(Line, tail) == 60 && offsetof(Line, high) == 55);

struct alignas(512) Block {  // so that a line's index in its block follows from its address
  Line line[kBlockLines];
};
static_assert(sizeof(Block) == 512);

static inline uint32_t home_count(const Line& home) { return home.tail >> 4 & 15; }
// Counts the nonzero ones of the ten fields of three bits; they are filled from the first.
static inline uint32_t overflow_count(const Line& line) {
  const uint32_t t = line.tail;
  const uint32_t free = ~(t | t >> 1 | t >> 2) & 0x09249249;
  return free == 0 ? kOverflowSlots : static_cast<uint32_t>(__builtin_ctz(free)) * 11 >> 5;  // a third of it
}
static inline uint32_t overflow_home(const Line& line, uint32_t slot) {
  return (line.tail >> (3 * slot) & 7) - 1;
}
static inline uint32_t filter_bit(uint32_t stored) {
  return uint32_t{1} << (kFilterShift + ((stored & 0xff) * kFilterBits >> 8));
}

static inline uint32_t ordinal_at(const Line& line, uint32_t slot) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&line);
  const uint32_t high = bytes[offsetof(Line, high) + slot / 2] >> (4 * (slot & 1)) & 15;
  return line.low[slot] | uint32_t{line.middle[slot]} << 16 | high << 24;
}
// All bits of the slot must be zero.
static inline void set_entry(Line& line, uint32_t slot, uint32_t stored, uint32_t ordinal) {
  line.hash[slot] = static_cast<uint16_t>(stored);
  line.low[slot] = static_cast<uint16_t>(ordinal);
  line.middle[slot] = static_cast<uint8_t>(ordinal >> 16);
  auto* bytes = reinterpret_cast<uint8_t*>(&line);
  bytes[offsetof(Line, high) + slot / 2] |= static_cast<uint8_t>((ordinal >> 24) << (4 * (slot & 1)));
}

// The index of a home in its block, and the block's overflow line, from the home's address.
static inline uint32_t home_number(const Line* home) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(home) / sizeof(Line)) % kBlockLines;
}
static inline Line* overflow_of(Line* home) { return home + (kHomes - home_number(home)); }
static inline const Line* overflow_of(const Line* home) { return home + (kHomes - home_number(home)); }

// These append to a line that is not full.
static inline void put_in_home(Line& home, uint32_t stored, uint32_t ordinal) {
  set_entry(home, home_count(home), stored, ordinal);
  home.tail += 16;
}
static inline void put_in_overflow(Line& home, Line& overflow, uint32_t stored, uint32_t ordinal) {
  const uint32_t slot = overflow_count(overflow);
  set_entry(overflow, slot, stored, ordinal);
  overflow.tail |= (home_number(&home) + 1) << (3 * slot);
  home.tail |= filter_bit(stored);
}

// Sets bit i if hash[i] equals `stored`, for the first `count` entries.
static inline uint32_t same_hash(const Line& line, uint32_t stored, uint32_t count) {
  const uint32_t used = (uint32_t{1} << count) - 1;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m256i hashes =
      _mm256_load_si256(reinterpret_cast<const __m256i*>(&line));  // the load includes other members
  return _mm256_cmpeq_epi16_mask(hashes, _mm256_set1_epi16(static_cast<short>(stored))) & used;
#elif defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(stored));
  const auto* p = reinterpret_cast<const __m128i*>(&line);
  const __m128i first = _mm_cmpeq_epi16(_mm_load_si128(p), wanted);
  const __m128i last = _mm_cmpeq_epi16(_mm_load_si128(p + 1), wanted);  // three hashes, then other members
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(first, last))) & used;
#elif defined(__aarch64__)
  const uint16x8_t wanted = vdupq_n_u16(static_cast<uint16_t>(stored));
  const auto* p = reinterpret_cast<const uint16_t*>(&line);
  const uint16x8_t first = vceqq_u16(vld1q_u16(p), wanted);
  const uint16x8_t last = vceqq_u16(vld1q_u16(p + 8), wanted);  // three hashes, then other members
  return (bits_of(vmovn_u16(first)) | bits_of(vmovn_u16(last)) << 8) & used;
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kSlots; ++i)
    bits |= static_cast<uint32_t>(line.hash[i] == static_cast<uint16_t>(stored)) << i;
  return bits & used;
#endif
}
// Counts the ones of eleven bits, without an instruction that some processors lack.
static inline uint32_t count_bits(uint32_t bits) {
#if defined(__POPCNT__)
  return static_cast<uint32_t>(__builtin_popcount(bits));
#else
  bits -= bits >> 1 & 0x555;
  bits = (bits & 0x333) + (bits >> 2 & 0x333);
  return (bits + (bits >> 4) + (bits >> 8)) & 15;
#endif
}

// The ordinals of numbers that have not expired.
struct OrdinalWindow {
  uint32_t low = 0;  // ordinal of the lowest number
  uint32_t size = 0;
  bool contains(uint32_t ordinal) const { return ((ordinal - low) & kOrdinalMask) < size; }
};

}  // namespace doppel
