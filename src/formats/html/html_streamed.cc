#include "formats/html/html_streamed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/bytes/http.h"
#include "formats/html/html_elements.h"
#include "formats/html/html_tokens.h"

namespace doppel {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kOpenParts = 64;  // nested
constexpr size_t kDepth = 64;      // parts moved into parts
// Limits for one page: names that functions build, and functions.
constexpr size_t kMostNames = 200'000;
constexpr size_t kMostFunctions = 32;

struct Part {
  size_t tag = 0;       // index of its start tag
  size_t last_tag = 0;  // index of its end tag
  bool is_template = false;
  size_t begin = 0, inner_begin = 0, inner_end = 0, end = 0;
};

// Inserts the part at `at` and continues with the page at `behind`.
struct Edit {
  size_t at = 0, behind = 0;
  size_t part = kNone;
};

class Arrangement {
 public:
  explicit Arrangement(std::string_view html) : html_(html), page_(scan_html(html)) {}

  bool arrange(std::string& out) {
    find_parts();
    if (by_id_.empty()) return false;
    read_scripts();
    if (edits_.empty()) return false;
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.at < b.at; });
    out.clear();
    out.reserve(html_.size() + 64 * edits_.size());
    emit(0, html_.size(), 0, out);
    return true;
  }

 private:
  // Finds the templates and hidden elements that have an id, with their ends.
  void find_parts() {
    struct Open {
      size_t tag;
      size_t depth;
      std::string_view id;
    };
    std::vector<Open> open;
    bool around_hidden = false;  // in a hidden table, which wraps a part that consists of rows
    for (size_t i = 0; i < page_.tags.size(); ++i) {
      const ScannedTag& tag = page_.tags[i];
      if (!tag.closing && !tag.id.empty()) ids_.emplace(tag.id, i);
      const bool row =
          equal_names(tag.name, "tbody") || equal_names(tag.name, "tr") || equal_names(tag.name, "colgroup");
      const bool hidden = tag.hidden || (around_hidden && row);
      const bool is_template = equal_names(tag.name, "template");
      around_hidden = !tag.closing && hidden && tag.id.empty() && (row || equal_names(tag.name, "table"));
      if (!open.empty() && equal_names(page_.tags[open.back().tag].name, tag.name)) {
        Open& top = open.back();
        top.depth += tag.closing ? 0 : 1;
        if (tag.closing && --top.depth == 0) {
          add_part(top.tag, i, top.id);
          open.pop_back();
        }
        if (tag.closing) continue;
      }
      if (!tag.closing && (hidden || is_template) && !tag.id.empty() && !is_void_element(tag.name) &&
          open.size() < kOpenParts) {
        if (!open.empty() && equal_names(page_.tags[open.back().tag].name, tag.name)) --open.back().depth;
        open.push_back({i, 1, tag.id});
      }
    }
  }

  void add_part(size_t first, size_t last, std::string_view id) {
    const ScannedTag& start = page_.tags[first];
    const ScannedTag& end = page_.tags[last];
    Part part{.tag = first,
              .last_tag = last,
              .is_template = equal_names(start.name, "template"),
              .begin = start.begin,
              .inner_begin = start.end,
              .inner_end = end.begin,
              .end = end.end};
    by_id_.emplace(id, parts_.size());
    parts_.push_back(part);
  }

  bool is_empty(const Part& part) const { return part.inner_begin == part.inner_end; }

  void read_scripts() {
    for (const ScannedTag& tag : page_.tags) {
      if (tag.script) scripts_.push_back(html_.substr(tag.end, tag.text_end - tag.end));
    }
    used_.assign(parts_.size(), 0);
    placed_.assign(parts_.size(), 0);
    for (size_t i = 0; i < page_.tags.size(); ++i) {
      const ScannedTag& tag = page_.tags[i];
      if (!tag.data_sid.empty() && !tag.data_target.empty()) {
        place(find_part(tag.data_sid), find_place(tag.data_target));
      }
      if (!tag.script) continue;
      const std::string_view script = html_.substr(tag.end, tag.text_end - tag.end);
      const std::optional<size_t> before = part_before(i);
      bool moved = false;
      for (const ScriptCall& call : immediate_calls(script)) moved = take(call, before) || moved;
      if (!moved && before && parts_[*before].is_template) take_own_way(script, *before);
    }
  }

  // The part that ends directly before the tag.
  std::optional<size_t> part_before(size_t tag) const {
    if (tag == 0 || !page_.tags[tag].directly_behind || !page_.tags[tag - 1].closing) return std::nullopt;
    // Parts are sorted by their ends.
    const auto at = std::lower_bound(parts_.begin(), parts_.end(), tag - 1,
                                     [](const Part& part, size_t last) { return part.last_tag < last; });
    if (at == parts_.end() || at->last_tag != tag - 1) return std::nullopt;
    return static_cast<size_t>(at - parts_.begin());
  }

  size_t find_part(std::string_view id) const {
    const auto at = by_id_.find(id);
    return at == by_id_.end() || is_empty(parts_[at->second]) ? kNone : at->second;
  }
  size_t find_place(std::string_view id) const {
    const auto at = ids_.find(id);
    return at == ids_.end() ? kNone : at->second;
  }

  // Visits the ids that a function may build: its argument between any two of its strings, or none.
  template <typename Visit>
  void each_id(std::string_view argument, const std::vector<std::string_view>& strings, Visit visit) {
    std::string id;
    const size_t names = (strings.size() + 1) * (strings.size() + 1);
    if (names_ + names > kMostNames) return;
    names_ += names;
    for (size_t i = 0; i <= strings.size(); ++i) {
      for (size_t j = 0; j <= strings.size(); ++j) {
        id.assign(i == 0 ? std::string_view() : strings[i - 1]);
        id += argument;
        if (j > 0) id += strings[j - 1];
        visit(id);
      }
    }
  }

  std::string_view definition(std::string_view function) {
    const auto known = definitions_.find(function);
    if (known != definitions_.end()) return known->second;
    if (definitions_.size() == kMostFunctions) return {};
    std::string_view found;
    for (size_t i = 0; i < scripts_.size() && found.empty(); ++i)
      found = definition_of(function, scripts_[i]);
    if (!moves_nodes(found)) found = {};
    definitions_.emplace(function, found);
    return found;
  }

  bool take(const ScriptCall& call, std::optional<size_t> before) {
    size_t part = kNone;
    size_t target = kNone;
    for (std::string_view argument : call.arguments) {
      if (part == kNone && find_part(argument) != kNone) {
        part = find_part(argument);
      } else if (target == kNone) {
        target = find_place(argument);
      }
    }
    if (part == kNone && !before) return false;
    const bool into_template = part != kNone && target != kNone && is_empty_template(target);
    const std::string_view moving = into_template ? std::string_view() : definition(call.function);
    if (!into_template && moving.empty()) return false;
    if (!into_template && (part == kNone || target == kNone)) {
      const std::vector<std::string_view> strings = short_strings(moving);
      for (std::string_view argument : call.arguments) {
        each_id(argument, strings, [&](std::string_view id) {
          if (part == kNone && find_part(id) == *before) part = *before;
        });
      }
      if (part == kNone) return false;
      for (std::string_view argument : call.arguments) {
        each_id(argument, strings, [&](std::string_view id) {
          const size_t found = target == kNone ? find_place(id) : kNone;
          if (found != kNone && found != parts_[part].tag) target = found;
        });
      }
    }
    return place(part, target);
  }

  // Handles a script directly after a template that names it and moves nodes.
  void take_own_way(std::string_view script, size_t part) {
    if (!moves_nodes(script) || is_empty(parts_[part])) return;
    const std::string_view id = page_.tags[parts_[part].tag].id;
    const std::vector<std::string_view> strings = short_strings(script);
    for (std::string_view name : strings) {
      bool named = false;
      each_id(name, strings, [&](std::string_view made) { named = named || made == id; });
      if (named) return void(place(part, kNone));
    }
  }

  bool is_empty_template(size_t tag) const {
    const auto at = by_id_.find(page_.tags[tag].id);
    return at != by_id_.end() && parts_[at->second].is_template && is_empty(parts_[at->second]);
  }

  bool place(size_t part, size_t target) {
    if (part == kNone || placed_[part] != 0) return false;
    placed_[part] = 1;
    const Part& moved = parts_[part];
    if (target == kNone ||
        (page_.tags[target].begin >= moved.begin && page_.tags[target].begin < moved.end)) {
      edits_.push_back({moved.begin, moved.end, part});
      return true;
    }
    edits_.push_back({moved.begin, moved.end, kNone});
    const size_t at = page_.tags[target].begin;
    edits_.push_back({at, std::max(at, end_of_fallback(target)), part});
    return true;
  }

  // The end of the fallback, which is shown until the part arrives: the comment that closes the one before
  // the place, or that contains the place's id.
  size_t end_of_fallback(size_t target) const {
    const ScannedTag& tag = page_.tags[target];
    auto at =
        std::lower_bound(page_.comments.begin(), page_.comments.end(), tag.begin,
                         [](const ScannedComment& comment, size_t place) { return comment.begin < place; });
    const bool reacts = at != page_.comments.begin() && std::prev(at)->end == tag.begin &&
                        (std::prev(at)->text == "$?" || std::prev(at)->text == "$~");
    constexpr int kLooked = 1000;
    int depth = 0;
    for (int i = 0; at != page_.comments.end() && i < kLooked; ++at, ++i) {
      if (!tag.id.empty() && at->text == tag.id) return at->begin;
      if (!reacts) continue;
      if (at->text == "/$" && depth-- == 0) return at->begin;
      if (at->text.starts_with('$')) ++depth;
    }
    return 0;
  }

  void emit(size_t begin, size_t end, size_t depth, std::string& out) {
    auto edit = std::lower_bound(edits_.begin(), edits_.end(), begin,
                                 [](const Edit& one, size_t place) { return one.at < place; });
    for (; edit != edits_.end() && edit->at < end; ++edit) {
      if (edit->at < begin) continue;  // inside skipped text
      out += html_.substr(begin, edit->at - begin);
      begin = std::max(edit->at, edit->behind);
      if (edit->part == kNone || used_[edit->part] != 0 || depth == kDepth) continue;
      used_[edit->part] = 1;
      const Part& part = parts_[edit->part];
      out += "<div>";
      emit(part.inner_begin, part.inner_end, depth + 1, out);
      out += "</div>";
    }
    if (begin < end) out += html_.substr(begin, end - begin);
  }

  std::string_view html_;
  ScannedPage page_;
  std::vector<Part> parts_;
  std::unordered_map<std::string_view, size_t> by_id_;  // to parts_
  std::unordered_map<std::string_view, size_t> ids_;    // to tags
  std::vector<std::string_view> scripts_;
  std::unordered_map<std::string_view, std::string_view> definitions_;
  std::vector<unsigned char> placed_, used_;
  std::vector<Edit> edits_;
  size_t names_ = 0;
};

}  // namespace

bool place_moved_parts(std::string_view html, std::string& out) { return Arrangement(html).arrange(out); }

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

namespace {

constexpr size_t kBefore = 2000, kBehind = 3000;  // bytes before and after the start of a definition
constexpr size_t kShort = 16;                     // the longest string that may be part of an id
constexpr size_t kArguments = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '$' || c == '_';
}

// Quotes, brackets and the start of comments.
constexpr std::array<bool, 256> kMatters = [] {
  std::array<bool, 256> matters{};
  for (const unsigned char c : {'"', '\'', '`', '/', '{', '(', '[', '}', ')', ']'}) matters[c] = true;
  return matters;
}();

// The position after the string whose opening quote is at `at`.
size_t skip_string(std::string_view script, size_t at) {
  const char quote = script[at];
  for (++at; at < script.size() && script[at] != quote; ++at) {
    if (script[at] == '\\') ++at;
  }
  return std::min(at + 1, script.size());
}

// The position after the comment at `at`; `at` if there is none.
size_t skip_comment(std::string_view script, size_t at) {
  const std::string_view two = script.substr(at, 2);
  if (two != "//" && two != "/*") return at;
  const size_t end = two == "//" ? script.find('\n', at) : script.find("*/", at + 2);
  return end == kNone ? script.size() : end + (two == "//" ? 1 : 2);
}

// Reads the arguments after an opening parenthesis; arrays are flattened. Returns false if one of them is not
// a literal.
bool read_arguments(std::string_view script, size_t at, std::vector<std::string_view>& out) {
  out.clear();
  while (at < script.size() && out.size() < kArguments) {
    const char c = script[at];
    if (c == ')') return !out.empty();
    if (c == '"' || c == '\'' || c == '`') {
      const size_t end = skip_string(script, at);
      out.push_back(script.substr(at + 1, end - at - 2));
      at = end;
    } else if (is_digit(c)) {
      const size_t begin = at;
      while (at < script.size() && is_digit(script[at])) ++at;
      out.push_back(script.substr(begin, at - begin));
    } else if (c == '[' || c == ']' || c == ',' || is_space(c)) {
      ++at;
    } else if (is_name(c)) {  // null, true
      const size_t begin = at;
      while (at < script.size() && is_name(script[at])) ++at;
      const std::string_view word = script.substr(begin, at - begin);
      if (word != "null" && word != "true" && word != "false" && word != "undefined") return false;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace

std::vector<ScriptCall> immediate_calls(std::string_view script) {
  std::vector<ScriptCall> out;
  ScriptCall call;
  int depth = 0;
  for (size_t at = 0; at < script.size();) {
    // Inside of brackets, only these matter.
    while (depth > 0 && at < script.size() && !kMatters[static_cast<unsigned char>(script[at])]) ++at;
    if (at == script.size()) break;
    const char c = script[at];
    if (c == '"' || c == '\'' || c == '`') {
      at = skip_string(script, at);
    } else if (c == '/' && skip_comment(script, at) != at) {
      at = skip_comment(script, at);
    } else if (is_name(c)) {
      const size_t begin = at;
      while (at < script.size() && is_name(script[at])) ++at;
      if (depth > 0 || at == script.size() || script[at] != '(') continue;
      call.function = script.substr(begin, at - begin);
      if (read_arguments(script, at + 1, call.arguments)) out.push_back(call);
    } else {
      if (c == '{' || c == '(' || c == '[') ++depth;
      if (c == '}' || c == ')' || c == ']') depth = std::max(0, depth - 1);
      ++at;
    }
  }
  return out;
}

std::string_view definition_of(std::string_view function, std::string_view script) {
  for (size_t at = script.find(function); at != kNone; at = script.find(function, at + function.size())) {
    if (at > 0 && is_name(script[at - 1])) continue;
    size_t behind = at + function.size();
    while (behind < script.size() && is_space(script[behind])) ++behind;
    const bool assigned = script.substr(behind, 1) == "=" && script.substr(behind, 2) != "==";
    const bool declared = at >= 9 && script.substr(at - 9, 9) == "function ";
    if (!assigned && !declared) continue;
    const size_t begin = at - std::min(at, kBefore);
    return script.substr(begin, at - begin + kBehind);
  }
  return {};
}

std::vector<std::string_view> short_strings(std::string_view script) {
  constexpr size_t kMost = 16;
  std::vector<std::string_view> out;
  for (size_t at = 0; at < script.size() && out.size() < kMost;) {
    if (script[at] != '"' && script[at] != '\'' && script[at] != '`') {
      ++at;
      continue;
    }
    const size_t end = skip_string(script, at);
    if (end - at > 2 && end - at - 2 <= kShort) out.push_back(script.substr(at + 1, end - at - 2));
    at = end;
  }
  return out;
}

bool moves_nodes(std::string_view script) {
  for (std::string_view way : {"insertBefore", "appendChild", "replaceChild", "replaceWith",
                               "insertAdjacentElement", ".append(", ".before(", ".after("}) {
    if (script.find(way) != kNone) return true;
  }
  return false;
}

}  // namespace doppel
