#include "text/kernels.h"

#include <bit>
#include <cstring>

#include "base/bytes.h"

namespace doppel {

#if defined(__x86_64__)
extern const TextKernels kTextAvx2;
extern const TextKernels kTextAvx512;
#elif defined(__aarch64__)
extern const TextKernels kTextNeon;
#endif

WordKeys::WordKeys(const HashKey& key) {
  uint64_t number = 0;
  auto next = [&] {
    for (;;) {
      uint64_t secret = key.derive("word", number++);
      if (std::popcount(secret) >= 20 && std::popcount(secret) <= 44) return secret;
    }
  };
  a = next();
  b = next() | 1;
}

uint64_t hash_blocks(const uint8_t* bytes, size_t n, const WordKeys& keys, uint64_t state) {
  for (; n >= kWordBlock; bytes += kWordBlock, n -= kWordBlock) {
    state = hash_block(state, load<uint64_t>(bytes), load<uint64_t>(bytes + 8), keys);
  }
  if (n != 0) {
    uint8_t last[kWordBlock] = {};
    std::memcpy(last, bytes, n);
    state = hash_block(state, load<uint64_t>(last), load<uint64_t>(last + 8), keys);
  }
  return state;
}

namespace {

size_t copy_ascii(const uint8_t* in, size_t n, uint8_t* out) {
  size_t i = 0;
  for (; i < n && in[i] < 0x80; ++i) {
    bool upper = in[i] >= 'A' && in[i] <= 'Z';
    out[i] = static_cast<uint8_t>(in[i] + (upper ? 'a' - 'A' : 0));
  }
  return i;
}

bool in_word(uint8_t c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80; }

size_t find_edges(const uint8_t* text, size_t n, uint16_t offset, bool open, uint16_t* edges) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (in_word(text[i]) == open) continue;
    edges[count++] = static_cast<uint16_t>(offset + i);
    open = !open;
  }
  return count;
}

void hash_words(const uint8_t* text, const uint16_t* edges, size_t count, const WordKeys& keys,
                uint64_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = edges[2 * i];
    const size_t end = edges[2 * i + 1];
    out[i] = hash_word(text + begin, end - begin, keys);
  }
}

void combine(const uint64_t* hashes, size_t count, int words, uint64_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = hash_shingle(hashes + i, words);
}

constexpr TextKernels kScalar = {copy_ascii, nullptr, nullptr, find_edges, hash_words, combine};

}  // namespace

const TextKernels& text_kernels(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kTextAvx512;
  if (level == Simd::avx2) return kTextAvx2;
#elif defined(__aarch64__)
  if (level == Simd::neon) return kTextNeon;
#endif
  (void)level;
  return kScalar;
}

}  // namespace doppel
