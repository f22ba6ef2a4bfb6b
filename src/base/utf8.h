#pragma once
// UTF-8, one code point at a time, strictly (no surrogates, no overlong forms, nothing above U+10FFFF).

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace doppel::utf8 {

inline constexpr int kNeedsMore = 0;  // valid so far, but the bytes end inside the sequence
inline constexpr int kInvalid = -1;   // no valid sequence starts here: skip one byte

// Decodes the sequence at p; `left` >= 1 bytes are readable. Returns its size (1 to 4) or one of the
// constants above. After an invalid byte, callers try the next one. How many bytes an error covers does not
// matter here: each is a separator, and a run of separators counts as one.
inline int decode(const uint8_t* p, size_t left, char32_t& c) {
  const uint32_t first = p[0];
  if (first < 0x80) {
    c = first;
    return 1;
  }
  if (first < 0xc2 || first > 0xf4) return kInvalid;
  if (left < 2) return kNeedsMore;
  const uint32_t second = p[1] ^ 0x80u;
  if (second >= 0x40) return kInvalid;
  if (first < 0xe0) {
    c = (first & 0x1f) << 6 | second;
    return 2;
  }
  if (first < 0xf0) {
    if ((first == 0xe0 && second < 0x20) || (first == 0xed && second >= 0x20)) return kInvalid;
    if (left < 3) return kNeedsMore;
    const uint32_t third = p[2] ^ 0x80u;
    if (third >= 0x40) return kInvalid;
    c = (first & 0x0f) << 12 | second << 6 | third;
    return 3;
  }
  if ((first == 0xf0 && second < 0x10) || (first == 0xf4 && second >= 0x10)) return kInvalid;
  if (left < 3) return kNeedsMore;
  const uint32_t third = p[2] ^ 0x80u;
  if (third >= 0x40) return kInvalid;
  if (left < 4) return kNeedsMore;
  const uint32_t fourth = p[3] ^ 0x80u;
  if (fourth >= 0x40) return kInvalid;
  c = (first & 0x07) << 18 | second << 12 | third << 6 | fourth;
  return 4;
}

inline bool valid(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int length = decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, c);
    if (length <= 0) return false;
    at += static_cast<size_t>(length);
  }
  return true;
}

// Encodes c (not a surrogate, at most U+10FFFF). Returns the number of bytes written.
inline int encode(char32_t c, uint8_t* out) {
  if (c < 0x80) {
    out[0] = static_cast<uint8_t>(c);
    return 1;
  }
  if (c < 0x800) {
    out[0] = static_cast<uint8_t>(0xc0 | c >> 6);
    out[1] = static_cast<uint8_t>(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = static_cast<uint8_t>(0xe0 | c >> 12);
    out[1] = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3f));
    out[2] = static_cast<uint8_t>(0x80 | (c & 0x3f));
    return 3;
  }
  out[0] = static_cast<uint8_t>(0xf0 | c >> 18);
  out[1] = static_cast<uint8_t>(0x80 | (c >> 12 & 0x3f));
  out[2] = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3f));
  out[3] = static_cast<uint8_t>(0x80 | (c & 0x3f));
  return 4;
}

}  // namespace doppel::utf8
