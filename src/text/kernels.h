#pragma once
// The inner loops of the shingler, in one form per instruction set. All forms give the same bits; the
// scalar ones in kernels.cc say what is meant.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "text/word_hash.h"

namespace doppel {

// How far a kernel may read or write past the end of what it was asked for.
inline constexpr size_t kKernelSlack = 64;
// Room for slack in arrays of word edges and word hashes, in elements.
inline constexpr size_t kEdgeSlack = 64;
inline constexpr size_t kHashSlack = 16;

struct TextKernels {
  // Copies the ASCII characters at the beginning of in[0..n), letters in lower case, and returns how
  // many they are. Writes up to kKernelSlack bytes more than that.
  size_t (*copy_ascii)(const uint8_t* in, size_t n, uint8_t* out);

  // The same, but goes on over letters of two bytes that normalise to themselves, too: most of what
  // Cyrillic, Greek, Hebrew or Arabic text consists of. Null where it would not be faster.
  size_t (*copy_letters)(const uint8_t* in, size_t n, uint8_t* out);

  // Copies the Han, Hiragana and Katakana characters of three bytes at the beginning of in[0..n) that
  // normalise to themselves, a space before each, as long as that fits into `room` bytes; returns how
  // many they are. May stop earlier than it must. Null where it would not be faster.
  size_t (*copy_singles)(const uint8_t* in, size_t n, uint8_t* out, size_t room);

  // Finds where words begin and end in normalised text: the bytes [a-z0-9_] and those >= 0x80 belong
  // to words. Stores `offset` + position of each change, given whether a word is open before text[0],
  // and returns their number. Reads up to kKernelSlack bytes past the end, stores up to kEdgeSlack more.
  size_t (*find_edges)(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges);

  // Hashes the words [edges[2i], edges[2i+1]) of `text`. Reads up to 16 bytes past a word's end;
  // writes up to kHashSlack hashes too many.
  void (*hash_words)(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                     uint64_t* out);

  // out[i] = the hash of the shingle of `words` words at hashes[i], for i < count. Reads up to
  // kHashSlack hashes past the last; writes exactly count.
  void (*combine)(const uint64_t* hashes, size_t count, int words, uint64_t* out);
};

// The kernels of one level, which must be supported.
const TextKernels& text_kernels(Simd level);

}  // namespace doppel
