#include "formats/html/html_elements.h"

#include <array>
#include <cstdint>

namespace doppel {
namespace {

using enum ElementKind;

constexpr unsigned char wall_of(Reach reach) {
  return static_cast<unsigned char>(1U << static_cast<int>(reach));
}
constexpr unsigned char kBlockWall = wall_of(Reach::inside);
constexpr unsigned char kListWall = kBlockWall | wall_of(Reach::list);
constexpr unsigned char kCellWall = kListWall | wall_of(Reach::cell);
constexpr unsigned char kTableWall = kCellWall | wall_of(Reach::table);

constexpr Element in_block(std::string_view name, ElementKind kind = block) {
  return {name, kind, Reach::cell, kBlockWall};
}
constexpr Element hidden(std::string_view name) { return {name, unseen, Reach::cell, kBlockWall}; }
constexpr Element list(std::string_view name) { return {name, block, Reach::cell, kListWall}; }
constexpr Element item(std::string_view name) { return {name, block, Reach::list, kBlockWall}; }
constexpr Element of_table(std::string_view name, ElementKind kind, unsigned char wall) {
  return {name, kind, Reach::table, wall};
}
constexpr Element nothing(std::string_view name) { return {name, empty, Reach::inside, 0}; }

constexpr Element kElements[] = {
    {"a", link, Reach::inside, 0},
    // In-line elements, listed so that their end tags are followed.
    {"b", in_line, Reach::inside, 0},
    {"i", in_line, Reach::inside, 0},
    {"em", in_line, Reach::inside, 0},
    {"strong", in_line, Reach::inside, 0},
    {"span", in_line, Reach::inside, 0},
    {"font", in_line, Reach::inside, 0},
    {"label", in_line, Reach::inside, 0},
    {"script", unseen, Reach::inside, 0},
    {"style", unseen, Reach::inside, 0},
    hidden("noscript"),
    hidden("title"),
    hidden("iframe"),
    hidden("canvas"),
    hidden("audio"),
    hidden("video"),
    hidden("noframes"),
    hidden("datalist"),
    hidden("noembed"),
    {"template", unseen, Reach::everything, kTableWall},
    {"object", unseen, Reach::cell, kCellWall},
    {"applet", unseen, Reach::cell, kCellWall},
    nothing("embed"),
    nothing("source"),
    nothing("track"),
    nothing("wbr"),
    nothing("keygen"),
    nothing("img"),
    nothing("input"),
    nothing("link"),
    nothing("meta"),
    nothing("base"),
    nothing("area"),
    nothing("col"),
    nothing("param"),
    of_table("td", cell, kCellWall),
    of_table("th", cell, kCellWall),
    of_table("caption", block, kCellWall),
    of_table("tr", block, kBlockWall),
    of_table("thead", block, kBlockWall),
    of_table("tbody", block, kBlockWall),
    of_table("tfoot", block, kBlockWall),
    {"table", block, Reach::everything, kTableWall},
    in_block("option", cell),
    in_block("button", cell),
    in_block("h1", heading),
    in_block("h2", heading),
    in_block("h3", heading),
    in_block("h4", heading),
    in_block("h5", heading),
    in_block("h6", heading),
    list("ul"),
    list("ol"),
    list("dl"),
    list("dir"),
    list("menu"),
    item("li"),
    item("dt"),
    item("dd"),
    {"br", block, Reach::inside, 0},
    {"hr", block, Reach::inside, 0},
    // Content after their end tags still belongs to the page.
    {"html", block, Reach::inside, kTableWall},
    {"body", block, Reach::inside, kBlockWall},
    in_block("head"),
    in_block("p"),
    in_block("div"),
    in_block("section"),
    in_block("article"),
    in_block("main"),
    in_block("nav"),
    in_block("header"),
    in_block("footer"),
    in_block("aside"),
    in_block("address"),
    in_block("blockquote"),
    in_block("pre"),
    in_block("figure"),
    in_block("figcaption"),
    in_block("form"),
    in_block("fieldset"),
    in_block("legend"),
    in_block("details"),
    in_block("summary"),
    in_block("dialog"),
    in_block("center"),
    in_block("select"),
    in_block("optgroup"),
    in_block("textarea"),
    in_block("frameset"),
    in_block("hgroup"),
    in_block("search"),
    in_block("turbo-stream"),
    in_block("listing"),
    in_block("xmp"),
    in_block("isindex"),
};
constexpr Element kUnknown;

constexpr size_t kSlots = 512;

constexpr uint32_t slot_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash % kSlots;
}

constexpr std::array<const Element*, kSlots> make_table() {
  std::array<const Element*, kSlots> table{};
  for (const Element& element : kElements) {
    uint32_t slot = slot_of(element.name);
    while (table[slot] != nullptr) slot = (slot + 1) % kSlots;
    table[slot] = &element;
  }
  return table;
}

constexpr std::array<const Element*, kSlots> kTable = make_table();

}  // namespace

const Element& element_of(std::string_view name) {
  for (uint32_t slot = slot_of(name); kTable[slot] != nullptr; slot = (slot + 1) % kSlots) {
    if (kTable[slot]->name == name) return *kTable[slot];
  }
  return kUnknown;
}

}  // namespace doppel
