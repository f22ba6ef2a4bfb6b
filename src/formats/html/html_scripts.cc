#include "formats/html/html_scripts.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "formats/html/html_data.h"

namespace doppel {
namespace {

constexpr size_t kLeast = 400;    // bytes of markup that is looked at
constexpr int kDepth = 3;         // strings in strings: JSON in a string of a script, and its strings
constexpr size_t kTitleWord = 3;  // bytes of a word of the title that counts
constexpr size_t kTitleMost = 300;

// Whether a <p> begins before `at`, where its "p" is: "<" may be written as \u003c or \x3c.
bool is_paragraph(std::string_view text, size_t at) {
  if (text[at] != 'p' || at == 0 || at + 1 == text.size()) return false;
  const char before = text[at - 1], after = text[at + 1];
  return (before == '<' || (at > 1 && (before == 'c' || before == 'C') && text[at - 2] == '3')) &&
         (after == '>' || after == ' ' || after == '\\');
}

bool is_escaped(std::string_view text, size_t at) {
  size_t slashes = 0;
  while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 != 0;
}

// The value of hexadecimal digits, or -1.
int hex(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    if (hex_value(c) < 0) return -1;
    value = value * 16 + hex_value(c);
  }
  return value;
}

// Appends the character of an escape, whose digits begin at `at`, and returns the index behind it.
size_t decode_hex(std::string_view text, size_t at, size_t digits, std::string& out) {
  const int value = at + digits <= text.size() ? hex(text.substr(at, digits)) : -1;
  if (value < 0) return at;
  auto c = static_cast<char32_t>(value);
  at += digits;
  const bool high = c >= 0xd800 && c < 0xdc00;
  const int low =
      high && text.substr(at).starts_with("\\u") && at + 6 <= text.size() ? hex(text.substr(at + 2, 4)) : -1;
  if (low >= 0xdc00 && low < 0xe000) {
    c = 0x10000 + ((c - 0xd800) << 10) + (static_cast<char32_t>(low) - 0xdc00);
    at += 6;
  }
  if (c == 0 || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  uint8_t bytes[4];
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(utf8::encode(c, bytes)));
  return at;
}

// The value of a string literal of JSON or JavaScript, without its quotes.
std::string decoded(std::string_view literal) {
  std::string out;
  out.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    const size_t end = std::min(literal.find('\\', at), literal.size());
    out.append(literal, at, end - at);
    if (end + 1 >= literal.size()) break;
    const char escaped = literal[end + 1];
    at = end + 2;
    switch (escaped) {
      case 'n':
      case 't':
      case 'r':
      case 'b':
      case 'f':
        out += ' ';
        break;
      case 'u':
        at = decode_hex(literal, at, 4, out);
        break;
      case 'x':
        at = decode_hex(literal, at, 2, out);
        break;
      default:
        out += escaped;
    }
  }
  return out;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

// Whether `text` has most of the title's words, by their bytes.
bool names(std::string_view text, std::string_view title) {
  title = title.substr(0, kTitleMost);
  size_t all = 0, found = 0;
  for (size_t at = 0; at < title.size();) {
    size_t end = at;
    while (end < title.size() && is_word(title[end])) ++end;
    const std::string_view word = title.substr(at, end - at);
    at = end + 1;
    if (word.size() < kTitleWord) continue;
    all += word.size();
    found += text.find(word) != std::string_view::npos ? word.size() : 0;
  }
  return found * 2 > all;
}

// Takes the longest markup in the strings of `text` into `longest`, if it is longer.
void find_markup(std::string_view text, int depth, std::string& longest, uint64_t& steps) {
  steps += text.size();
  for (size_t at = 0, last = 0; at < text.size(); ++at) {
    if (!is_paragraph(text, at)) continue;
    const std::string_view before = text.substr(last, at - last);
    size_t quote = before.rfind('"');
    while (quote != std::string_view::npos && is_escaped(before, quote))
      quote = quote == 0 ? std::string_view::npos : before.rfind('"', quote - 1);
    const size_t begin = last + quote + 1;
    if (quote == std::string_view::npos) {
      last = at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) return;
    at = last = end + 1;
    const std::string_view literal = text.substr(begin, end - begin);
    if (literal.size() < kLeast) continue;
    steps += literal.size();
    std::string value = decoded(literal);
    const size_t first = value.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) continue;
    if (value[first] == '<') {
      if (value.size() > longest.size()) longest = std::move(value);
    } else if (depth < kDepth) {
      find_markup(value, depth + 1, longest, steps);
    }
  }
}

bool has_paragraphs(std::string_view markup) {
  size_t count = 0;
  for (size_t at = 0; at < markup.size() && count < 2; ++at) count += is_paragraph(markup, at) ? 1 : 0;
  return count == 2;
}

}  // namespace

// Collects the page's title and scripts.
class ScriptMarkup::Reader : public HtmlEvents {
 public:
  void read(std::string_view html) {
    title.clear();
    scripts.clear();
    to_ = nullptr;
    (void)parser_.parse(html, *this);  // it was parsed before
  }

  void start(const Element& element, HtmlAttributes attributes) override {
    to_ = nullptr;
    if (element.role == ElementRole::script) {
      if (!ArticleData::is_data(attributes)) to_ = &scripts.emplace_back();
    } else if (element.name == "title" && title.empty()) {
      to_ = &title;
    }
  }
  void end() override { to_ = nullptr; }
  void end_link() override {}
  void text(std::string_view text) override {
    if (to_ != nullptr) *to_ += text;
  }

  std::string title;
  std::vector<std::string> scripts;

 private:
  HtmlParser parser_;
  std::string* to_ = nullptr;
};

ScriptMarkup::ScriptMarkup() = default;
ScriptMarkup::~ScriptMarkup() = default;

std::string_view ScriptMarkup::find(std::string_view html) {
  if (reader_ == nullptr) reader_ = std::make_unique<Reader>();
  reader_->read(html);
  longest_.clear();
  steps_ = 0;
  std::string markup;
  for (const std::string& script : reader_->scripts) {
    markup.clear();
    find_markup(script, 1, markup, steps_);
    if (markup.size() > longest_.size() && has_paragraphs(markup) && names(decoded(script), reader_->title))
      longest_.swap(markup);
  }
  return longest_;
}

}  // namespace doppel
