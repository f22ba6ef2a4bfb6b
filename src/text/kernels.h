#pragma once
// The inner loops of the shingler, in one form for each instruction set. All forms give the same bits; the
// scalar forms in kernels.cc are the reference.

#include <cstddef>
#include <cstdint>

#include "base/simd.h"
#include "text/word_hash.h"

namespace doppel {

// How far a kernel may read or write past the end of its arguments.
inline constexpr size_t kKernelSlack = 64;
// The same for arrays of word edges and word hashes, in elements.
inline constexpr size_t kEdgeSlack = 64;
inline constexpr size_t kHashSlack = 16;

struct TextKernels {
  // Copies the ASCII characters at the beginning of in[0..n), with letters in lower case. Returns their
  // number. May write up to kKernelSlack bytes more.
  size_t (*copy_ascii)(const uint8_t* in, size_t n, uint8_t* out);

  // The same, but also copies two-byte letters that normalise to themselves: most of Cyrillic, Greek, Hebrew
  // and Arabic text. Null if it would not be faster.
  size_t (*copy_letters)(const uint8_t* in, size_t n, uint8_t* out);

  // Copies the three-byte Han, Hiragana and Katakana characters at the beginning of in[0..n) that normalise
  // to themselves, each after a space, as long as they fit into `room` bytes. Returns their number. May stop
  // early. Null if it would not be faster.
  size_t (*copy_singles)(const uint8_t* in, size_t n, uint8_t* out, size_t room);

  // Finds the edges of words in normalised text. The bytes [a-z0-9_] and bytes >= 0x80 belong to words;
  // `open` says whether a word is open before text[0]. Stores `offset` + position of each edge and returns
  // the number of edges. Reads up to kKernelSlack bytes past the end and stores up to kEdgeSlack elements
  // more.
  size_t (*find_edges)(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges);

  // Hashes the words [edges[2i], edges[2i+1]) of `text`. Reads up to 16 bytes past a word's end; writes up to
  // kHashSlack hashes more.
  void (*hash_words)(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                     uint64_t* out);

  // out[i] = the hash of the shingle of `words` words that starts at hashes[i], for i < count. Reads up to
  // kHashSlack hashes past the last one; writes exactly count.
  void (*combine)(const uint64_t* hashes, size_t count, int words, uint64_t* out);
};

// Returns the kernels of one level, which the processor must support.
const TextKernels& text_kernels(Simd level);

}  // namespace doppel
