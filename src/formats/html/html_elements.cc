#include "formats/html/html_elements.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace doppel {
namespace {

using enum ElementKind;

constexpr unsigned char bit(Reach reach) { return static_cast<unsigned char>(1U << static_cast<int>(reach)); }
constexpr unsigned char kItemWall = bit(Reach::inside);
constexpr unsigned char kBlockWall = kItemWall | bit(Reach::item);
constexpr unsigned char kListWall = kBlockWall | bit(Reach::list);
constexpr unsigned char kButtonWall = kBlockWall | bit(Reach::button);
static_assert(kCellWall == (kListWall | kButtonWall | bit(Reach::cell)));
constexpr unsigned char kTableWall = kCellWall | bit(Reach::table);

constexpr Element in_line_of(std::string_view name, ElementRole role = ElementRole::none) {
  return {.name = name, .role = role};
}
constexpr Element in_block(std::string_view name, Ends ends = Ends::paragraph,
                           ElementRole role = ElementRole::none, unsigned char wall = kBlockWall,
                           ElementKind kind = block) {
  return {.name = name, .kind = kind, .reach = Reach::cell, .wall = wall, .ends = ends, .role = role};
}
constexpr Element heading_of(std::string_view name) {
  return in_block(name, Ends::heading, ElementRole::heading, kBlockWall, heading);
}
constexpr Element hidden(std::string_view name, ElementRole role = ElementRole::none) {
  return {.name = name, .kind = unseen, .reach = Reach::cell, .wall = kBlockWall, .role = role};
}
constexpr Element special(std::string_view name, HtmlContent content, ElementRole role = ElementRole::none) {
  return {.name = name, .kind = unseen, .role = role, .content = content};
}
constexpr Element list(std::string_view name) {
  return in_block(name, Ends::paragraph, ElementRole::none, kListWall);
}
constexpr Element item(std::string_view name, Ends ends, ElementRole role) {
  Element out = in_block(name, ends, role);
  out.reach = ends == Ends::item ? Reach::list : Reach::cell;
  return out;
}
constexpr Element of_table(std::string_view name, ElementKind kind, Ends ends, ElementRole role,
                           unsigned char wall) {
  return {.name = name, .kind = kind, .reach = Reach::table, .wall = wall, .ends = ends, .role = role};
}
constexpr Element line(std::string_view name, Ends ends, ElementRole role = ElementRole::none) {
  return {.name = name, .kind = block, .ends = ends, .role = role, .is_void = true};
}
constexpr Element nothing(std::string_view name, ElementRole role = ElementRole::none) {
  return {.name = name, .kind = empty, .role = role, .is_void = true};
}
constexpr Element text_of(std::string_view name, HtmlContent content, Ends ends) {
  Element out = in_block(name, ends);
  out.content = content;
  return out;
}

// Other elements in line have no row: nothing depends on them but their own end tags.
constexpr Element kRows[] = {
    {.name = "a", .kind = link, .ends = Ends::link, .role = ElementRole::a},
    in_line_of("b"),
    in_line_of("i"),
    in_line_of("em"),
    in_line_of("strong"),
    in_line_of("span"),
    in_line_of("font"),
    in_line_of("label"),
    in_line_of("big"),
    in_line_of("code"),
    in_line_of("nobr"),
    in_line_of("ruby", ElementRole::ruby),
    in_line_of("rt", ElementRole::reading),
    in_line_of("rp", ElementRole::reading),
    in_line_of("s"),
    in_line_of("small"),
    in_line_of("strike"),
    in_line_of("sub"),
    in_line_of("sup"),
    in_line_of("tt"),
    in_line_of("u"),
    in_line_of("var"),
    in_line_of("svg", ElementRole::foreign),
    in_line_of("math", ElementRole::foreign),
    in_line_of("foreignobject", ElementRole::integration),
    in_line_of("desc", ElementRole::integration),
    in_line_of("mi", ElementRole::integration),
    in_line_of("mo", ElementRole::integration),
    in_line_of("mn", ElementRole::integration),
    in_line_of("ms", ElementRole::integration),
    in_line_of("mtext", ElementRole::integration),
    in_line_of("annotation-xml", ElementRole::integration),
    special("script", HtmlContent::script, ElementRole::script),
    special("style", HtmlContent::raw, ElementRole::in_head),
    special("title", HtmlContent::rcdata, ElementRole::in_head),
    special("iframe", HtmlContent::raw),
    special("noembed", HtmlContent::raw),
    special("noframes", HtmlContent::raw, ElementRole::in_head),
    hidden("noscript", ElementRole::noscript),
    hidden("canvas"),
    hidden("audio"),
    hidden("video"),
    hidden("datalist"),
    {.name = "template",
     .kind = unseen,
     .reach = Reach::everything,
     .wall = kTableWall,
     .role = ElementRole::unseen_template},
    {.name = "object", .kind = unseen, .reach = Reach::cell, .wall = kCellWall},
    {.name = "applet", .kind = unseen, .reach = Reach::cell, .wall = kCellWall},
    {.name = "marquee", .kind = block, .reach = Reach::cell, .wall = kCellWall},
    nothing("embed"),
    nothing("source"),
    nothing("track"),
    nothing("wbr"),
    nothing("keygen"),
    nothing("img"),
    {.name = "input", .kind = empty, .ends = Ends::select, .is_void = true},
    nothing("link", ElementRole::in_head),
    nothing("meta", ElementRole::meta),
    nothing("base", ElementRole::in_head),
    nothing("bgsound", ElementRole::in_head),
    nothing("area"),
    nothing("col"),
    nothing("param"),
    of_table("td", cell, Ends::cell, ElementRole::cell, kCellWall),
    of_table("th", cell, Ends::cell, ElementRole::cell, kCellWall),
    of_table("caption", block, Ends::rows, ElementRole::caption, kCellWall),
    of_table("tr", block, Ends::row, ElementRole::row, kBlockWall),
    of_table("thead", block, Ends::rows, ElementRole::rows, kBlockWall),
    of_table("tbody", block, Ends::rows, ElementRole::rows, kBlockWall),
    of_table("tfoot", block, Ends::rows, ElementRole::rows, kBlockWall),
    {.name = "table",
     .kind = block,
     .reach = Reach::table,
     .wall = kTableWall,
     .ends = Ends::paragraph_only,
     .role = ElementRole::table},
    in_block("option", Ends::option, ElementRole::option, 0, cell),
    in_block("optgroup", Ends::options, ElementRole::optgroup, 0),
    in_block("select", Ends::same, ElementRole::select),
    in_block("button", Ends::same, ElementRole::button, kButtonWall, cell),
    heading_of("h1"),
    heading_of("h2"),
    heading_of("h3"),
    heading_of("h4"),
    heading_of("h5"),
    heading_of("h6"),
    list("ul"),
    list("ol"),
    in_block("dl"),
    in_block("dir"),
    in_block("menu"),
    item("li", Ends::item, ElementRole::li),
    item("dt", Ends::term, ElementRole::term),
    item("dd", Ends::term, ElementRole::term),
    line("br", Ends::nothing, ElementRole::br),
    line("hr", Ends::paragraph),
    {.name = "html", .kind = block, .wall = kTableWall, .role = ElementRole::html},
    {.name = "body", .kind = block, .wall = kBlockWall, .role = ElementRole::body},
    in_block("head", Ends::nothing, ElementRole::head),
    in_block("p", Ends::paragraph, ElementRole::p, kItemWall),
    in_block("div", Ends::paragraph, ElementRole::none, kItemWall),
    in_block("address", Ends::paragraph, ElementRole::none, kItemWall),
    in_block("section"),
    in_block("article"),
    in_block("main"),
    in_block("nav"),
    in_block("header", Ends::paragraph, ElementRole::header),
    in_block("footer"),
    in_block("aside"),
    in_block("blockquote"),
    in_block("pre"),
    in_block("listing"),
    in_block("figure"),
    in_block("figcaption"),
    in_block("form", Ends::paragraph, ElementRole::form),
    in_block("fieldset"),
    in_block("legend", Ends::nothing, ElementRole::none, 0),
    in_block("details"),
    in_block("summary"),
    in_block("dialog"),
    in_block("center"),
    in_block("hgroup"),
    in_block("search"),
    in_block("frameset", Ends::nothing),
    in_block("turbo-stream", Ends::nothing, ElementRole::turbo_stream),
    in_block("isindex"),
    text_of("textarea", HtmlContent::rcdata, Ends::select),
    text_of("xmp", HtmlContent::raw, Ends::paragraph),
    text_of("plaintext", HtmlContent::plain, Ends::paragraph),
};
constexpr size_t kCount = std::size(kRows);

// These end svg and math.
constexpr std::string_view kBreakOut =
    " b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
    "menu meta nobr "
    "ol p pre ruby s small span strong strike sub sup table tt u ul var ";

constexpr bool breaks_out(std::string_view name) {
  for (size_t at = kBreakOut.find(name); at != std::string_view::npos; at = kBreakOut.find(name, at + 1)) {
    if (kBreakOut[at - 1] == ' ' && kBreakOut[at + name.size()] == ' ') return true;
  }
  return false;
}

// Their end tags close any of them.
constexpr bool closes_alike(const Element& a, const Element& b) {
  return a.name == b.name || (a.kind == heading && b.kind == heading);
}

constexpr std::array<Element, kCount> kElements = [] {
  std::array<Element, kCount> out{};
  for (size_t i = 0; i < kCount; ++i) {
    out[i] = kRows[i];
    size_t first = 0;
    while (!closes_alike(kRows[first], kRows[i])) ++first;
    out[i].number = static_cast<unsigned char>(first + 1);
    out[i].breaks_out = breaks_out(kRows[i].name);
  }
  return out;
}();
static_assert(kCount < kElementNumbers);
constexpr Element kUnknown{.role = ElementRole::unknown};

struct Slot {
  uint64_t key = 0;
  const Element* element = nullptr;
};
constexpr size_t kSlots = 512;
constexpr size_t slot_of(uint64_t key) { return (key * 0x9e3779b97f4a7c15) >> 55; }

constexpr std::array<Slot, kSlots> kTable = [] {
  std::array<Slot, kSlots> table{};
  for (const Element& element : kElements) {
    const uint64_t key = html_name_key(element.name);
    size_t slot = slot_of(key);
    while (table[slot].element != nullptr) slot = (slot + 1) % kSlots;
    table[slot] = {key, &element};
  }
  return table;
}();

bool same_rest(std::string_view name, std::string_view known) {
  if (name.size() != known.size()) return false;
  for (size_t i = 8; i < name.size(); ++i) {
    const char c = name[i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != known[i]) return false;
  }
  return true;
}

}  // namespace

const Element& element_of(std::string_view name, uint64_t key) {
  for (size_t slot = slot_of(key); kTable[slot].element != nullptr; slot = (slot + 1) % kSlots) {
    if (kTable[slot].key == key && same_rest(name, kTable[slot].element->name)) return *kTable[slot].element;
  }
  return kUnknown;
}

}  // namespace doppel
