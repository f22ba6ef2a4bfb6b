#include "formats/html/html_references.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace doppel {
namespace {

struct CharacterName {
  std::string_view name;  // includes the semicolon, if it is required
  std::string_view text;
};

#include "formats/html/html_names.inc"

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kLongestName = 33;       // with semicolon
constexpr size_t kLongestWithoutEnd = 6;  // of names without semicolon
constexpr size_t kShortestWithoutEnd = 2;
constexpr size_t kSlots = 8192;

constexpr uint32_t slot_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return (hash ^ hash >> 15) % kSlots;
}

// Maps slots to index + 1 in kCharacterNames; 0 is free.
constexpr std::array<uint16_t, kSlots> make_table() {
  std::array<uint16_t, kSlots> table{};
  for (size_t i = 0; i < std::size(kCharacterNames); ++i) {
    uint32_t slot = slot_of(kCharacterNames[i].name);
    while (table[slot] != 0) slot = (slot + 1) % kSlots;
    table[slot] = static_cast<uint16_t>(i + 1);
  }
  return table;
}
constexpr std::array<uint16_t, kSlots> kTable = make_table();

const CharacterName* find(std::string_view name) {
  for (uint32_t slot = slot_of(name); kTable[slot] != 0; slot = (slot + 1) % kSlots) {
    const CharacterName& entry = kCharacterNames[kTable[slot] - 1];
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// The characters of the numbers from 0x80 on: windows-1252, where it defines one.
constexpr uint16_t kControls[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                    0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                    0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                    0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The value of a digit; -1 for other characters.
int digit(char c, bool hex) {
  if (c >= '0' && c <= '9') return c - '0';
  if (!hex) return -1;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t by_number(std::string_view text, std::string_view& out, std::array<char, 4>& buffer) {
  const bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
  size_t at = hex ? 3 : 2;
  const size_t begin = at;
  uint32_t value = 0;
  for (; at < text.size() && digit(text[at], hex) >= 0; ++at) {
    value =
        std::min<uint32_t>(value * (hex ? 16 : 10) + static_cast<uint32_t>(digit(text[at], hex)), 0x110000);
  }
  if (at == begin) return 0;
  if (at < text.size() && text[at] == ';') ++at;
  if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) value = 0xfffd;
  if (value >= 0x80 && value <= 0x9f) value = kControls[value - 0x80];
  std::array<uint8_t, 4> bytes{};
  const int size = utf8::encode(value, bytes.data());
  std::copy_n(bytes.begin(), size, buffer.begin());
  out = {buffer.data(), static_cast<size_t>(size)};
  return at;
}

}  // namespace

size_t resolve_reference(std::string_view text, bool in_attribute, std::string_view& out,
                         std::array<char, 4>& buffer) {
  if (text.size() > 1 && text[1] == '#') return by_number(text, out, buffer);
  size_t end = 1;
  while (end < text.size() && end < kLongestName && is_alphanumeric(text[end])) ++end;
  if (end < text.size() && text[end] == ';') {
    if (const CharacterName* name = find(text.substr(1, end)); name != nullptr) {
      out = name->text;
      return end + 1;
    }
  }
  for (size_t size = std::min(end - 1, kLongestWithoutEnd); size >= kShortestWithoutEnd; --size) {
    const CharacterName* name = find(text.substr(1, size));
    if (name == nullptr) continue;
    // "?a=1&copy=2" in an address stays as it is.
    const char next = size + 1 < text.size() ? text[size + 1] : ' ';
    if (in_attribute && (next == '=' || is_alphanumeric(next))) return 0;
    out = name->text;
    return size + 1;
  }
  return 0;
}

}  // namespace doppel
