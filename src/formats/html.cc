#include "formats/html.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "formats/html_data.h"
#include "formats/html_elements.h"
#include "formats/html_main.h"
#include "formats/html_parser.h"

namespace doppel {
namespace {

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

// One page: its events in order become text, and for `main` blocks and the elements around them.
class HtmlExtractor::Page final : public HtmlEvents {
 public:
  absl::StatusOr<std::string_view> text(std::string_view html, Extract what) {
    blocks_.clear();
    if (what == Extract::none) return html;
    if (html.size() > kMaxBytes) return invalid("html: more than 1 GB");
    main_ = what == Extract::main;
    data_.clear();
    // The parser takes a zero for the end.
    if (std::memchr(html.data(), '\0', html.size()) != nullptr) {
      without_zeros_.assign(html);
      std::replace(without_zeros_.begin(), without_zeros_.end(), '\0', ' ');
      html = without_zeros_;
    }
    RETURN_IF_ERROR(read(html));
    if (!main_) return text_;
    close_block();
    const std::string_view chosen = chooser_.choose(text_, blocks_, nodes_);
    return chooser_.nearly_empty() && read_data() ? data_text_ : chosen;
  }

  void start(const Element& element, HtmlAttributes attributes) override {
    Around here = around_.back();
    here.element = &element;
    if (!here.unseen) {
      here.unseen = element.kind == ElementKind::unseen || is_hidden(attributes);
      here.data = main_ && here.unseen && element.name == "script" && is_data(attributes);
      if (here.data) data_.begin();
      if (!here.unseen) enter(element, attributes, here);
    }
    around_.push_back(here);
  }

  void end() override {
    const Around here = around_.back();
    around_.pop_back();
    separate(*here.element);
  }

  void end_link() override {
    for (size_t i = around_.size(); i > 0 && around_[i - 1].in_link; --i) around_[i - 1].in_link = false;
  }

  void text(std::string_view text) override {
    const Around& here = around_.back();
    if (here.unseen) {
      if (here.data) data_.add(text);
      return;
    }
    size_t at = 0;
    while (at < text.size()) {
      if (is_space(text[at])) {
        pending_ = std::max(pending_, Pending::space);
        ++at;
        continue;
      }
      const size_t begin = at;
      while (at < text.size() && !is_space(text[at])) ++at;
      if (pending_ != Pending::none) {
        if (!text_.empty()) text_.push_back(pending_ == Pending::line ? '\n' : ' ');
        pending_ = Pending::none;
      }
      if (main_ && !in_block_) {
        in_block_ = true;
        block_.begin = text_.size();
        block_.node = here.node;
        block_.heading = here.heading;
        block_.title = here.title;
      }
      if (here.in_link) block_.link_bytes += at - begin;
      text_.append(text, begin, at - begin);
    }
  }

  std::vector<HtmlPiece> pieces() const {
    std::vector<HtmlPiece> out;
    out.reserve(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const std::string_view all = text_;
      out.push_back({all.substr(blocks_[i].begin, blocks_[i].end - blocks_[i].begin), chooser_.fates()[i]});
    }
    return out;
  }
  uint64_t steps() const { return parser_.steps(); }

 private:
  // What is between the text so far and the next.
  enum class Pending : unsigned char { none, space, line };
  static constexpr size_t kMaxBytes = 1'000'000'000;

  // What is known of the text in an element.
  struct Around {
    const Element* element = nullptr;
    uint32_t node = 0;
    bool unseen = false, in_link = false, heading = false, title = false;
    bool data = false;  // a script of data
  };

  absl::Status read(std::string_view html) {
    text_.clear();
    text_.reserve(html.size() / 2);
    block_ = {};
    in_block_ = false;
    nodes_.assign(1, HtmlNode{});
    around_.assign(1, Around{});
    pending_ = Pending::none;
    return html.empty() ? absl::OkStatus() : parser_.parse(html, *this);
  }

  // Whether the page's data has a text, in data_text_. It may hold markup and entities: it is read as a page
  // is. The page's own text stays, because blocks are parts of it.
  bool read_data() {
    const std::string_view body = data_.body();
    if (letters_of(body) < kEnoughLetters) return false;
    main_ = false;
    text_.swap(data_text_);
    const bool read_it = read(body).ok();
    text_.swap(data_text_);
    if (!read_it || letters_of(data_text_) < kEnoughLetters) return false;
    chooser_.drop_all();
    return true;
  }

  static bool is_data(HtmlAttributes attributes) {
    bool data = false;
    attributes.each([&data](std::string_view name, std::string_view value) {
      data = data || (name == "type" && ArticleData::is_data(value));
    });
    return data;
  }

  void separate(const Element& element) {
    switch (element.kind) {
      case ElementKind::block:
      case ElementKind::heading:
        pending_ = Pending::line;
        break;
      case ElementKind::cell:
        pending_ = std::max(pending_, Pending::space);
        break;
      default:
        return;
    }
    if (main_) close_block();
  }

  static bool is_hidden(HtmlAttributes attributes) {
    bool hidden = false;
    attributes.each([&hidden](std::string_view name, std::string_view value) {
      hidden = hidden || name == "hidden" || (name == "style" && hides(value));
    });
    return hidden;
  }

  void enter(const Element& element, HtmlAttributes attributes, Around& here) {
    separate(element);
    if (!main_) return;
    switch (element.kind) {
      case ElementKind::link:
        attributes.each([&here](std::string_view name, std::string_view) { here.in_link |= name == "href"; });
        return;
      case ElementKind::heading:
        here.heading = true;
        here.title = element.name == "h1";
        break;
      case ElementKind::block:
      case ElementKind::cell:
        break;
      default:
        return;
    }
    if (element.name == "br" || element.name == "hr") return;
    HtmlNode node{.parent = here.node,
                  .marks = marks_of_element(element.name),
                  .running = element.name == "p" || element.name == "ul" || element.name == "ol" ||
                             element.name == "blockquote" || element.name == "pre" ||
                             element.name == "table" || element.name == "dl" ||
                             element.kind == ElementKind::heading};
    // "has-sidebar" on these says nothing about the text in them.
    if (element.name != "html" && element.name != "body") {
      attributes.each([&node](std::string_view name, std::string_view value) {
        node.marks |= marks_of_attribute(name, value);
      });
    }
    here.node = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(node);
  }

  void close_block() {
    if (!in_block_) return;
    block_.end = text_.size();
    blocks_.push_back(block_);
    block_ = {};
    in_block_ = false;
  }

  HtmlParser parser_;
  MainText chooser_;
  bool main_ = false;
  ArticleData data_;
  std::string text_, data_text_, without_zeros_;
  std::vector<Around> around_;  // the page, then what is open
  Pending pending_ = Pending::none;
  std::vector<TextBlock> blocks_;
  TextBlock block_;
  bool in_block_ = false;
  std::vector<HtmlNode> nodes_;
};

HtmlExtractor::HtmlExtractor() : page_(new Page) {}
HtmlExtractor::~HtmlExtractor() = default;

absl::StatusOr<std::string_view> HtmlExtractor::text(std::string_view html, Extract what) {
  return page_->text(html, what);
}

std::vector<HtmlPiece> HtmlExtractor::pieces() const { return page_->pieces(); }
uint64_t HtmlExtractor::steps() const { return page_->steps(); }

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
