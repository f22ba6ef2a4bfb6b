#include "formats/html/html_parser.h"

#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "base/status.h"
#include "formats/html/html.h"

namespace doppel {
namespace {

// Each element that only libxml2 considers open costs it a step for each end tag. This limits pages with
// thousands of unclosed in-line elements.
constexpr size_t kMaxParsed = 1024;
constexpr size_t kNamesBytes = 16 << 10;
constexpr size_t kLongestName = 16;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

// Whether the content is raw text: in a script, "</div>" is not a tag.
bool holds_bytes(const Element& element) { return element.kind == ElementKind::unseen && element.wall == 0; }

}  // namespace

struct HtmlParser::Callbacks {
  static void start(void* self, const xmlChar* name, const xmlChar** attributes) {
    static_cast<HtmlParser*>(self)->start(reinterpret_cast<const char*>(name), attributes);
  }
  static void end(void* self, const xmlChar* /*name*/) { static_cast<HtmlParser*>(self)->end(); }
  static void text(void* self, const xmlChar* text, int length) {
    static_cast<HtmlParser*>(self)->text({reinterpret_cast<const char*>(text), static_cast<size_t>(length)});
  }
  static void comment(void* self, const xmlChar* /*text*/) { static_cast<HtmlParser*>(self)->catch_up(); }
  static void instruction(void* self, const xmlChar* /*target*/, const xmlChar* /*data*/) {
    static_cast<HtmlParser*>(self)->catch_up();
  }
  static htmlSAXHandler handler() {
    htmlSAXHandler out = {};
    out.startElement = start;
    out.endElement = end;
    out.characters = text;
    out.ignorableWhitespace = text;
    out.comment = comment;
    out.processingInstruction = instruction;
    return out;
  }
};

HtmlParser::HtmlParser() {
  static std::once_flag once;
  std::call_once(once, xmlInitParser);
}

absl::Status HtmlParser::parse(std::string_view html, HtmlEvents& events) {
  html_ = html;
  events_ = &events;
  seen_ = 0;
  open_.clear();
  parsed_.clear();
  elements_ = 0;
  steps_ = 0;
  refused_ = nullptr;
  parser_ = htmlCreateMemoryParserCtxt(html.data(), static_cast<int>(html.size()));
  if (parser_ == nullptr) return invalid("html: no memory for the parser");
  htmlSAXHandler handler = Callbacks::handler();
  htmlSAXHandlerPtr own = parser_->sax;
  parser_->sax = &handler;
  parser_->userData = this;
  htmlCtxtUseOptions(parser_, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                  HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
  xmlSwitchEncoding(parser_, XML_CHAR_ENCODING_UTF8);
  // The parser compares each attribute of a tag with the previous ones. Beyond this limit it forgets names;
  // pages written by people never reach it.
  xmlDictSetLimit(parser_->dict, kNamesBytes);
  htmlParseDocument(parser_);
  parser_->sax = own;
  htmlFreeParserCtxt(parser_);
  parser_ = nullptr;
  if (refused_ != nullptr) return invalid(refused_);
  close_to(0);
  return absl::OkStatus();
}

void HtmlParser::refuse(const char* reason) {
  if (refused_ == nullptr) refused_ = reason;
  xmlStopParser(parser_);
}

// The parser may have moved its copy of the page, so the position follows from the bytes that are left.
size_t HtmlParser::position() const {
  const auto left = static_cast<size_t>(parser_->input->end - parser_->input->cur);
  return left <= html_.size() ? html_.size() - left : html_.size();
}

// Handles the end tags between the last event and the parser's position. Text and start tags are events
// themselves.
void HtmlParser::catch_up() {
  const size_t now = position();
  size_t at = seen_;
  if (!open_.empty() && holds_bytes(*open_.back().element)) at = now;
  while (at < now) {
    ++steps_;
    // The event of a start tag comes before its last bytes are read.
    if (is_space(html_[at]) || html_[at] == '/' || html_[at] == '>') {
      ++at;
      continue;
    }
    if (html_[at] != '<' || at + 2 >= now || html_[at + 1] != '/' || !is_letter(html_[at + 2])) break;
    std::array<char, kLongestName> name{};
    size_t size = 0;
    for (at += 2; at < now && html_[at] != '>' && html_[at] != '/' && !is_space(html_[at]); ++at, ++steps_) {
      const char c = html_[at];
      if (size < name.size()) name[size] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      ++size;
    }
    while (at < now && html_[at] != '>') ++at, ++steps_;
    if (at < now) ++at;
    if (size <= name.size()) end_tag({name.data(), size});
  }
  seen_ = std::max(seen_, now);
}

void HtmlParser::end_tag(std::string_view name) {
  const Element& element = element_of(name);
  if (element.name.empty()) return;
  for (size_t height = open_.size(); height > 0; --height) {
    ++steps_;
    Open& open = open_[height - 1];
    const bool same = open.element == &element ||
                      (element.kind == ElementKind::heading && open.element->kind == ElementKind::heading);
    if (same) return close_to(height - 1);
    if (!bounds(*open.element, element.reach)) continue;
    if (element.kind == ElementKind::link) events_->end_link();
    return;
  }
}

void HtmlParser::close_to(size_t height) {
  while (open_.size() > height) {
    ++steps_;
    if (open_.back().place < parsed_.size()) parsed_[open_.back().place] = kClosed;
    open_.pop_back();
    events_->end();
  }
}

void HtmlParser::start(std::string_view name, const unsigned char** attributes) {
  if (refused_ != nullptr) return;
  catch_up();
  if (++elements_ > kMaxHtmlElements) return refuse("html: more than 1,000,000 elements");
  if (open_.size() >= static_cast<size_t>(kMaxHtmlDepth) || parsed_.size() >= kMaxParsed) {
    return refuse("html: nested more than 512 deep");
  }
  const Element& element = element_of(name);
  events_->start(element, HtmlAttributes(attributes));
  if (element.kind == ElementKind::empty) {
    parsed_.push_back(kClosed);
    return events_->end();
  }
  open_.push_back({&element, parsed_.size()});
  parsed_.push_back(open_.size() - 1);
}

void HtmlParser::end() {
  if (refused_ != nullptr) return;
  catch_up();
  if (parsed_.empty()) return;
  const size_t height = parsed_.back();
  if (height != kClosed) close_to(height);
  parsed_.pop_back();
}

void HtmlParser::text(std::string_view text) {
  if (refused_ != nullptr) return;
  catch_up();
  events_->text(text);
}

}  // namespace doppel
