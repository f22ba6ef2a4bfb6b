#pragma once
// The textbook way to a MinHash signature, for comparison: every word 5-gram becomes a string, the string a
// SHA-1, the first 32 bits of that h; slot i holds the least (a_i * h + b_i) mod (2^61 - 1), cut to 32 bits.
// This is what most libraries compute, in plain C++ without any of their per-call costs.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace doppel::reference {

inline std::array<uint32_t, 5> sha1(std::string_view message) {
  std::array<uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  auto block = [&state](const unsigned char* bytes) {
    uint32_t w[80];
    for (int i = 0; i < 16; ++i) {
      w[i] = static_cast<uint32_t>(bytes[4 * i]) << 24 | static_cast<uint32_t>(bytes[4 * i + 1]) << 16 |
             static_cast<uint32_t>(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
    }
    for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state;
    for (int i = 0; i < 80; ++i) {
      uint32_t f = 0, k = 0;
      if (i < 20) {
        f = (b & c) | (~b & d), k = 0x5a827999;
      } else if (i < 40) {
        f = b ^ c ^ d, k = 0x6ed9eba1;
      } else if (i < 60) {
        f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
      } else {
        f = b ^ c ^ d, k = 0xca62c1d6;
      }
      uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
  };

  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  size_t left = message.size();
  for (; left >= 64; left -= 64, bytes += 64) block(bytes);
  unsigned char tail[128] = {};
  if (left != 0) std::memcpy(tail, bytes, left);
  tail[left] = 0x80;
  const size_t size = left < 56 ? 64 : 128;
  const uint64_t bits = message.size() * 8;
  for (size_t i = 0; i < 8; ++i) tail[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  block(tail);
  if (size == 128) block(tail + 64);
  return state;
}

// Lower-case runs of ASCII letters, digits and underscore: enough for English text.
inline std::vector<std::string> ascii_words(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (word && !open) words.emplace_back();
    if (word) words.back().push_back(c);
    open = word;
  }
  return words;
}

class MinHash {
 public:
  explicit MinHash(int num_perm = 128, size_t shingle_words = 5) : shingle_words_(shingle_words) {
    uint64_t state = 1;
    auto next = [&state] {  // any fixed sequence will do
      state = state * 6364136223846793005u + 1442695040888963407u;
      return (state >> 3) % kPrime;
    };
    for (int i = 0; i < num_perm; ++i) {
      a_.push_back(std::max<uint64_t>(1, next()));
      b_.push_back(next());
    }
  }

  std::vector<uint32_t> signature(std::string_view text) const {
    const std::vector<std::string> words = ascii_words(text);
    std::vector<uint32_t> slots(a_.size(), UINT32_MAX);
    std::string shingle;
    for (size_t i = 0; i + shingle_words_ <= words.size(); ++i) {
      shingle.clear();
      for (size_t j = i; j < i + shingle_words_; ++j) {
        if (j != i) shingle += ' ';
        shingle += words[j];
      }
      add(sha1(shingle)[0], slots);
    }
    return slots;
  }

  // One shingle's 32 bits into all slots.
  void add(uint32_t hash, std::vector<uint32_t>& slots) const {
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto value = static_cast<uint32_t>(multiply_add_mod(a_[i], hash, b_[i]));
      slots[i] = std::min(slots[i], value);
    }
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  static uint64_t multiply_add_mod(uint64_t a, uint64_t h, uint64_t b) {
    __extension__ using uint128 = unsigned __int128;
    const uint128 product = static_cast<uint128>(a) * h + b;
    const uint64_t folded = static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61);
    return folded >= kPrime ? folded - kPrime : folded;
  }

  size_t shingle_words_;
  std::vector<uint64_t> a_, b_;
};

}  // namespace doppel::reference
