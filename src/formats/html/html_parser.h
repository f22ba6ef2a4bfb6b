#pragma once
// Parses a page as browsers do, but without a tree: of the standard's tree construction it has the rules for
// tags that authors leave out, by a stack of open elements. Each tag takes constant time, however many
// elements are open.
//
// What browsers do and this parser does not: move text out of tables (foster parenting), continue formatting
// elements and links in the next block, ignore rows and cells outside of tables, and keep open what is inside
// a form that ends. And "/>" ends an element whose content is not shown, such as <iframe/> or <title/>: pages
// that are XHTML write so, and the rest of the page would be lost.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "formats/html/html_elements.h"
#include "formats/html/html_tokens.h"

namespace doppel {

// The attributes of a start tag that rules read: each(visit) calls visit(attribute, value). The value is ""
// for an attribute without one, such as "hidden". Each comes once.
class HtmlAttributes {
 public:
  HtmlAttributes() = default;
  explicit HtmlAttributes(const std::vector<HtmlAttributeValue>& all) : all_(&all) {}
  template <typename Visit>
  void each(Visit visit) const {
    if (all_ == nullptr) return;
    for (const HtmlAttributeValue& one : *all_) visit(one.attribute, one.value);
  }

 private:
  const std::vector<HtmlAttributeValue>* all_ = nullptr;
};

// Receives the events of a page. Views are valid during the call.
class HtmlEvents {
 public:
  virtual ~HtmlEvents() = default;
  virtual void start(const Element& element, HtmlAttributes attributes) = 0;
  virtual void end() = 0;       // of the innermost open element
  virtual void end_link() = 0;  // an end tag in a block ended the link: no open element is in a link any more
  virtual void text(std::string_view text) = 0;
};

// One for each thread.
class HtmlParser {
 public:
  // Parses `html`, which is UTF-8 without zero bytes. Each start() gets its end(), even if the page stops
  // early. An error says what was rejected.
  absl::Status parse(std::string_view html, HtmlEvents& events);

  // The cost of the last page without the tokens: tags, elements closed and elements compared.
  uint64_t steps() const { return steps_; }

 private:
  using Place = int16_t;  // an index in open_; -1 is none
  static constexpr int kUnknownNames = 64;

  struct Open {
    const Element* element = nullptr;
    std::string_view name;  // as written, of an unknown element
    uint64_t key = 0;
    bool foreign = false;      // in svg or math
    bool integration = false;  // and its content is HTML again
    Place foreign_from = -1;   // the first of the foreign elements without HTML in between
    Place before = -1;         // the element further out that the same end tag finds
    Place before_of_role = -1;
    std::array<Place, kReaches> walls{};  // as they were around it
  };

  const char* start(const HtmlToken& tag);
  void end(const HtmlToken& tag);
  void push(const Element& element, const HtmlToken& tag, bool foreign);
  void close_to(Place height);
  void make_room(const Element& element);
  void close(ElementRole role, Reach reach);  // the element that find() finds, with all that is inside
  void close_rows(std::initializer_list<ElementRole> roles);
  void leave_head(const Element& element);
  bool in_foreign() const { return !open_.empty() && open_.back().foreign && !open_.back().integration; }
  bool in_table() const {  // and not in one of its cells
    const Place wall = walls_[static_cast<size_t>(Reach::cell)];
    return wall >= 0 && open_[static_cast<size_t>(wall)].element->role == ElementRole::table;
  }
  bool around(ElementRole role) const { return !open_.empty() && open_.back().element->role == role; }
  Place& last_of(const Element& element, uint64_t key);
  // The innermost element of this role that a tag with this reach finds, or -1.
  Place find(ElementRole role, Reach reach) const;

  HtmlTokens tokens_;
  HtmlEvents* events_ = nullptr;
  std::vector<Open> open_;
  // The innermost elements: by Element::number, by a hash of an unknown name, by role.
  std::array<Place, kElementNumbers> last_{};
  std::array<Place, kUnknownNames> last_unknown_{};
  std::array<Place, kElementRoles> last_of_role_{};
  std::array<Place, kReaches> walls_{};  // the innermost element that stops each reach
  bool saw_html_ = false, saw_body_ = false, in_head_ = false, quirks_ = true;
  size_t elements_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace doppel
