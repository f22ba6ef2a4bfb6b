#include "text/hash_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace doppel {

uint64_t HashKey::derive(std::string_view purpose, uint64_t number) const {
  XXH128_hash_t inner = XXH3_128bits_withSeed(purpose.data(), purpose.size(), low);
  const uint64_t block[6] = {low, inner.low64, high, inner.high64, number, low ^ (high << 1 | high >> 63)};
  return XXH3_64bits_withSeed(block, sizeof block, high);
}

}  // namespace doppel
