#include "formats/html/html_scan.h"

#include <algorithm>
#include <utility>

#include "formats/bytes/http.h"
#include "formats/html/html_elements.h"
#include "formats/html/html_tokens.h"

namespace doppel {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

void take(ScannedTag& tag, HtmlAttribute attribute, std::string_view value) {
  switch (attribute) {
    case HtmlAttribute::id:
      tag.id = value;
      return;
    case HtmlAttribute::hidden:
      tag.hidden = true;
      return;
    case HtmlAttribute::style:
      tag.hidden = tag.hidden || hides(value);
      return;
    case HtmlAttribute::src:
      tag.script = false;
      return;
    case HtmlAttribute::data_sid:
      tag.data_sid = value;
      return;
    case HtmlAttribute::data_bid:
    case HtmlAttribute::data_pid:
      tag.data_target = value;
      return;
    default:
      return;
  }
}

// Whether `text` contains `word`, ignoring its spaces and its case.
bool says(std::string_view text, std::string_view word) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    size_t at = begin;
    size_t found = 0;
    for (; at < text.size() && found < word.size(); ++at) {
      if (is_space(text[at])) continue;
      if (lower(text[at]) != word[found]) break;
      ++found;
    }
    if (found == word.size()) return true;
  }
  return false;
}

}  // namespace

bool equal_names(std::string_view a, std::string_view b) { return equal_ignoring_case(a, b); }

bool is_void_element(std::string_view name) { return element_of(name, html_name_key(name)).is_void; }

bool hides(std::string_view style) {
  constexpr size_t kBytesRead = 1024;
  style = style.substr(0, kBytesRead);
  return says(style, "display:none") || says(style, "visibility:hidden");
}

ScannedPage scan_html(std::string_view html) {
  ScannedPage out;
  HtmlTokens tokens;
  tokens.begin(html);
  bool blank = true;
  for (;;) {
    const HtmlToken& token = tokens.next();
    switch (token.kind) {
      case HtmlToken::Kind::done:
        return out;
      case HtmlToken::Kind::text:
        blank = blank && std::all_of(token.text.begin(), token.text.end(), is_space);
        break;
      case HtmlToken::Kind::doctype:
        break;
      case HtmlToken::Kind::comment:
        // Not "<?" or "<!x": only true comments mark places.
        if (html.substr(token.begin, 4) == "<!--")
          out.comments.push_back({token.begin, token.end, token.text});
        break;
      case HtmlToken::Kind::start:
      case HtmlToken::Kind::end: {
        const bool closing = token.kind == HtmlToken::Kind::end;
        const Element& element = element_of(token.name, token.key);
        ScannedTag& tag = out.tags.emplace_back();
        tag.begin = token.begin;
        tag.end = tag.text_end = token.end;
        tag.name = token.name;
        tag.closing = closing;
        tag.directly_behind = std::exchange(blank, true);
        if (closing) break;
        tag.script = element.role == ElementRole::script;
        for (const HtmlAttributeValue& one : tokens.attributes()) take(tag, one.attribute, one.written);
        if (element.content == HtmlContent::markup ||
            (token.self_closing && element.kind == ElementKind::unseen))
          break;
        tokens.read_as(element.content, element.name);
        tag.text_end = tokens.end_of_text();
        break;
      }
    }
  }
}

}  // namespace doppel
