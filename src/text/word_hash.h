#pragma once
// The hashes of words and shingles, in their plain form: this is what the vector kernels reproduce.
//
// A word is cut into blocks of 16 bytes, the last one padded with zeros (a word has no zero bytes, so
// nothing is lost), and each block is folded in by one 64x64 -> 128 bit multiplication with secret
// operands. A shingle is a sum of its words' hashes, each rotated by its place, then mixed: the words
// are independent random values for anyone without the key, so the sum is uniform, and different
// shingles meet with the chance of random values.

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

// The hash of bytes that follow what `state` stands for (0 at the beginning of a word). Everything
// but the last part of a word must be a multiple of 16 bytes.
uint64_t hash_word(const uint8_t* bytes, size_t n, const WordKeys& keys, uint64_t state = 0);

inline constexpr int kShingleRotation = 13;
// So often the sum is mixed on the way: with 64 rotations a repeated word would cancel itself out.
inline constexpr int kShingleGroup = 8;

inline uint64_t rotate_left(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

inline uint64_t hash_shingle(const uint64_t* words, int count) {
  uint64_t sum = words[0];
  for (int i = 1; i < count; ++i) {
    if (i % kShingleGroup == 0) sum = mix64(sum);
    sum = rotate_left(sum, kShingleRotation) + words[i];
  }
  return mix64(sum);
}

}  // namespace doppel
