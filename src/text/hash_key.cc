#include "text/hash_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "base/bytes.h"

namespace doppel {

uint64_t HashKey::derive(std::string_view purpose, uint64_t number) const {
  XXH128_hash_t inner = XXH3_128bits_withSeed(purpose.data(), purpose.size(), low);
  const uint64_t block[6] = {low, inner.low64, high, inner.high64, number, low ^ (high << 1 | high >> 63)};
  return XXH3_64bits_withSeed(block, sizeof block, high);
}

void put_digest(std::string& out, const Digest& digest) {
  put_fixed<uint64_t>(out, digest.low);
  put_fixed<uint64_t>(out, digest.high);
}

Digest take_digest(ByteReader& in) {
  Digest out;
  out.low = in.fixed<uint64_t>();
  out.high = in.fixed<uint64_t>();
  return out;
}

Digester::Digester(const HashKey& key) {
  for (uint64_t i = 0; i < sizeof secret_ / 8; ++i) store(secret_ + 8 * i, key.derive("digest", i));
}

// With a seed, XXH3 uses its 192 secret bytes only for inputs above 240 bytes, so the form with a secret is
// used for all lengths.
Digest Digester::digest(std::string_view text) const {
  XXH128_hash_t h = XXH3_128bits_withSecret(text.data(), text.size(), secret_, sizeof secret_);
  return {h.low64, h.high64};
}

// xxHash keeps a pointer to the secret until the end. The stream has its own copy, so that it may outlive its
// Digester.
struct Digester::Stream::State {
  XXH3_state_t xxh;
  alignas(64) unsigned char secret[sizeof Digester::secret_];
};

Digester::Stream::Stream(const Digester& digester) : state_(new State) {
  XXH3_INITSTATE(&state_->xxh);
  memcpy(state_->secret, digester.secret_, sizeof state_->secret);
  XXH3_128bits_reset_withSecret(&state_->xxh, state_->secret, sizeof state_->secret);
}
Digester::Stream::~Stream() = default;
Digester::Stream::Stream(Stream&&) noexcept = default;

void Digester::Stream::update(std::string_view piece) {
  XXH3_128bits_update(&state_->xxh, piece.data(), piece.size());
}
Digest Digester::Stream::finish() {
  XXH128_hash_t h = XXH3_128bits_digest(&state_->xxh);
  return {h.low64, h.high64};
}

}  // namespace doppel
