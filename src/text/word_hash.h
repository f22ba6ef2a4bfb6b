#pragma once
// The hashes of words and shingles in their plain form, which the vector kernels reproduce.
//
// A word is cut into blocks of 16 bytes. The last block is padded with zeros (a word has no zero bytes, so
// different words stay different). Each block is folded in by one 64x64 -> 128 bit multiplication with secret
// operands. For short words that is nearly a linear function, so a mixing step follows. Without it, the
// hashes of structured words (two Chinese characters, for example) could cancel out in the sum below for
// every key.
//
// A shingle's hash is the mixed sum of its words' hashes, each rotated by its position. To anyone without the
// key, the words' hashes are independent random values, so the sum is uniform, and different shingles collide
// as rarely as random values.

#include <cstddef>
#include <cstdint>

#include "text/hash_key.h"

namespace doppel {

// Two secret operands. Neither is close to 0 or to a power of two.
struct WordKeys {
  uint64_t a;
  uint64_t b;
  explicit WordKeys(const HashKey& key);
};

inline constexpr size_t kWordBlock = 16;

inline uint64_t hash_block(uint64_t state, uint64_t low, uint64_t high, const WordKeys& keys) {
  return fold_multiply(state ^ low ^ keys.a, high ^ keys.b);
}

// Folds the blocks of `bytes` into `state` (0 at the start of a word). Only the last call for a word may pass
// a size that is not a multiple of 16.
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
// The sum is also mixed after each group of words: over 64 rotations a repeated word could cancel itself out.
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
