#include "formats/html.h"

#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "formats/html_elements.h"
#include "formats/html_main.h"

namespace doppel {
namespace {

std::string_view view(const xmlChar* text) { return reinterpret_cast<const char*>(text); }

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

// "display:none" or "visibility:hidden" in a style attribute, with any spaces.
bool hides(std::string_view style) {
  std::string plain;
  for (char c : style.substr(0, 1024)) {
    if (!is_space(c)) plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  }
  return plain.find("display:none") != std::string::npos ||
         plain.find("visibility:hidden") != std::string::npos;
}

}  // namespace

// One page: libxml2 calls start(), end() and characters() in the order of the page.
class HtmlExtractor::Page {
 public:
  Page() {
    static std::once_flag once;
    std::call_once(once, xmlInitParser);
    std::memset(&handler_, 0, sizeof handler_);
    handler_.startElement = [](void* page, const xmlChar* name, const xmlChar** attributes) {
      static_cast<Page*>(page)->start(view(name), attributes);
    };
    handler_.endElement = [](void* page, const xmlChar* name) { static_cast<Page*>(page)->end(view(name)); };
    handler_.characters = [](void* page, const xmlChar* text, int length) {
      static_cast<Page*>(page)->characters(
          {reinterpret_cast<const char*>(text), static_cast<size_t>(length)});
    };
    handler_.ignorableWhitespace = handler_.characters;
  }

  absl::StatusOr<std::string_view> text(std::string_view html, Extract what) {
    if (what == Extract::none) return html;
    if (html.size() > kMaxBytes) return invalid("html: more than 1 GB");
    main_ = what == Extract::main;
    text_.clear();
    text_.reserve(html.size() / 2);
    blocks_.clear();
    block_ = {};
    open_.clear();
    skip_depth_ = 0;
    elements_ = 0;
    pending_ = Pending::none;
    refused_ = nullptr;
    // The parser takes a zero for the end.
    if (std::memchr(html.data(), '\0', html.size()) != nullptr) {
      without_zeros_.assign(html);
      std::replace(without_zeros_.begin(), without_zeros_.end(), '\0', ' ');
      html = without_zeros_;
    }
    if (!html.empty()) parse(html);
    if (refused_ != nullptr) return invalid(refused_);
    if (!main_) return text_;
    close_block();
    return main_text(text_, blocks_, main_memory_);
  }

 private:
  // What stands between the text so far and the next.
  enum class Pending : unsigned char { none, space, line };
  static constexpr size_t kMaxBytes = 1'000'000'000;

  void parse(std::string_view html) {
    parser_ = htmlCreateMemoryParserCtxt(html.data(), static_cast<int>(html.size()));
    if (parser_ == nullptr) {
      refused_ = "html: no memory for the parser";
      return;
    }
    htmlSAXHandlerPtr own = parser_->sax;
    parser_->sax = &handler_;
    parser_->userData = this;
    htmlCtxtUseOptions(parser_, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                    HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    xmlSwitchEncoding(parser_, XML_CHAR_ENCODING_UTF8);
    // The parser compares every attribute of a tag with those before it. It forgets names beyond this limit,
    // which no page that was written by people comes near.
    xmlDictSetLimit(parser_->dict, kNamesBytes);
    htmlParseDocument(parser_);
    parser_->sax = own;
    htmlFreeParserCtxt(parser_);
    parser_ = nullptr;
  }

  void refuse(const char* reason) {
    if (refused_ == nullptr) refused_ = reason;
    xmlStopParser(parser_);
  }

  void start(std::string_view name, const xmlChar** attributes) {
    if (refused_ != nullptr) return;
    if (++elements_ > kMaxHtmlElements) return refuse("html: more than 1,000,000 elements");
    if (open_.size() >= static_cast<size_t>(kMaxHtmlDepth)) return refuse("html: nested more than 512 deep");
    const ElementKind kind = element_kind(name);
    Open element{kind, block_.place};
    if (skip_depth_ == 0) {
      if (kind == ElementKind::unseen || is_hidden(attributes)) {
        skip_depth_ = open_.size() + 1;
      } else if (kind == ElementKind::cell) {
        separate(Pending::space);
        if (main_) close_block();
      } else if (kind != ElementKind::in_line && kind != ElementKind::link) {
        separate(Pending::line);
      }
      if (main_ && skip_depth_ == 0) enter(name, kind, attributes);
    }
    open_.push_back(element);
  }

  void end(std::string_view /*name*/) {
    if (open_.empty() || refused_ != nullptr) return;
    const Open element = open_.back();
    open_.pop_back();
    if (skip_depth_ > 0) {
      if (skip_depth_ > open_.size()) skip_depth_ = 0;
      if (skip_depth_ > 0) return;
    }
    if (element.kind == ElementKind::cell) {
      separate(Pending::space);
      if (main_) close_block();
    } else if (element.kind != ElementKind::in_line && element.kind != ElementKind::link &&
               element.kind != ElementKind::unseen) {
      separate(Pending::line);
    }
    if (main_) block_.place = element.outside;
  }

  void characters(std::string_view text) {
    if (skip_depth_ > 0) return;
    size_t at = 0;
    while (at < text.size()) {
      if (is_space(text[at])) {
        separate(Pending::space);
        ++at;
        continue;
      }
      const size_t begin = at;
      while (at < text.size() && !is_space(text[at])) ++at;
      if (pending_ != Pending::none) {
        if (!text_.empty()) text_.push_back(pending_ == Pending::line ? '\n' : ' ');
        pending_ = Pending::none;
      }
      text_.append(text, begin, at - begin);
      if (main_ && block_.place.in_link) block_.link_bytes += at - begin;
    }
  }

  void separate(Pending what) {
    pending_ = std::max(pending_, what);
    if (main_ && what == Pending::line) close_block();
  }

  static bool is_hidden(const xmlChar** attributes) {
    if (attributes == nullptr) return false;
    for (; attributes[0] != nullptr; attributes += 2) {
      std::string_view name = view(attributes[0]);
      if (name == "hidden") return true;
      if (name == "style" && attributes[1] != nullptr && hides(view(attributes[1]))) return true;
    }
    return false;
  }

  void enter(std::string_view name, ElementKind kind, const xmlChar** attributes) {
    Place& place = block_.place;
    if (kind == ElementKind::link) place.in_link = true;
    if (kind == ElementKind::heading) place.heading = true;
    place.enter(name);
    if (attributes == nullptr || kind == ElementKind::in_line || kind == ElementKind::link) return;
    // "has-sidebar" on these says nothing about the text in them.
    if (name == "html" || name == "body") return;
    for (; attributes[0] != nullptr; attributes += 2) {
      if (attributes[1] != nullptr) place.enter_attribute(view(attributes[0]), view(attributes[1]));
    }
  }

  void close_block() {
    if (text_.size() > block_.begin) {
      block_.end = text_.size();
      blocks_.push_back(block_);
    }
    block_.begin = text_.size();
    block_.link_bytes = 0;
  }

  struct Open {
    ElementKind kind;
    Place outside;
  };

  static constexpr size_t kNamesBytes = 16 << 10;

  htmlSAXHandler handler_;
  htmlParserCtxtPtr parser_ = nullptr;
  bool main_ = false;
  std::string text_, without_zeros_, main_memory_;
  std::vector<Open> open_;
  size_t skip_depth_ = 0;  // > 0: inside an element that is not seen, the one at this depth
  size_t elements_ = 0;
  Pending pending_ = Pending::none;
  const char* refused_ = nullptr;
  std::vector<TextBlock> blocks_;
  TextBlock block_;
};

HtmlExtractor::HtmlExtractor() : page_(new Page) {}
HtmlExtractor::~HtmlExtractor() = default;

absl::StatusOr<std::string_view> HtmlExtractor::text(std::string_view html, Extract what) {
  return page_->text(html, what);
}

bool looks_like_html(std::string_view text) {
  constexpr size_t kLook = 1024;
  text = text.substr(0, kLook);
  size_t at = 0;
  while (at < text.size() &&
         (is_space(text[at]) || static_cast<unsigned char>(text[at]) == 0xef ||
          static_cast<unsigned char>(text[at]) == 0xbb || static_cast<unsigned char>(text[at]) == 0xbf)) {
    ++at;
  }
  if (at == text.size() || text[at] != '<') return false;
  auto has = [&](std::string_view word) {
    return std::search(text.begin() + static_cast<ptrdiff_t>(at), text.end(), word.begin(), word.end(),
                       [](char a, char b) {
                         return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
                       }) != text.end();
  };
  for (std::string_view word : {"<!doctype html", "<html", "<head", "<body", "<title", "<meta", "<script",
                                "<div", "<table", "<p>", "<h1", "<article", "<!--"}) {
    if (has(word)) return true;
  }
  return false;
}

}  // namespace doppel
