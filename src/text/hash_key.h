#pragma once
// The 128-bit secret that keys every hash of a document. If the hash were public, anyone could craft
// unrelated documents that collide.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace doppel {

struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const HashKey&) const = default;

  // Returns an independent 64-bit value for each purpose and number, for example derive("band", 7). The
  // values must never change: stored data depends on them.
  uint64_t derive(std::string_view purpose, uint64_t number = 0) const;
};

// A 64-bit permutation in which every input bit reaches every output bit (two multiplications).
inline uint64_t mix64(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return x;
}

// Multiplies 64x64 -> 128 bits and xors the two halves: mixes two words with one multiplication.
inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The key of an index in memory that has no key of its own. It is fixed so that runs are reproducible.
inline constexpr HashKey kPublicHashKey{0x646f7070656c2d30, 0x7075626c69636b65};

// The keyed 128-bit digest of a document's text before normalisation. Documents with equal digests are
// `exact` duplicates.
class ByteReader;

struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Digest&) const = default;
};

void put_digest(std::string& out, const Digest& digest);
Digest take_digest(ByteReader& in);

// Immutable after construction; threads may share it.
class Digester {
 public:
  explicit Digester(const HashKey& key);

  Digest digest(std::string_view text) const;

  // Computes the same digest from pieces of the text.
  class Stream {
   public:
    explicit Stream(const Digester& digester);
    ~Stream();
    Stream(Stream&&) noexcept;
    void update(std::string_view piece);
    Digest finish();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  friend class Stream;
  alignas(64) unsigned char secret_[192];
};

}  // namespace doppel
