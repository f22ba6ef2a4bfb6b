#pragma once
// SHA-1 (RFC 3174), because archives name payloads by it. It proves nothing about who made them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace doppel {

class Sha1 {
 public:
  using Digest = std::array<uint8_t, 20>;
  void update(std::string_view bytes);
  // Nothing follows it.
  Digest finish();

 private:
  void blocks(const uint8_t* bytes, size_t count);

  std::array<uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<uint8_t, 64> open_{};
  uint64_t bytes_ = 0;
};

}  // namespace doppel
