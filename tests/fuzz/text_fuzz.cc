// Any bytes, cut anywhere, on every SIMD level: the shingles must be those of the words that split_words()
// finds. The first two bytes of the input choose the size of shingles and of pieces.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/simd.h"
#include "text/shingler.h"
#include "text/word_hash.h"
#include "text/words.h"

namespace {

using doppel::PodVector;
using Hashes = PodVector<uint64_t>;
constexpr doppel::HashKey kKey{3, 4};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Hashes expected(std::string_view text, int size) {
  const doppel::WordKeys keys(kKey);
  Hashes words;
  Hashes shingles;
  size_t at = 0;
  for (const doppel::WordSpan& word : doppel::split_words(text)) {
    require(word.begin < word.end && word.end <= text.size() && word.begin >= at, "a span is wrong");
    at = word.begin;
    words.push_back(
        doppel::hash_word(reinterpret_cast<const uint8_t*>(word.text.data()), word.text.size(), keys));
  }
  for (size_t i = 0; i + static_cast<size_t>(size) <= words.size(); ++i) {
    shingles.push_back(doppel::hash_shingle(&words[i], size));
  }
  return shingles;
}

Hashes shingled(std::string_view text, int size, size_t piece) {
  doppel::Shingler shingler(kKey, size);
  Hashes out;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    shingler.update(text.substr(0, piece), out);
  shingler.finish(out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const int words = 1 + data[0] % 64;
  const size_t piece = 1 + data[1];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Hashes want = expected(text, words);
  for (doppel::Simd level : doppel::simd_levels()) {
    doppel::force_simd(level);
    require(shingled(text, words, text.size() + 1) == want, "whole");
    require(shingled(text, words, piece) == want, "in pieces");
  }
  return 0;
}
