#include "formats/html/html_streamed.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/html/html_calls.h"
#include "formats/html/html_scan.h"

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

}  // namespace doppel
