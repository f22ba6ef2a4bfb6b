#include "formats/html/html_tokens.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/utf8.h"

namespace doppel {
namespace {

using Kind = HtmlToken::Kind;

enum : unsigned char { kSpace = 1, kEndsName = 2, kEndsAttribute = 4, kEndsValue = 8, kLetter = 16 };
constexpr std::array<unsigned char, 256> kClasses = [] {
  std::array<unsigned char, 256> out{};
  for (const unsigned char c : {' ', '\n', '\t', '\r', '\f'})
    out[c] = kSpace | kEndsName | kEndsAttribute | kEndsValue;
  out['/'] = kEndsName | kEndsAttribute;
  out['>'] = kEndsName | kEndsAttribute | kEndsValue;
  out['='] = kEndsAttribute;
  for (unsigned char c = 'a'; c <= 'z'; ++c) out[c] = out[c - 32] = kLetter;
  return out;
}();
bool is(char c, unsigned char kind) { return (kClasses[static_cast<unsigned char>(c)] & kind) != 0; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string_view view(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

const char* find(char c, const char* at, const char* end) {
  const void* hit = at < end ? std::memchr(at, c, static_cast<size_t>(end - at)) : nullptr;
  return hit == nullptr ? end : static_cast<const char*>(hit);
}

// Eight bytes, the first of them in the lowest bits.
uint64_t load(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}
constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

// The high bit of each byte that is `c`; only the lowest one is certain.
constexpr uint64_t bytes_equal(uint64_t word, char c) {
  const uint64_t zero = word ^ (kOnes * static_cast<unsigned char>(c));
  return (zero - kOnes) & ~zero & kHighs;
}

// The first a or b. Texts between tags are short, so eight bytes at a time are as fast as wider kernels.
const char* find(char a, char b, const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    const uint64_t word = load(at);
    const uint64_t hits = bytes_equal(word, a) | bytes_equal(word, b);
    if (hits != 0) return at + std::countr_zero(hits) / 8;
  }
  while (at < end && *at != a && *at != b) ++at;
  return at;
}

// The key of a name (html_name_key), eight bytes at a time.
uint64_t key_of(const char* name, size_t size, const char* end) {
  if (end - name < 8) return html_name_key({name, size});
  uint64_t word = load(name);
  if (size < 8) word &= (uint64_t{1} << (8 * size)) - 1;
  const uint64_t low = word & ~kHighs;
  const uint64_t from_a = low + kOnes * (0x80 - 'A');
  const uint64_t above_z = low + kOnes * (0x7f - 'Z');
  const uint64_t upper = from_a & ~above_z & ~word & kHighs;
  return word | upper >> 2;
}

struct KnownAttribute {
  std::string_view name;
  HtmlAttribute attribute;
};
constexpr KnownAttribute kLongAttributes[] = {{"aria-modal", HtmlAttribute::aria_modal},
                                              {"aria-labelledby", HtmlAttribute::aria_labelledby},
                                              {"shadowroot", HtmlAttribute::shadowroot},
                                              {"shadowrootmode", HtmlAttribute::shadowrootmode}};

bool same(std::string_view written, std::string_view name) {
  if (written.size() != name.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (lower(written[i]) != name[i]) return false;
  }
  return true;
}

HtmlAttribute attribute_of(std::string_view name, uint64_t key) {
  if (name.size() > 8) {
    for (const KnownAttribute& known : kLongAttributes) {
      if (same(name, known.name)) return known.attribute;
    }
    return HtmlAttribute::other;
  }
  switch (key) {
    case html_name_key("class"):
      return HtmlAttribute::class_;
    case html_name_key("id"):
      return HtmlAttribute::id;
    case html_name_key("style"):
      return HtmlAttribute::style;
    case html_name_key("hidden"):
      return HtmlAttribute::hidden;
    case html_name_key("role"):
      return HtmlAttribute::role;
    case html_name_key("itemprop"):
      return HtmlAttribute::itemprop;
    case html_name_key("itemtype"):
      return HtmlAttribute::itemtype;
    case html_name_key("href"):
      return HtmlAttribute::href;
    case html_name_key("type"):
      return HtmlAttribute::type;
    case html_name_key("name"):
      return HtmlAttribute::name;
    case html_name_key("property"):
      return HtmlAttribute::property;
    case html_name_key("content"):
      return HtmlAttribute::content;
    case html_name_key("data-sid"):
      return HtmlAttribute::data_sid;
    case html_name_key("data-bid"):
      return HtmlAttribute::data_bid;
    case html_name_key("data-pid"):
      return HtmlAttribute::data_pid;
    case html_name_key("src"):
      return HtmlAttribute::src;
    default:
      return HtmlAttribute::other;
  }
}

}  // namespace

void HtmlTokens::begin(std::string_view page, bool every_attribute) {
  begin_ = at_ = page.data();
  end_ = at_ + page.size();
  stop_ = nullptr;
  rcdata_ = cdata_ = false;
  every_attribute_ = every_attribute;
}

const HtmlToken& HtmlTokens::next() {
  if (stop_ != nullptr && special_text()) return token_;
  while (at_ < end_) {
    if (*at_ != '<' ? text() : markup()) return token_;
  }
  give(Kind::done, end_, end_);
  return token_;
}

bool HtmlTokens::give(Kind kind, const char* begin, const char* end) {
  token_.kind = kind;
  token_.begin = static_cast<size_t>(begin - begin_);
  token_.end = static_cast<size_t>(end - begin_);
  at_ = end;
  return true;
}

// Text up to the next markup or reference, or one reference.
bool HtmlTokens::text() {
  const char* const begin = at_;
  const char* end = end_;
  if (stop_ != nullptr) end = stop_;
  if (*begin == '&') {
    const size_t length = resolve_reference(view(begin, end), false, token_.text, character_);
    if (length != 0) return give(Kind::text, begin, begin + length);
  }
  const char* at = begin + 1;
  for (;;) {
    at = find('<', '&', at, end);
    if (at == end || *at == '<') break;
    // An ampersand that is text stays in this piece.
    std::string_view unused;
    if (resolve_reference(view(at, end), false, unused, character_) != 0) break;
    ++at;
  }
  token_.text = view(begin, at);
  return give(Kind::text, begin, at);
}

// At a '<' outside of special text.
bool HtmlTokens::markup() {
  const size_t left = static_cast<size_t>(end_ - at_);
  const char next = left > 1 ? at_[1] : ' ';
  if (is(next, kLetter)) return tag(1, false);
  if (next == '!') return declaration();
  if (next == '?') return bogus(1);
  if (next != '/' || left == 2) return text();
  if (is(at_[2], kLetter)) return tag(2, true);
  if (at_[2] != '>') return bogus(2);
  at_ += 3;  // "</>" is nothing
  return false;
}

bool HtmlTokens::bogus(size_t skip) {
  const char* const close = find('>', at_ + skip, end_);
  token_.text = view(at_ + skip, close);
  return give(Kind::comment, at_, close < end_ ? close + 1 : end_);
}

bool HtmlTokens::declaration() {
  const std::string_view rest = view(at_, end_);
  if (rest.starts_with("<!--")) return comment();
  if (rest.size() >= 9 && same(rest.substr(2, 7), "doctype")) {
    bogus(9);  // '>' ends each of its states
    token_.kind = Kind::doctype;
    return true;
  }
  if (!cdata_ || !rest.starts_with("<![CDATA[")) return bogus(2);
  const size_t close = rest.find("]]>", 9);
  token_.text = rest.substr(9, close == std::string_view::npos ? close : close - 9);
  const char* const end = close == std::string_view::npos ? end_ : at_ + close + 3;
  if (!token_.text.empty()) return give(Kind::text, at_, end);
  at_ = end;
  return false;
}

// Ends at "-->" and "--!>", and "<!-->" and "<!--->" are whole comments.
bool HtmlTokens::comment() {
  const char* const begin = at_ + 4;
  const char* close = begin;
  for (; (close = find('>', close, end_)) < end_; ++close) {
    const std::string_view text = view(begin, close);
    size_t dashes = 0;
    if (text.empty() || text == "-") {
      dashes = text.size();
    } else if (text.ends_with("--")) {
      dashes = 2;
    } else if (text.ends_with("--!")) {
      dashes = 3;
    } else {
      continue;
    }
    token_.text = text.substr(0, text.size() - dashes);
    return give(Kind::comment, at_, close + 1);
  }
  token_.text = view(begin, end_);
  for (std::string_view cut : {"--!", "--", "-"}) {
    if (!token_.text.ends_with(cut)) continue;
    token_.text.remove_suffix(cut.size());
    break;
  }
  return give(Kind::comment, at_, end_);
}

// A tag that the end of the page cuts off is nothing.
bool HtmlTokens::tag(size_t skip, bool closing) {
  const char* const name = at_ + skip;
  const char* at = name;
  while (at < end_ && !is(*at, kEndsName)) ++at;
  token_.name = view(name, at);
  token_.key = key_of(name, token_.name.size(), end_);
  token_.self_closing = false;
  attributes_.clear();
  seen_ = 0;
  decodings_ = 0;
  for (;;) {
    while (at < end_ && is(*at, kSpace)) ++at;
    if (at == end_) break;
    if (*at == '>') return give(closing ? Kind::end : Kind::start, at_, at + 1);
    if (*at == '/') {
      ++at;
      token_.self_closing = at < end_ && *at == '>';
    } else {
      at = attribute(at, closing);
    }
  }
  at_ = end_;
  return false;
}

// Reads an attribute and returns where it ends; the end of the page, if that cuts it off.
const char* HtmlTokens::attribute(const char* at, bool closing) {
  const char* const begin = at++;  // even "=" may begin a name
  while (at < end_ && !is(*at, kEndsAttribute)) ++at;
  const std::string_view name = view(begin, at);
  std::string_view value;
  const char* next = at;
  while (next < end_ && is(*next, kSpace)) ++next;
  if (next < end_ && *next == '=') {
    do ++next;
    while (next < end_ && is(*next, kSpace));
    if (next == end_) return end_;
    if (*next == '"' || *next == '\'') {
      const char* const close = find(*next, next + 1, end_);
      if (close == end_) return end_;
      value = view(next + 1, close);
      at = close + 1;
    } else {
      at = next;
      while (at < end_ && !is(*at, kEndsValue)) ++at;
      value = view(next, at);
    }
  }
  if (closing) return at;
  const HtmlAttribute known = attribute_of(name, key_of(begin, name.size(), end_));
  if (known == HtmlAttribute::other) {
    if (every_attribute_) attributes_.push_back({known, name, value, decoded(value)});
    return at;
  }
  const uint32_t bit = uint32_t{1} << static_cast<int>(known);
  if ((seen_ & bit) == 0) attributes_.push_back({known, name, value, decoded(value)});
  seen_ |= bit;
  return at;
}

std::string_view HtmlTokens::decoded(std::string_view value) {
  size_t at = value.find('&');
  if (at == std::string_view::npos) return value;
  if (decodings_ == decoded_.size()) decoded_.emplace_back();
  std::string& out = decoded_[decodings_++];
  out.clear();
  while (at != std::string_view::npos) {
    out += value.substr(0, at);
    value.remove_prefix(at);
    std::string_view characters = "&";
    const size_t length = resolve_reference(value, true, characters, character_);
    out += length == 0 ? std::string_view("&") : characters;
    value.remove_prefix(length == 0 ? 1 : length);
    at = value.find('&');
  }
  out += value;
  return out;
}

void HtmlTokens::read_as(HtmlContent content, std::string_view name) {
  if (content == HtmlContent::markup) return;
  special_.assign(name);
  for (char& c : special_) c = lower(c);
  rcdata_ = content == HtmlContent::rcdata;
  stop_ = end_of_special(content);
}

// The rest of the special text, as far as one token goes; then its end tag.
bool HtmlTokens::special_text() {
  if (at_ < stop_) {
    if (rcdata_ && *at_ == '&') return text();
    const char* end = rcdata_ ? find('&', at_, stop_) : stop_;
    token_.text = view(at_, end);
    return give(Kind::text, at_, end);
  }
  stop_ = nullptr;
  return at_ < end_ && tag(2, true);
}

const char* HtmlTokens::end_of_special(HtmlContent content) const {
  if (content == HtmlContent::plain) return end_;
  if (content == HtmlContent::script) return end_of_script();
  const char* at = at_;
  for (; (at = find('<', at, end_)) < end_; ++at) {
    if (end_ - at > 2 && at[1] == '/' && names_here(at + 2, special_)) return at;
  }
  return end_;
}

// In a script, "<!--" hides "<script>" and its end tag up to "-->".
const char* HtmlTokens::end_of_script() const {
  bool escaped = false, twice = false;
  const char* at = at_;
  while ((at = escaped ? find('<', '>', at, end_) : find('<', at, end_)) < end_) {
    if (*at == '>') {
      if (at - at_ >= 2 && at[-1] == '-' && at[-2] == '-') escaped = twice = false;
      ++at;
      continue;
    }
    if (view(at, end_).starts_with("<!--")) {
      escaped = true;
      at += 2;  // its dashes may belong to "-->"
      continue;
    }
    const bool closing = end_ - at > 1 && at[1] == '/';
    if (closing && !twice && names_here(at + 2, special_)) return at;
    if (escaped && names_here(at + (closing ? 2 : 1), "script")) twice = !closing;
    ++at;
  }
  return end_;
}

// Whether there is this name, and behind it what ends a name.
bool HtmlTokens::names_here(const char* at, std::string_view name) const {
  return !name.empty() && static_cast<size_t>(end_ - at) > name.size() && is(at[name.size()], kEndsName) &&
         same({at, name.size()}, name);
}

namespace {

struct CharacterName {
  std::string_view name;  // includes the semicolon, if it is required
  std::string_view text;
};

#include "formats/html/html_names.inc"

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
