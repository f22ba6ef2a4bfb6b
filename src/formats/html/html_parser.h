#pragma once
// The tags and the text of a page as browsers understand them, by libxml2's parser in its event form. libxml2
// takes no notice of the end tag of a section, or of anything else it ranks low, while a div is open in it:
// whatever is open would then reach to the end of the page. So the bytes between two events are looked at for
// end tags, and these close here what browsers close.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "formats/html/html_elements.h"

struct _xmlParserCtxt;

namespace doppel {

// The attributes of one start tag: each(visit) calls visit(name, value) for those that have a value (possibly
// an empty one: "hidden" has). Names are in lower case.
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

// The events of a page. Views live for the call.
class HtmlEvents {
 public:
  virtual ~HtmlEvents() = default;
  virtual void start(const Element& element, HtmlAttributes attributes) = 0;
  virtual void end() = 0;  // of the element that was started last and has not ended
  virtual void
  end_link() = 0;  // nothing that is open is in a link any more: its end tag came inside of a block
  virtual void text(std::string_view text) = 0;
};

// One for each thread.
class HtmlParser {
 public:
  HtmlParser();
  // `html` is UTF-8. Each start has its end, also where the page stops before. An error says what was
  // refused.
  absl::Status parse(std::string_view html, HtmlEvents& events);

  // Elements and bytes that the last page made this class look at, besides libxml2's own work.
  uint64_t steps() const { return steps_; }

 private:
  struct Callbacks;
  // As browsers have it.
  struct Open {
    const Element* element;
    size_t place;  // in parsed_
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
  size_t seen_ = 0;  // the bytes before are done
  std::vector<Open> open_;
  std::vector<size_t> parsed_;  // what libxml2 holds for open: its height in open_, or kClosed
  size_t elements_ = 0;
  uint64_t steps_ = 0;
  const char* refused_ = nullptr;
};

}  // namespace doppel
