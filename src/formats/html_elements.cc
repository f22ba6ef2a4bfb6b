#include "formats/html_elements.h"

#include <array>
#include <cstdint>

namespace doppel {
namespace {

struct Element {
  std::string_view name;
  ElementKind kind;
};

using enum ElementKind;

constexpr Element kElements[] = {
    {"a", link},           {"script", unseen},    {"style", unseen},    {"noscript", unseen},
    {"template", unseen},  {"title", unseen},     {"iframe", unseen},   {"object", unseen},
    {"embed", unseen},     {"applet", unseen},    {"canvas", unseen},   {"audio", unseen},
    {"video", unseen},     {"noframes", unseen},  {"datalist", unseen}, {"noembed", unseen},
    {"td", cell},          {"th", cell},          {"option", cell},     {"button", cell},
    {"h1", heading},       {"h2", heading},       {"h3", heading},      {"h4", heading},
    {"h5", heading},       {"h6", heading},       {"p", block},         {"div", block},
    {"ul", block},         {"ol", block},         {"li", block},        {"dl", block},
    {"dt", block},         {"dd", block},         {"table", block},     {"tr", block},
    {"thead", block},      {"tbody", block},      {"tfoot", block},     {"caption", block},
    {"br", block},         {"hr", block},         {"html", block},      {"head", block},
    {"body", block},       {"section", block},    {"article", block},   {"main", block},
    {"nav", block},        {"header", block},     {"footer", block},    {"aside", block},
    {"address", block},    {"blockquote", block}, {"pre", block},       {"figure", block},
    {"figcaption", block}, {"form", block},       {"fieldset", block},  {"legend", block},
    {"details", block},    {"summary", block},    {"dialog", block},    {"center", block},
    {"dir", block},        {"menu", block},       {"select", block},    {"optgroup", block},
    {"textarea", block},   {"frameset", block},   {"hgroup", block},    {"search", block},
    {"listing", block},    {"xmp", block},        {"isindex", block},
};

constexpr size_t kSlots = 512;

constexpr uint32_t slot_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash % kSlots;
}

constexpr std::array<Element, kSlots> make_table() {
  std::array<Element, kSlots> table{};
  for (const Element& element : kElements) {
    uint32_t slot = slot_of(element.name);
    while (!table[slot].name.empty()) slot = (slot + 1) % kSlots;
    table[slot] = element;
  }
  return table;
}

constexpr std::array<Element, kSlots> kTable = make_table();

}  // namespace

ElementKind element_kind(std::string_view name) {
  for (uint32_t slot = slot_of(name); !kTable[slot].name.empty(); slot = (slot + 1) % kSlots) {
    if (kTable[slot].name == name) return kTable[slot].kind;
  }
  return in_line;
}

}  // namespace doppel
