#pragma once
// The hashes of words and shingles, in their plain form: this is what the vector kernels reproduce.
//
// A word is cut into blocks of 16 bytes, the last one padded with zeros (a word has no zero bytes, so
// nothing is lost), and each block is folded in by one 64x64 -> 128 bit multiplication with secret
// operands. For short words that is nearly a linear function, so a mixing step follows: without it,
// the sum below could let structured words (two Chinese characters, say) cancel out for every key.
//
// A shingle is a sum of its words' hashes, each rotated by its place, then mixed. For anyone without
// the key the words are independent random values, so the sum is uniform, and different shingles meet
// as rarely as random values do.

#include <cstddef>
#include <cstdint>

#include "text/hash_key.h"

namespace doppel {

// Two secret operands, chosen so that neither is close to 0 or to a power of two.
struct WordKeys {
  uint64_t a;
  uint64_t b;
  explicit WordKeys(const HashKey& key);
};

inline constexpr size_t kWordBlock = 16;

inline uint64_t hash_block(uint64_t state, uint64_t low, uint64_t high, const WordKeys& keys) {
  return fold_multiply(state ^ low ^ keys.a, high ^ keys.b);
}

// What the blocks of `bytes` make of `state` (0 at the beginning of a word). Everything but the last
// part of a word must be a multiple of 16 bytes.
uint64_t hash_blocks(const uint8_t* bytes, size_t n, const WordKeys& keys, uint64_t state);

inline constexpr uint64_t kMixFactor = 0xd6e8feb86659fd93u;
inline uint64_t mix_once(uint64_t x) {
  x ^= x >> 32;
  x *= kMixFactor;
  return x ^ x >> 32;
}

// The hash of a whole word.
inline uint64_t hash_word(const uint8_t* bytes, size_t n, const WordKeys& keys, uint64_t state = 0) {
  return mix_once(hash_blocks(bytes, n, keys, state));
}

inline constexpr int kShingleRotation = 13;
// So often the sum is mixed on the way: with 64 rotations a repeated word would cancel itself out.
inline constexpr int kShingleGroup = 8;

inline uint64_t rotate_left(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

inline uint64_t hash_shingle(const uint64_t* words, int count) {
  uint64_t sum = words[0];
  for (int i = 1; i < count; ++i) {
    if (i % kShingleGroup == 0) sum = mix_once(sum);
    sum = rotate_left(sum, kShingleRotation) + words[i];
  }
  return mix_once(sum);
}

}  // namespace doppel
