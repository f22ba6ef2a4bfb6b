#include "formats/html/html.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/reason.h"
#include "base/status.h"
#include "formats/html/html_data.h"
#include "formats/html/html_elements.h"
#include "formats/html/html_main.h"
#include "formats/html/html_parser.h"
#include "formats/html/html_scripts.h"
#include "formats/html/html_streamed.h"

namespace doppel {
namespace {

constexpr std::array<bool, 256> kSpaces = [] {
  std::array<bool, 256> spaces{};
  for (const unsigned char c : {' ', '\n', '\t', '\r', '\f'}) spaces[c] = true;
  return spaces;
}();

bool is_space(char c) { return kSpaces[static_cast<unsigned char>(c)]; }

// Whether the text names JavaScript, in any language, as a page does that does not work without it.
bool names_javascript(std::string_view text) {
  constexpr std::string_view kName = "javascript", kShort = "JS";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto is_letter = [&lower](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '.'; };
  if (std::search(text.begin(), text.end(), kName.begin(), kName.end(),
                  [&lower](char a, char b) { return lower(a) == b; }) != text.end())
    return true;
  for (size_t at = text.find(kShort); at != std::string_view::npos; at = text.find(kShort, at + 1)) {
    const size_t end = at + kShort.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

std::string_view first_word(std::string_view text) {
  const auto* begin = std::find_if_not(text.begin(), text.end(), is_space);
  return {begin, static_cast<size_t>(std::find_if(begin, text.end(), is_space) - begin)};
}

}  // namespace

// Turns the events of one page into text and, for `main`, into blocks and their surrounding elements.
class HtmlExtractor::Page final : public HtmlEvents {
 public:
  absl::StatusOr<std::string_view> text(std::string_view html, Extract what) {
    blocks_.clear();
    source_ = TextSource::page;
    why_ = Reason::none;
    steps_ = 0;
    data_.clear_steps();
    if (what == Extract::none) return html;
    if (html.size() > kMaxBytes) return rejected(Reason::html, ": more than 1 GB");
    main_ = what == Extract::main;
    // The parser wants none.
    if (std::memchr(html.data(), '\0', html.size()) != nullptr) {
      without_zeros_.assign(html);
      std::replace(without_zeros_.begin(), without_zeros_.end(), '\0', ' ');
      html = without_zeros_;
    }
    noscript_ = shows_streamed_ = false;
    RETURN_IF_ERROR(read(html));
    if (moves_ && place_moved_parts(html, arranged_)) {
      html = arranged_;
      RETURN_IF_ERROR(read(html));
    } else if (streamed_ && !moves_) {
      shows_streamed_ = true;
      RETURN_IF_ERROR(read(html));
    }
    std::string_view chosen = choose();
    // On some pages, <noscript> holds all the text.
    uint32_t shown = letters_of(text_);
    const bool hint = is_hint(noscript_text_) || (shown < kEnoughLetters && names_javascript(text_));
    if (!hint && noscript_letters_ >= kEnoughLetters && shown * 2 < noscript_letters_) {
      noscript_ = true;
      RETURN_IF_ERROR(read(html));
      chosen = choose();
      shown = letters_of(text_);
    }
    const bool made_by_scripts = scripts_ && (hint || root_ || text_.empty());
    if (!main_) {
      if (made_by_scripts && shown < (hint ? kEnoughLetters : kLittle)) needs_javascript();
      return chosen;
    }
    const bool has_text = !chooser_.nearly_empty() && !chooser_.is_fallback() && !has_little_of_product();
    const bool scripts = scripts_ && chooser_.nearly_empty(), unmade = made_by_scripts && scripts;
    if (has_text ? has_beginning_of_data(chosen) : read_data() || (scripts && read_scripts(html))) {
      chooser_.drop_all();
      source_ = TextSource::data;
      return data_text_;
    }
    // If the page has scripts, they make most of it, or all.
    if (has_text) return chosen;
    if (scripts || (!chosen.empty() && chooser_.is_fallback())) {
      source_ = TextSource::fallback;
      why_ = Reason::fallback;
    }
    if (unmade) needs_javascript();
    return chosen;
  }

  void start(const Element& tag, HtmlAttributes attributes) override {
    static const Element& shown_noscript = element_of("div", html_name_key("div"));
    opened_root_ = false;
    Around here = around_.back();
    const bool shows_noscript = noscript_ && tag.role == ElementRole::noscript;
    const Element& element = shows_noscript ? shown_noscript : tag;
    here.element = &element;
    const bool behind_part = std::exchange(behind_part_, false);
    here.part = false;
    if (std::exchange(here.folded, false) && is_panel(attributes)) here.unseen = false;
    if (!here.unseen) {
      const bool script = element.role == ElementRole::script;
      moves_ = moves_ || (behind_part && script);
      scripts_ = scripts_ || script;
      if (main_ && element.role == ElementRole::meta) kind_.see_meta(attributes);
      here.unseen = is_unseen(element, attributes);
      here.part = here.unseen && may_move_;
      here.folded = main_ && here.unseen && element.kind != ElementKind::unseen;
      here.noscript = here.unseen && element.role == ElementRole::noscript;
      if (!here.unseen) {
        enter(element, attributes, here);
        opened_root_ = around_.size() <= kRootDepth && !root_ && may_be_root(element, attributes);
      }
    }
    // Data is never shown, so it may be in a hidden element, too.
    here.data = main_ && element.role == ElementRole::script && ArticleData::is_data(attributes);
    if (here.data) data_.begin();
    around_.push_back(here);
  }

  void end() override {
    const Around here = around_.back();
    root_ = root_ || std::exchange(opened_root_, false);
    around_.pop_back();
    behind_part_ = here.part;
    separate(*here.element);
  }

  void end_link() override {
    for (size_t i = around_.size(); i > 0 && around_[i - 1].in_link; --i) around_[i - 1].in_link = false;
  }

  void text(std::string_view text) override {
    const Around& here = around_.back();
    if (here.unseen) {
      if (here.data) data_.add(text);
      if (here.noscript) {
        noscript_letters_ += static_cast<uint32_t>(
            std::count_if(text.begin(), text.end(), [](char c) { return !is_space(c); }));
        if (noscript_text_.size() < kHintBytes) noscript_text_.append(text).push_back('\n');
      }
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
      behind_part_ = opened_root_ = false;
      // Words separated by single spaces are copied at once.
      size_t spaces = 0;
      for (;; ++at, ++spaces) {
        while (at < text.size() && !is_space(text[at])) ++at;
        if (at + 1 >= text.size() || text[at] != ' ' || is_space(text[at + 1])) break;
      }
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
      if (here.in_link) block_.link_bytes += at - begin - spaces;
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
  uint64_t steps() const { return steps_ + data_.steps(); }
  TextSource source() const { return source_; }
  Reason why_unscored() const { return why_; }

 private:
  // The separator between the text so far and the next text.
  enum class Pending : unsigned char { none, space, line };
  static constexpr size_t kMaxBytes = 1'000'000'000;
  static constexpr uint32_t kLittle = 60;     // letters: "Loading", a name
  static constexpr uint32_t kHint = 400;      // letters of a hint about JavaScript
  static constexpr size_t kHintBytes = 4096;  // of noscript that are examined for it
  static constexpr size_t kRootDepth = 4;     // of the open elements: a child of the body's child

  // The context of the text in an element.
  struct Around {
    const Element* element = nullptr;
    uint32_t node = 0;
    bool unseen = false, in_link = false, heading = false, title = false;
    bool data = false;    // a script that holds data
    bool part = false;    // hidden, but a script may move it
    bool folded = false;  // hidden, but its child may be what a reader unfolds
    bool noscript = false;
    bool in_content = false;  // inside an element that is marked as content
  };

  std::string_view choose() {
    if (!main_) return text_;
    close_block();
    kind_.see_data(data_.scripts(), data_.has_product());
    if (kind_.is_forum()) {
      // On a forum, the comments are the content.
      for (HtmlNode& node : nodes_) {
        node.marks &= ~kMarkComments;
        node.names &= ~kMarkComments;
      }
    }
    const std::string_view chosen = chooser_.choose(text_, blocks_, nodes_, subject());
    steps_ += chooser_.steps();
    return chosen;
  }

  // Whether a noscript says hardly more than that the page needs JavaScript.
  static bool is_hint(std::string_view noscript) {
    uint64_t hints = 0, others = 0;  // letters of lines
    while (!noscript.empty()) {
      const std::string_view line = noscript.substr(0, noscript.find('\n'));
      noscript.remove_prefix(std::min(line.size() + 1, noscript.size()));
      (names_javascript(line) ? hints : others) += letters_of(line);
    }
    return hints > 0 && hints < kHint && others < kEnoughLetters;
  }

  void needs_javascript() {
    source_ = TextSource::fallback;
    why_ = Reason::needs_javascript;
  }

  Subject subject() const {
    if (!kind_.is_one_thing() || kind_.is_forum()) return Subject::many;
    return kind_.is_product() ? Subject::product : Subject::article;
  }

  absl::Status read(std::string_view html) {
    if (main_) blocks_.clear();
    noscript_letters_ = 0;
    noscript_text_.clear();
    kind_.clear();
    text_.clear();
    text_.reserve(html.size() / 2);
    block_ = {};
    in_block_ = false;
    nodes_.assign(1, HtmlNode{});
    around_.assign(1, Around{});
    pending_ = Pending::none;
    behind_part_ = moves_ = streamed_ = scripts_ = root_ = opened_root_ = false;
    data_.clear();
    if (html.empty()) return absl::OkStatus();
    const absl::Status status = parser_.parse(html, *this);
    steps_ += parser_.steps();
    return status;
  }

  // Whether the page has little text in comparison with its product data, which a script may show.
  bool has_little_of_product() {
    return data_.has_product() && chooser_.plain_letters() * 2 < letters_of(data_.body());
  }

  // Takes the text of the page's data into data_text_, if there is enough.
  bool read_data() { return read_markup(data_.body()); }

  // The same for markup in the page's scripts.
  bool read_scripts(std::string_view html) {
    const std::string_view markup = script_markup_.find(html);
    steps_ += script_markup_.steps();
    return read_markup(markup);
  }

  // It may contain markup and entities, so it is parsed like a page. The page's own text stays, because
  // blocks refer to it.
  bool read_markup(std::string_view body) {
    if (letters_of(body) < kEnoughLetters) return false;
    main_ = false;
    text_.swap(data_text_);
    const bool read_it = read(body).ok();
    text_.swap(data_text_);
    return read_it && letters_of(data_text_) >= kEnoughLetters;
  }

  // Whether the page shows only the beginning of the article in its data: the rest is for readers who pay. Or
  // hardly anything beside so much data, such as a caption: a script shows the rest.
  bool has_beginning_of_data(std::string_view chosen) {
    constexpr size_t kLine = 100;  // bytes of a line
    constexpr uint64_t kMuchMore = 8, kCaption = 300;
    const uint64_t most = 2ULL * letters_of(chosen);
    if (data_.scripts().size() < most || letters_of(data_.body()) < most) return false;
    if (!read_data() || letters_of(data_text_) < most) return false;
    if (letters_of(chosen) < kCaption && letters_of(data_text_) > kMuchMore * letters_of(chosen)) return true;
    size_t all = 0, held = 0;  // bytes
    lines_.clear();
    while (!chosen.empty()) {
      const std::string_view line = chosen.substr(0, chosen.find('\n'));
      chosen.remove_prefix(std::min(line.size() + 1, chosen.size()));
      if (line.size() < kLine) continue;
      all += line.size();
      Line& known = lines_.try_emplace(beginning(line), Line{line.substr(0, kCompared)}).first->second;
      if (known.begins == line.substr(0, kCompared)) known.bytes += line.size();
    }
    if (lines_.empty()) return false;
    // The hash of each kCompared bytes of the data.
    const std::string_view data = data_text_;
    uint32_t hash = 0, power = 1;
    for (size_t i = 1; i < kCompared; ++i) power *= kFactor;
    for (size_t end = 0; end < data.size() && held * 2 <= all; ++end, ++steps_) {
      if (end >= kCompared) hash -= power * static_cast<unsigned char>(data[end - kCompared]);
      hash = hash * kFactor + static_cast<unsigned char>(data[end]);
      if (end + 1 < kCompared) continue;
      const auto at = lines_.find(hash);
      if (at == lines_.end()) continue;
      if (at->second.begins != data.substr(end + 1 - kCompared, kCompared)) continue;
      held += std::exchange(at->second.bytes, 0);
    }
    return held * 2 > all;
  }

  static constexpr size_t kCompared = 50;  // bytes at the start of a line
  struct Line {
    std::string_view begins;
    size_t bytes = 0;  // of all lines that begin so
  };
  static constexpr uint32_t kFactor = 0x9e3779b1;

  static uint32_t beginning(std::string_view line) {
    uint32_t hash = 0;
    for (const char c : line.substr(0, kCompared)) hash = hash * kFactor + static_cast<unsigned char>(c);
    return hash;
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

  // Whether scripts may put the page into this element, if it is empty.
  static bool may_be_root(const Element& element, HtmlAttributes attributes) {
    if (element.is_void || (element.kind != ElementKind::block && element.role != ElementRole::unknown))
      return false;
    bool has_id = element.role == ElementRole::unknown;  // <app-root>
    attributes.each([&has_id](HtmlAttribute name, std::string_view) { has_id |= name == HtmlAttribute::id; });
    return has_id;
  }

  // Whether a reader unfolds the element: a tab, a section below a heading that is a button, or what a
  // browser shows when it finds a word in it.
  static bool is_panel(HtmlAttributes attributes) {
    bool tab = false, section = false, labelled = false, found = false;
    attributes.each([&](HtmlAttribute name, std::string_view value) {
      found = found || (name == HtmlAttribute::hidden && value == "until-found");
      tab = tab || (name == HtmlAttribute::role && value == "tabpanel");
      section = section || (name == HtmlAttribute::role && value == "region");
      labelled = labelled || name == HtmlAttribute::aria_labelledby;
    });
    return tab || found || (section && labelled);
  }

  // Whether React names a part so that it sends behind the page: "S:1f".
  static bool is_streamed(std::string_view id) {
    return id.size() > 2 && id.starts_with("S:") && std::all_of(id.begin() + 2, id.end(), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
  }

  // A template is visible if it is a declarative shadow root, or if a turbo-stream element inserts it into
  // the page.
  bool is_unseen(const Element& element, HtmlAttributes attributes) {
    // Others write the same text without its readings.
    if (main_ && element.role == ElementRole::reading && around_.back().element != nullptr &&
        around_.back().element->role == ElementRole::ruby)
      return true;
    const bool never_shown = element.kind == ElementKind::unseen;
    bool hidden = never_shown;
    const bool is_template = hidden && element.role == ElementRole::unseen_template;
    bool has_id = element.role == ElementRole::table;  // stands for the ids of its rows
    bool streamed = false, has_hidden = false;
    if (is_template && around_.back().element != nullptr &&
        around_.back().element->role == ElementRole::turbo_stream)
      hidden = false;
    attributes.each([&](HtmlAttribute name, std::string_view value) {
      has_id = has_id || name == HtmlAttribute::id;
      streamed = streamed || (name == HtmlAttribute::id && is_streamed(value));
      has_hidden = has_hidden || name == HtmlAttribute::hidden;
      if (is_template) {
        hidden = hidden && name != HtmlAttribute::shadowrootmode && name != HtmlAttribute::shadowroot;
        moves_ = moves_ || name == HtmlAttribute::data_sid;
      } else {
        hidden = hidden || name == HtmlAttribute::hidden || (name == HtmlAttribute::style && hides(value));
      }
    });
    may_move_ = has_id && (is_template || !never_shown);
    streamed = streamed && has_hidden && !never_shown;
    streamed_ = streamed_ || streamed;
    // A body is hidden until its script has run.
    if (hidden && !never_shown && (element.role == ElementRole::body || (main_ && is_panel(attributes))))
      return false;
    return hidden && !(streamed && shows_streamed_);
  }

  void enter(const Element& element, HtmlAttributes attributes, Around& here) {
    separate(element);
    if (!main_) return;
    switch (element.kind) {
      case ElementKind::link:
        attributes.each(
            [&here](HtmlAttribute name, std::string_view) { here.in_link |= name == HtmlAttribute::href; });
        return;
      case ElementKind::heading:
        here.heading = true;
        here.title = element.name == "h1";
        break;
      case ElementKind::block:
      case ElementKind::cell:
        break;
      case ElementKind::empty:
        if (!in_block_ && element.name == "img") nodes_[here.node].picture = true;
        return;
      default:
        return;
    }
    if (element.is_void) return;
    HtmlNode node{.parent = here.node,
                  .marks = marks_of_element(element.name),
                  .like = element.number,
                  .title = here.title,
                  .running = element.name == "p" || element.name == "ul" || element.name == "ol" ||
                             element.name == "blockquote" || element.name == "pre" ||
                             element.name == "table" || element.name == "dl" ||
                             element.kind == ElementKind::heading,
                  .no_box = element.kind == ElementKind::cell || element.name == "pre",
                  .list = element.name == "ul" || element.name == "ol"};
    // The header of a part of the content is not the page's header.
    if (here.in_content && element.role == ElementRole::header) node.marks = kMarkLead;
    // On these, a name like "has-sidebar" says nothing about the text inside.
    const bool whole_page = element.role == ElementRole::html || element.role == ElementRole::body;
    kind_.see_element(element.name);
    attributes.each([&](HtmlAttribute name, std::string_view value) {
      if (name == HtmlAttribute::class_ || name == HtmlAttribute::id) {
        if (!whole_page) node.names |= marks_.of_names(value);
        if (name == HtmlAttribute::class_) {
          if (node.names != 0)
            node.class_hash = static_cast<uint32_t>(XXH3_64bits(value.data(), value.size()));
          const std::string_view first = first_word(value);
          node.like ^= static_cast<uint32_t>(XXH3_64bits(first.data(), first.size()));
        }
      } else if (!whole_page) {
        node.marks |= marks_of_attribute(name, value);
      }
      if (whole_page || name == HtmlAttribute::itemtype) kind_.see_attribute(name, value);
    });
    here.in_content = here.in_content || ((node.marks | node.names) & kMarkContent) != 0;
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
  TextSource source_ = TextSource::page;
  Reason why_ = Reason::none;
  uint64_t steps_ = 0;
  absl::flat_hash_map<uint32_t, Line> lines_;  // by the hash of how they begin
  ArticleData data_;
  ScriptMarkup script_markup_;
  PageKind kind_;
  MarksMemory marks_;
  std::string text_, data_text_, without_zeros_, arranged_, noscript_text_;
  std::vector<Around> around_;  // the page, then the open elements
  Pending pending_ = Pending::none;
  std::vector<TextBlock> blocks_;
  TextBlock block_;
  bool in_block_ = false;
  bool noscript_ = false;          // show the content of noscript
  uint32_t noscript_letters_ = 0;  // in hidden noscript
  bool may_move_ = false;          // the last start tag has an id and hidden content
  bool behind_part_ = false;       // a hidden part has just ended
  bool scripts_ = false;           // the page has scripts
  bool opened_root_ = false;       // the last event began an element that may be the root of an app
  bool root_ = false;              // such an element was empty
  bool moves_ = false;             // a script follows such a part
  bool streamed_ = false;          // there are parts that React's script would move,
  bool shows_streamed_ = false;    // and they are shown where they are, because no script does
  std::vector<HtmlNode> nodes_;
};

HtmlExtractor::HtmlExtractor() : page_(new Page) {}
HtmlExtractor::~HtmlExtractor() = default;

absl::StatusOr<std::string_view> HtmlExtractor::text(std::string_view html, Extract what) {
  return page_->text(html, what);
}

std::vector<HtmlPiece> HtmlExtractor::pieces() const { return page_->pieces(); }
TextSource HtmlExtractor::source() const { return page_->source(); }
Reason HtmlExtractor::why_unscored() const { return page_->why_unscored(); }
uint64_t HtmlExtractor::steps() const { return page_->steps(); }

std::string_view text_source_name(TextSource source) {
  return source == TextSource::data ? "data" : source == TextSource::fallback ? "fallback" : "";
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
  // Programs on servers print before the page, or only a part of it. In XML these are seldom the outermost.
  const std::string_view tag = text.substr(at + 1, text.find_first_of(" \t\r\n\f/>", at) - at - 1);
  constexpr std::string_view kBegins[] = {
      "a",   "b",  "br", "center", "font", "footer", "h2", "h3",      "header", "i",    "img",   "main",
      "nav", "ol", "p",  "span",   "ul",   "style",  "hr", "section", "strong", "form", "iframe"};
  return at + 1 + tag.size() < text.size() &&
         std::any_of(
             std::begin(kBegins), std::end(kBegins),
             [tag](std::string_view word) { return equal_names(tag, word); });
}

}  // namespace doppel
