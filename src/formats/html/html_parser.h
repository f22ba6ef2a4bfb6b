#pragma once
// Parses a page as browsers do, with libxml2's event parser. While a div is open, libxml2 ignores the end
// tags of enclosing sections and of other elements that it ranks lower, so these would reach to the end of
// the page. Therefore this class looks for end tags in the bytes between two events, and closes what browsers
// close.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "formats/html/html_elements.h"

struct _xmlParserCtxt;

namespace doppel {

// The attributes of a start tag: each(visit) calls visit(name, value). The value is "" for an attribute
// without one, such as "hidden". Names are in lower case.
class HtmlAttributes {
 public:
  explicit HtmlAttributes(const unsigned char** pairs) : pairs_(pairs) {}
  template <typename Visit>
  void each(Visit visit) const {
    if (pairs_ == nullptr) return;
    for (const unsigned char** at = pairs_; at[0] != nullptr; at += 2) visit(text(at[0]), text(at[1]));
  }

 private:
  static std::string_view text(const unsigned char* zero_ended) {
    return zero_ended == nullptr ? std::string_view() : reinterpret_cast<const char*>(zero_ended);
  }
  const unsigned char** pairs_;
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
  HtmlParser();
  // Parses `html`, which is UTF-8. Each start() gets its end(), even if the page stops early. An error says
  // what was rejected.
  absl::Status parse(std::string_view html, HtmlEvents& events);

  // The cost of the last page without libxml2's own work: elements and bytes examined.
  uint64_t steps() const { return steps_; }

 private:
  struct Callbacks;
  // An element that browsers consider open.
  struct Open {
    const Element* element;
    size_t place;  // index in parsed_
  };
  static constexpr size_t kClosed = static_cast<size_t>(-1);

  void start(std::string_view name, const unsigned char** attributes);
  void end();
  void text(std::string_view text);
  void catch_up();
  void end_tag(std::string_view name);
  void close_to(size_t height);
  void refuse(const char* reason);
  size_t position() const;

  _xmlParserCtxt* parser_ = nullptr;
  HtmlEvents* events_ = nullptr;
  std::string_view html_;
  size_t seen_ = 0;  // end of the bytes that are done
  std::vector<Open> open_;
  std::vector<size_t>
      parsed_;  // for each element that libxml2 considers open: its index in open_, or kClosed
  size_t elements_ = 0;
  uint64_t steps_ = 0;
  const char* refused_ = nullptr;
};

}  // namespace doppel
