#include "formats/html/html_scan.h"

#include <algorithm>
#include <string>

#include "formats/bytes/http.h"
#include "formats/html/html_elements.h"

namespace doppel {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Elements whose content is text up to their end tag.
bool is_raw(std::string_view name) {
  for (std::string_view raw :
       {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}) {
    if (equal_names(name, raw)) return true;
  }
  return false;
}

// The position of the end tag of a raw element; the end of the page if there is none.
size_t raw_end(std::string_view html, size_t at, std::string_view name) {
  while ((at = html.find("</", at)) != kNone) {
    if (equal_names(html.substr(at + 2, name.size()), name)) return at;
    at += 2;
  }
  return html.size();
}

class Scanner {
 public:
  explicit Scanner(std::string_view html) : html_(html) {}

  ScannedPage scan() {
    size_t at = 0;
    size_t last = 0;  // end of the last tag or comment
    bool blank = true;
    while ((at = html_.find('<', at)) != kNone) {
      blank = blank && std::all_of(html_.begin() + static_cast<ptrdiff_t>(last),
                                   html_.begin() + static_cast<ptrdiff_t>(at), is_space);
      last = at;
      if (html_.substr(at, 4) == "<!--") {
        at = last = comment(at);
        continue;
      }
      const bool closing = at + 1 < html_.size() && html_[at + 1] == '/';
      const size_t name = at + (closing ? 2 : 1);
      if (name >= html_.size() || !is_letter(html_[name])) {
        ++at;
        continue;
      }
      tag(at, name, closing);
      ScannedTag& read = out_.tags.back();
      read.directly_behind = blank;
      at = last = read.end;
      blank = true;
      if (closing || !is_raw(read.name)) continue;
      read.text_end = raw_end(html_, at, read.name);
      at = last = read.text_end;
    }
    return std::move(out_);
  }

 private:
  size_t comment(size_t at) {
    const size_t text = at + 4;
    const size_t close = html_.find("-->", text);
    const size_t text_end = std::min(close, html_.size());
    const size_t end = close == kNone ? html_.size() : close + 3;
    out_.comments.push_back({at, end, html_.substr(text, text_end - text)});
    return end;
  }

  void tag(size_t begin, size_t at, bool closing) {
    ScannedTag& tag = out_.tags.emplace_back();
    tag.begin = begin;
    tag.closing = closing;
    const size_t name = at;
    while (at < html_.size() && html_[at] != '>' && html_[at] != '/' && !is_space(html_[at])) ++at;
    tag.name = html_.substr(name, at - name);
    tag.script = !closing && equal_names(tag.name, "script");
    while (at < html_.size() && html_[at] != '>') {
      if (is_space(html_[at]) || html_[at] == '/') {
        ++at;
        continue;
      }
      const size_t attribute = at;
      while (at < html_.size() && html_[at] != '>' && html_[at] != '=' && html_[at] != '/' &&
             !is_space(html_[at])) {
        ++at;
      }
      if (at == attribute) ++at;  // a stray =
      const std::string_view label = html_.substr(attribute, at - attribute);
      take(tag, label, value(at));
    }
    tag.end = std::min(at + 1, html_.size());
  }

  // The value after an attribute's name, if there is one.
  std::string_view value(size_t& at) const {
    size_t next = at;
    while (next < html_.size() && is_space(html_[next])) ++next;
    if (next >= html_.size() || html_[next] != '=') return {};
    for (++next; next < html_.size() && is_space(html_[next]);) ++next;
    at = next;
    if (at >= html_.size()) return {};
    if (html_[at] == '"' || html_[at] == '\'') {
      const size_t begin = at + 1;
      const size_t end = std::min(html_.find(html_[at], begin), html_.size());
      at = std::min(end + 1, html_.size());
      return html_.substr(begin, end - begin);
    }
    const size_t begin = at;
    while (at < html_.size() && html_[at] != '>' && !is_space(html_[at])) ++at;
    return html_.substr(begin, at - begin);
  }

  static void take(ScannedTag& tag, std::string_view label, std::string_view value) {
    if (equal_names(label, "id")) {
      tag.id = value;
    } else if (equal_names(label, "hidden")) {
      tag.hidden = true;
    } else if (equal_names(label, "style")) {
      tag.hidden = tag.hidden || hides(value);
    } else if (equal_names(label, "src")) {
      tag.script = false;
    } else if (equal_names(label, "data-sid")) {
      tag.data_sid = value;
    } else if (equal_names(label, "data-bid") || equal_names(label, "data-pid")) {
      tag.data_target = value;
    }
  }

  std::string_view html_;
  ScannedPage out_;
};

}  // namespace

bool equal_names(std::string_view a, std::string_view b) { return equal_ignoring_case(a, b); }

bool is_void_element(std::string_view name) {
  std::string plain(name.substr(0, 16));
  std::transform(plain.begin(), plain.end(), plain.begin(), lower);
  return element_of(plain).kind == ElementKind::empty || plain == "br" || plain == "hr";
}

bool hides(std::string_view style) {
  std::string plain;
  for (char c : style.substr(0, 1024)) {
    if (!is_space(c)) plain.push_back(lower(c));
  }
  return plain.find("display:none") != std::string::npos ||
         plain.find("visibility:hidden") != std::string::npos;
}

ScannedPage scan_html(std::string_view html) { return Scanner(html).scan(); }

}  // namespace doppel
