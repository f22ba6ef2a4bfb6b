#include "formats/html/html_parser.h"

#include <algorithm>

#include "base/status.h"
#include "formats/bytes/http.h"
#include "formats/html/html.h"

namespace doppel {
namespace {

constexpr int kCompared = 32;  // unknown elements with the same hash that an end tag looks at

size_t index(Reach reach) { return static_cast<size_t>(reach); }

}  // namespace

absl::Status HtmlParser::parse(std::string_view html, HtmlEvents& events) {
  events_ = &events;
  open_.clear();
  last_.fill(-1);
  last_unknown_.fill(-1);
  last_of_role_.fill(-1);
  walls_.fill(-1);
  saw_html_ = saw_body_ = in_head_ = false;
  quirks_ = true;
  elements_ = 0;
  steps_ = 0;
  if (html.starts_with("\xef\xbb\xbf")) html.remove_prefix(3);
  tokens_.begin(html);
  for (;;) {
    tokens_.allow_cdata(in_foreign());
    const HtmlToken& token = tokens_.next();
    switch (token.kind) {
      case HtmlToken::Kind::text:
        events_->text(token.text);
        break;
      case HtmlToken::Kind::start:
        if (const char* refused = start(token); refused != nullptr) return invalid(refused);
        break;
      case HtmlToken::Kind::end:
        end(token);
        break;
      case HtmlToken::Kind::comment:
        break;
      case HtmlToken::Kind::doctype:
        quirks_ = quirks_ && !open_.empty();
        break;
      case HtmlToken::Kind::done:
        close_to(0);
        return absl::OkStatus();
    }
  }
}

HtmlParser::Place& HtmlParser::last_of(const Element& element, uint64_t key) {
  if (element.number != 0) return last_[element.number];
  return last_unknown_[(key * 0x9e3779b97f4a7c15) >> 58];
}

void HtmlParser::push(const Element& element, const HtmlToken& tag, bool foreign) {
  const auto place = static_cast<Place>(open_.size());
  Open& open = open_.emplace_back();
  open.element = &element;
  open.name = element.number == 0 ? tag.name : std::string_view();
  open.key = tag.key;
  open.foreign = foreign;
  // In MathML and SVG these hold HTML.
  open.integration =
      foreign && (element.role == ElementRole::integration || element.content == HtmlContent::rcdata);
  open.foreign_from = foreign && place > 0 && open_[static_cast<size_t>(place) - 1].foreign
                          ? open_[static_cast<size_t>(place) - 1].foreign_from
                          : place;
  open.walls = walls_;
  Place& last = last_of(element, tag.key);
  open.before = last;
  last = place;
  Place& of_role = last_of_role_[static_cast<size_t>(element.role)];
  open.before_of_role = of_role;
  of_role = place;
  for (unsigned wall = open.integration ? kCellWall : element.wall, i = 0; wall != 0; wall >>= 1, ++i) {
    if ((wall & 1) != 0) walls_[i] = place;
  }
  in_head_ = in_head_ || element.role == ElementRole::head;
}

void HtmlParser::close_to(Place height) {
  while (open_.size() > static_cast<size_t>(height)) {
    ++steps_;
    const Open& open = open_.back();
    last_of(*open.element, open.key) = open.before;
    last_of_role_[static_cast<size_t>(open.element->role)] = open.before_of_role;
    walls_ = open.walls;
    if (open.element->role == ElementRole::head) in_head_ = false;
    open_.pop_back();
    events_->end();
  }
}

HtmlParser::Place HtmlParser::find(ElementRole role, Reach reach) const {
  const Place place = last_of_role_[static_cast<size_t>(role)];
  return place >= walls_[index(reach)] ? place : Place{-1};
}

void HtmlParser::close(ElementRole role, Reach reach) {
  if (const Place place = find(role, reach); place >= 0) close_to(place);
}

// Closes the outermost of these in the innermost table.
void HtmlParser::close_rows(std::initializer_list<ElementRole> roles) {
  Place outermost = -1;
  for (const ElementRole role : roles) {
    const Place place = find(role, Reach::table);
    if (place >= 0 && (outermost < 0 || place < outermost)) outermost = place;
  }
  if (outermost >= 0) close_to(outermost);
}

// Closes what the start tag of such an element ends.
void HtmlParser::make_room(const Element& element) {
  const auto close_around = [this](ElementRole role) {
    if (around(role)) close_to(static_cast<Place>(open_.size() - 1));
  };
  switch (element.ends) {
    case Ends::nothing:
      return;
    case Ends::paragraph_only:
      // A table in a table that is not in a cell ends the outer one.
      if (in_table()) return close(ElementRole::table, Reach::table);
      if (!quirks_) close(ElementRole::p, Reach::button);
      return;
    case Ends::paragraph:
      return close(ElementRole::p, Reach::button);
    case Ends::heading:
      close(ElementRole::p, Reach::button);
      return close_around(ElementRole::heading);
    case Ends::item:
      close(ElementRole::li, Reach::item);
      return close(ElementRole::p, Reach::button);
    case Ends::term:
      close(ElementRole::term, Reach::item);
      return close(ElementRole::p, Reach::button);
    case Ends::same:
      return close(element.role, Reach::cell);
    case Ends::select:
      return close(ElementRole::select, Reach::cell);
    case Ends::option:
      return close_around(ElementRole::option);
    case Ends::options:
      close_around(ElementRole::option);
      return close_around(ElementRole::optgroup);
    case Ends::link:
      if (last_of_role_[static_cast<size_t>(ElementRole::a)] < 0) return;
      if (const Place place = find(ElementRole::a, Reach::inside); place >= 0) return close_to(place);
      return events_->end_link();
    case Ends::cell:
      return close_rows({ElementRole::cell, ElementRole::caption});
    case Ends::row:
      return close_rows({ElementRole::cell, ElementRole::caption, ElementRole::row});
    case Ends::rows:
      return close_rows({ElementRole::cell, ElementRole::caption, ElementRole::row, ElementRole::rows});
  }
}

// Other elements than those of a head end it. In a noscript they are shown without scripts only.
void HtmlParser::leave_head(const Element& element) {
  if (element.role == ElementRole::in_head || element.role == ElementRole::script ||
      element.role == ElementRole::noscript || element.role == ElementRole::unseen_template ||
      element.role == ElementRole::meta) {
    return;
  }
  if (find(ElementRole::noscript, Reach::table) < 0) close(ElementRole::head, Reach::table);
}

const char* HtmlParser::start(const HtmlToken& tag) {
  const Element& element = element_of(tag.name, tag.key);
  if (++elements_ > kMaxHtmlElements) return "html: more than 1,000,000 elements";
  ++steps_;
  if (element.breaks_out) {
    size_t height = open_.size();
    while (height > 0 && open_[height - 1].foreign && !open_[height - 1].integration) --height;
    if (height < open_.size()) close_to(static_cast<Place>(height));
  }
  const bool foreign = in_foreign();
  bool empty = element.is_void || (tag.self_closing && (foreign || element.kind == ElementKind::unseen));
  if (!foreign) {
    if (in_head_) leave_head(element);
    switch (element.role) {
      case ElementRole::html:
      case ElementRole::body: {
        bool& seen = element.role == ElementRole::html ? saw_html_ : saw_body_;
        if (seen) return nullptr;
        seen = true;
        // Too late to be around anything, but its attributes count.
        empty = !open_.empty() && !around(ElementRole::html);
        break;
      }
      case ElementRole::head:
        if (in_head_ || saw_body_) return nullptr;
        break;
      case ElementRole::form:
        if (last_of_role_[static_cast<size_t>(ElementRole::form)] >= 0) return nullptr;
        empty = in_table();
        break;
      case ElementRole::select:
        if (find(ElementRole::select, Reach::cell) >= 0) {
          make_room(element);
          return nullptr;
        }
        break;
      default:
        break;
    }
    make_room(element);
  }
  if (open_.size() >= static_cast<size_t>(kMaxHtmlDepth)) return "html: nested more than 512 deep";
  events_->start(element, HtmlAttributes(tokens_.attributes()));
  if (empty) {
    events_->end();
    return nullptr;
  }
  push(element, tag, foreign || element.role == ElementRole::foreign);
  if (!foreign) tokens_.read_as(element.content, element.name);
  return nullptr;
}

void HtmlParser::end(const HtmlToken& tag) {
  ++steps_;
  const Element& element = element_of(tag.name, tag.key);
  // What follows these still belongs to them.
  if (element.role == ElementRole::html || element.role == ElementRole::body) return;
  Place wall = walls_[index(element.reach)];
  // In svg and math, an end tag finds any element of theirs.
  if (!open_.empty() && open_.back().foreign) wall = std::min(wall, open_.back().foreign_from);
  Place place = last_of(element, tag.key);
  if (element.number == 0) {
    for (int i = 0; place >= wall && place >= 0; ++i, ++steps_) {
      const Open& open = open_[static_cast<size_t>(place)];
      if (i == kCompared) place = -1;
      if (i == kCompared || (open.key == tag.key && equal_ignoring_case(open.name, tag.name))) break;
      place = open.before;
    }
  }
  if (place >= 0 && place >= wall) return close_to(place);
  if (element.role == ElementRole::a && place >= 0) events_->end_link();
  // The row or the group of rows that the author left out.
  const bool group = element.role == ElementRole::rows && element.name == "tbody" &&
                     find(ElementRole::rows, Reach::table) < 0;
  if (element.role == ElementRole::row || group) close_rows({ElementRole::cell, ElementRole::row});
  // Alone, these are an empty paragraph and a line break.
  if (element.role == ElementRole::p || element.role == ElementRole::br) {
    events_->start(element, HtmlAttributes());
    events_->end();
  }
}

}  // namespace doppel
