#include "base/strings.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <cstdio>
#include <random>

#include "base/utf8.h"

namespace doppel {
namespace {

// Byte by byte.
std::string slow(std::string_view text, bool keeps_bytes) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<uint8_t>(text[at]);
    char32_t code = 0;
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, code);
    if (c >= 0x80 && !keeps_bytes) {
      out += length > 0 ? text.substr(at, static_cast<size_t>(length)) : "\xef\xbf\xbd";
      at += length > 0 ? static_cast<size_t>(length) : 1;
      continue;
    }
    ++at;
    std::array<char, 8> number{};
    if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (c < 0x20 || (c == 0x7f && !keeps_bytes)) {
      std::snprintf(number.data(), number.size(), "\\u%04x", c);
      out += number.data();
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

TEST(JsonText, IsAsByteByByte) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  static constexpr std::array<std::string_view, 12> kParts{
      "plain text ",  "\"",   "\\",       "\n",           std::string_view("\0", 1),
      "\x1f",         "\x7f", "\xc3\xa4", "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
      "\xed\xa0\x80", "\xff"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) {
      if (random() % 3 == 0) {
        text += static_cast<char>(random());
      } else {
        text += kParts[random() % kParts.size()].substr(0, 1 + random() % 11);
      }
    }
    std::string json, bytes;
    append_json_string(json, text);
    append_json_bytes(bytes, text);
    ASSERT_EQ(json, slow(text, false));
    ASSERT_EQ(bytes, slow(text, true));
    simdjson::dom::parser parser;
    ASSERT_FALSE(parser.parse(json).error()) << json;
    if (!utf8::valid(text)) continue;
    const simdjson::dom::element read = parser.parse(bytes);
    ASSERT_EQ(std::string_view(read), text);
  }
}

}  // namespace
}  // namespace doppel
