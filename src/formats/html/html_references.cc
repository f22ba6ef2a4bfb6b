#include "formats/html/html_references.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include "base/utf8.h"

namespace doppel {
namespace {

struct CharacterName {
  std::string_view name;  // includes the semicolon, if it is required
  std::string_view text;  // "" if libxml2 knows the name
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

struct Resolved {
  size_t length;  // of the reference, with its ampersand
  std::string_view text;
};

// The value of a digit; -1 for other characters.
int digit(char c, bool hex) {
  if (c >= '0' && c <= '9') return c - '0';
  if (!hex) return -1;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

class Resolver {
 public:
  // Resolves the reference at the start of `text`; nullopt if libxml2 resolves it correctly.
  std::optional<Resolved> resolve(std::string_view text) {
    return text.size() > 1 && text[1] == '#' ? by_number(text) : by_name(text);
  }

 private:
  std::optional<Resolved> by_number(std::string_view text) {
    const bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
    size_t at = hex ? 3 : 2;
    uint32_t value = 0;
    const size_t begin = at;
    for (; at < text.size() && digit(text[at], hex) >= 0; ++at) {
      value =
          std::min<uint32_t>(value * (hex ? 16 : 10) + static_cast<uint32_t>(digit(text[at], hex)), 0x110000);
    }
    if (at == begin) return Resolved{1, "&#38;"};  // libxml2 would drop it
    const bool impossible = value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000);
    if (!impossible && (value < 0x80 || value > 0x9f)) return std::nullopt;
    if (at < text.size() && text[at] == ';') ++at;
    buffer_.clear();
    std::array<uint8_t, 4> bytes{};
    const int size = utf8::encode(impossible ? 0xfffd : kControls[value - 0x80], bytes.data());
    buffer_.assign(bytes.begin(), bytes.begin() + size);
    return Resolved{at, buffer_};
  }

  static std::optional<Resolved> by_name(std::string_view text) {
    size_t end = 1;
    while (end < text.size() && end < kLongestName && is_alphanumeric(text[end])) ++end;
    const bool ended = end < text.size() && text[end] == ';';
    if (ended) {
      const CharacterName* name = find(text.substr(1, end));
      if (name != nullptr && name->text.empty()) return std::nullopt;
      if (name != nullptr) return Resolved{end + 1, name->text};
    }
    for (size_t size = std::min(end - 1, kLongestWithoutEnd); size >= kShortestWithoutEnd; --size) {
      const CharacterName* name = find(text.substr(1, size));
      if (name != nullptr) return Resolved{size + 1, name->text};
    }
    return std::nullopt;
  }

  std::string buffer_;
};

}  // namespace

bool resolve_references(std::string_view html, std::string& out) {
  Resolver resolver;
  size_t done = 0;
  for (size_t at = html.find('&'); at != kNone; at = html.find('&', at + 1)) {
    const std::optional<Resolved> resolved = resolver.resolve(html.substr(at));
    if (!resolved) continue;
    if (done == 0) out.clear();
    out += html.substr(done, at - done);
    out += resolved->text;
    done = at + resolved->length;
    at = done - 1;
  }
  if (done == 0) return false;
  out += html.substr(done);
  return true;
}

}  // namespace doppel
