#pragma once
// Checksums of files and records.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace doppel {

// CRC32C (Castagnoli), with the processor's instruction if it has one, otherwise with a table.
uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

// SHA-1 (RFC 3174): web archives identify payloads by it. It gives no security against forgery.
class Sha1 {
 public:
  using Digest = std::array<uint8_t, 20>;
  void update(std::string_view bytes);
  // The last call on this object.
  Digest finish();

 private:
  void blocks(const uint8_t* bytes, size_t count);

  std::array<uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<uint8_t, 64> open_{};
  uint64_t bytes_ = 0;
};

// SHA-256 (RFC 6234): WACZ files name their parts by it.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;
  void update(std::string_view bytes);
  // The last call on this object.
  Digest finish();

 private:
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> open_{};
  uint64_t bytes_ = 0;
};

}  // namespace doppel
