// Four table look-ups turn four characters into 24 bits; a bad character sets a bit above those. Groups with
// other characters (padding, line ends) are decoded one character at a time.

#include "formats/bytes/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "formats/bytes/charset.h"

namespace doppel {
namespace {

constexpr uint32_t kBad = 1u << 24;
using Table = std::array<uint32_t, 256>;

constexpr int value_of(int c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

// For each position of a character in its group: its bits at their place in three bytes, read as a
// little-endian number.
constexpr std::array<Table, 4> make_tables() {
  std::array<Table, 4> tables{};
  for (int c = 0; c < 256; ++c) {
    const int value = value_of(c);
    for (int place = 0; place < 4; ++place) {
      uint32_t bits = kBad;
      if (value >= 0) {
        const auto big = static_cast<uint32_t>(value) << (18 - 6 * place);
        bits = (big & 0xff) << 16 | (big & 0xff00) | big >> 16;
      }
      tables[static_cast<size_t>(place)][static_cast<size_t>(c)] = bits;
    }
  }
  return tables;
}

constexpr std::array<Table, 4> kTables = make_tables();

uint32_t group(const unsigned char* p) {
  return kTables[0][p[0]] | kTables[1][p[1]] | kTables[2][p[2]] | kTables[3][p[3]];
}

// Decodes whole groups from p and stops before the first group with other characters. Writes four bytes for
// three.
void decode_groups(const unsigned char*& p, const unsigned char* end, char*& out) {
  while (end - p >= 8) {
    const uint32_t a = group(p);
    const uint32_t b = group(p + 4);
    if (((a | b) & kBad) != 0) break;
    std::memcpy(out, &a, 4);
    std::memcpy(out + 3, &b, 4);
    p += 8;
    out += 6;
  }
}

}  // namespace

bool decode_base64(std::string_view text, std::string& decoded) {
  decoded.resize(text.size() / 4 * 3 + 8);
  char* out = decoded.data();
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* end = p + text.size();
  uint32_t bits = 0;
  int have = 0;  // characters of an incomplete group
  bool padded = false;
  while (p < end) {
    if (have == 0 && !padded) {
      decode_groups(p, end, out);
      if (p == end) break;
    }
    const unsigned char c = *p++;
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (have < 2) return false;
      padded = true;
      continue;
    }
    const int value = value_of(c);
    if (value < 0 || padded) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++have == 4) {
      for (int shift = 16; shift >= 0; shift -= 8) *out++ = static_cast<char>(bits >> shift);
      have = 0;
      bits = 0;
    }
  }
  if (have == 1) return false;
  if (have >= 2) *out++ = static_cast<char>(bits >> (6 * have - 8));
  if (have == 3) *out++ = static_cast<char>(bits >> 2);
  decoded.resize(static_cast<size_t>(out - decoded.data()));
  return true;
}

bool is_base64_document(std::string_view text, std::string& decoded) {
  constexpr size_t kSure = 64;  // a word this long without a space is not text
  // Most texts have a space early.
  if (text.substr(0, kSure).find(' ') != std::string_view::npos) return false;
  if (text.size() < 4 || !decode_base64(text, decoded) || decoded.empty()) return false;
  if (looks_binary(decoded)) return false;
  // A short text of one word decodes too, but into bytes that are not text.
  return text.size() >= kSure || (text.size() % 4 == 0 && utf8::valid(decoded));
}

}  // namespace doppel
