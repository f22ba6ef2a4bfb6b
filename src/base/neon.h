#pragma once
// Turns lanes that a comparison set into bits, lane 0 first. For kernels in files named *_neon.cc, and for
// processors that always have NEON.

#include <arm_neon.h>

#include <cstdint>

namespace doppel {
namespace {

constexpr uint8_t kLaneBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

// `lanes` are 0x00 or 0xff.
[[maybe_unused]] inline uint32_t bits_of(uint8x8_t lanes) {
  return vaddv_u8(vand_u8(lanes, vld1_u8(kLaneBits)));
}

// The bits of 64 lanes.
[[maybe_unused]] inline uint64_t bits_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  const uint8x16_t bits = vld1q_u8(kLaneBits);
  const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
  const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
  const uint8x16_t all = vpaddq_u8(ab, cd);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

}  // namespace
}  // namespace doppel
