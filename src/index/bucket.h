#pragma once
// One cache line of a band table: ten entries of six bytes and a header.
//
// An entry is an ordinal (28 bits) and 19 bits of the key's hash; 16 of these stand together at the front of
// the line, where one comparison sees all ten. Buckets stand in groups of eight. An entry belongs to its home
// bucket; where that is full it stands at distance d = 1 to 5, which means in bucket home ^ d of the same
// group (d = 1 is the other half of the same 128 bytes, which the processor likes to fetch along). So groups
// are closed, and the home of every entry is known exactly, and with it the hash bits above those stored.
//
// Header: two bits for each slot (0: free, else 1 + d / 2; the lowest bit of d stands in the entry), eleven
// bits of a filter, in which entries that are at home here but stand elsewhere set the bit of their hash, and
// a flag.
//
// The functions here are static on purpose: kernels compiled for other instruction sets include them too, and
// the linker must not pick one of those for everybody.

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace doppel {

inline constexpr int kOrdinalBits = 28;
inline constexpr uint32_t kOrdinalMask = (uint32_t{1} << kOrdinalBits) - 1;
inline constexpr int kStoredBits = 19;
inline constexpr uint32_t kStoredMask = (uint32_t{1} << kStoredBits) - 1;
inline constexpr int kSlots = 10;
inline constexpr uint32_t kDistances = 6;
inline constexpr uint64_t kGroup = 8;

inline constexpr uint32_t kCodeOnes = 0x55555;  // the lower bit of each slot's code
inline constexpr int kFilterShift = 20;
inline constexpr uint32_t kFilterBits = 11;
inline constexpr uint32_t kSide = uint32_t{1} << 31;  // keys at home here have entries in the side set

struct alignas(64) Bucket {
  uint16_t hash[kSlots];  // stored bits 0 to 15
  uint32_t header;
  uint32_t entry[kSlots];  // stored bits 16 to 18, the lowest bit of the distance, the ordinal
};
static_assert(sizeof(Bucket) == 64);

static inline uint32_t code_at(uint32_t header, int slot) { return header >> (2 * slot) & 3; }
static inline uint32_t distance_at(const Bucket& bucket, int slot) {
  return (code_at(bucket.header, slot) - 1) * 2 + (bucket.entry[slot] >> kOrdinalBits & 1);
}
static inline uint32_t stored_at(const Bucket& bucket, int slot) {
  return bucket.entry[slot] >> (kOrdinalBits + 1) << 16 | bucket.hash[slot];
}
// One bit in every second place: slots that are used, or free.
static inline uint32_t used_slots(uint32_t header) { return (header | header >> 1) & kCodeOnes; }
static inline uint32_t free_slots(uint32_t header) { return used_slots(header) ^ kCodeOnes; }
// How many (without an instruction that not every processor has).
static inline uint32_t count_slots(uint32_t bits) {
  return ((bits & 0x33333) + (bits >> 2 & 0x33333)) * 0x11111 >> 16 & 0xf;
}
static inline int slot_of_bit(uint32_t bits) { return __builtin_ctz(bits) >> 1; }

// What bits 28 to 31 of an entry are for these stored bits at this distance.
static inline uint32_t entry_top(uint32_t stored, uint32_t distance) {
  return (stored >> 16 << 1 | (distance & 1)) << kOrdinalBits;
}
static inline void put(Bucket& bucket, int slot, uint32_t stored, uint32_t ordinal, uint32_t distance) {
  bucket.hash[slot] = static_cast<uint16_t>(stored);
  bucket.entry[slot] = entry_top(stored, distance) | ordinal;
  bucket.header |= (1 + distance / 2) << (2 * slot);
}
static inline void clear(Bucket& bucket, int slot) { bucket.header &= ~(uint32_t{3} << (2 * slot)); }
static inline uint32_t filter_bit(uint32_t stored) {
  return uint32_t{1} << (kFilterShift + ((stored & 0xfff) * kFilterBits >> 12));
}

// Bit i: hash[i] equals. Free slots may match by chance.
static inline uint32_t same_hash(const Bucket& bucket, uint32_t stored) {
  const auto hash = static_cast<uint16_t>(stored);
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(hash));
  const auto* p = reinterpret_cast<const __m128i*>(bucket.hash);
  const __m128i low = _mm_cmpeq_epi16(_mm_load_si128(p), wanted);
  const __m128i high = _mm_cmpeq_epi16(_mm_load_si128(p + 1), wanted);  // two hashes, then other things
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high))) & 0x3ff;
#else
  uint32_t bits = 0;
  for (int i = 0; i < kSlots; ++i) bits |= static_cast<uint32_t>(bucket.hash[i] == hash) << i;
  return bits;
#endif
}

// How keys are laid out over buckets: the top `bits` bits of the hash, times the number of buckets. The order
// of buckets is the order of hashes, whatever their number.
struct Layout {
  uint64_t buckets = 0;
  int bits =
      kStoredBits;  // stored bits + those that the position must tell: 2^(bits - kStoredBits) <= buckets

  // Few tables pass a step of these bits: then entries are hashed anew.
  static Layout of(uint64_t buckets) {
    const int known = buckets >= uint64_t{1} << 17 ? 16 : buckets >= uint64_t{1} << 9 ? 8 : 0;
    return {buckets, kStoredBits + known};
  }
  // More entries than this are too many.
  uint64_t limit() const { return buckets * kSlots * 88 / 100; }

  uint64_t top(uint64_t h) const { return h >> (64 - bits); }
  uint64_t home_of_top(uint64_t top) const { return top * buckets >> bits; }
  uint64_t home(uint64_t h) const { return home_of_top(top(h)); }
  uint32_t stored(uint64_t h) const { return static_cast<uint32_t>(top(h)) & kStoredMask; }
  // The least top whose home is `bucket`, also for bucket == buckets.
  uint64_t first_top(uint64_t bucket) const { return ((bucket << bits) + buckets - 1) / buckets; }
  // The top of an entry from its home and its stored bits.
  static uint64_t top_from(uint64_t first_top, uint32_t stored) {
    return first_top + ((stored - static_cast<uint32_t>(first_top)) & kStoredMask);
  }
};

// Which ordinals stand for numbers that are not expired.
struct Window {
  uint32_t low = 0;  // ordinal of the lowest
  uint32_t size = 0;
  bool contains(uint32_t ordinal) const { return ((ordinal - low) & kOrdinalMask) < size; }
};

}  // namespace doppel
