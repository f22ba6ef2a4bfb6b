#pragma once
// Helpers for simdjson's elements, and its errors in words.

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace doppel {

using ScalarMemory = std::array<char, 512>;

// `json` is the text that failed to parse, so that the error can name the field with the bad bytes.
absl::Status not_json(simdjson::error_code error, std::string_view json = {});
std::string_view name_of(simdjson::dom::element_type type);  // "an array"

// The names of an object's fields; none if it is not an object.
std::vector<std::string> names_of_fields(std::string_view json);

// Returns the text of a string, number or boolean. `memory` holds it if the document does not.
bool scalar(simdjson::dom::element element, ScalarMemory& memory, std::string_view& out);

// Whether the element is null or an empty array.
bool is_nothing(simdjson::dom::element element);

// Returns "x" for ["x"], which search engines write.
simdjson::dom::element unwrapped(simdjson::dom::element element);

// Joins the strings of an array, sorted, one in each line. Returns false if `array` is not an array of
// strings.
bool join_sorted(simdjson::dom::element array, std::string& out);

// The value of a header in {"Name": ["value"]} or {"Name": "value"}, ignoring the case of the name; "" if it
// is missing.
std::string_view header_in(simdjson::dom::element headers, std::string_view name);

// Repairs well-formed JSON that simdjson refuses: numbers that fit neither into 64 bits nor into a double,
// and halves of surrogate pairs. Such a value costs the record only if it is used.
class JsonMender {
 public:
  enum class Hurt : uint8_t { no, number, surrogate };

  using Path = std::vector<std::string>;  // keys and indices, from the top
  // `paths`: the values that are used.
  explicit JsonMender(std::vector<Path> paths = {}) : paths_(std::move(paths)) {}
  // Whether mend() may help against this error.
  static bool may_help(simdjson::error_code error);

  // Returns false if there is nothing to repair. Does not repair malformed text.
  bool mend(std::string_view json);
  // The text with 0 and U+FFFD in place of such values, and with the padding that a parser needs.
  const std::string& text() const { return text_; }
  size_t size() const { return raw_.size(); }
  // What is wrong with the value of paths[i]. Of values with the same name, the first one counts.
  Hurt hurt(size_t i) const;
  // Appends the value's JSON as written, without white space; halves of surrogate pairs are replaced.
  void append_raw(size_t i, std::string& out) const;
  // Where its JSON begins and ends in the text, whether anything was repaired or not. Both are equal if it
  // has no value.
  std::pair<size_t, size_t> place(size_t i) const { return {spans_[i].begin, spans_[i].end}; }

 private:
  struct Span {
    size_t begin = 0, end = 0;  // equal if there is no such value
  };
  struct Mend {
    size_t at = 0;
    bool number = false;
  };
  struct Level {
    bool object = false;
    bool key_next = false;  // in an object, the next string is a key
    std::string step;       // key, or index
    size_t index = 0;
    std::vector<size_t> open;  // used values that start here
  };
  void begin_value(size_t at);
  void end_value(size_t end);
  void string(size_t& at);
  void number(size_t& at);

  std::vector<Path> paths_;
  std::vector<Span> spans_;
  std::vector<Mend> mends_;
  std::vector<Level> levels_;
  std::vector<size_t> pending_;  // used values that start at this position
  std::string raw_, text_;
};

}  // namespace doppel
