#pragma once
// Where JSON values begin and end, one after the other or in an array, in bytes that come in pieces. Brackets
// and strings are followed; whether a value is good JSON, the decoder finds out. What is no value ("}",
// "tru") counts as one, to be refused by itself, so that every byte belongs to a value or is between two.

#include <cstddef>
#include <string_view>

namespace doppel {

class JsonSplitter {
 public:
  // in_array: the first byte is within an array that began before.
  explicit JsonSplitter(bool in_array = false) : in_array_(in_array) {}

  enum class Found { nothing, begin, end };
  // Goes on from `at`. Then `at` is the first byte of a value (begin), the one behind its last (end), or the
  // size of `text`, which was looked at as a whole (nothing).
  Found next(std::string_view text, size_t& at);

  bool in_array() const { return in_array_; }
  bool in_value() const { return value_ != Value::none; }
  // Whether nothing is missing of the value that is open if no more bytes come: of a number, as far as it can
  // be seen.
  bool may_end() const { return value_ == Value::scalar; }

 private:
  enum class Value { none, nested, text, scalar };

  bool ends(std::string_view text, size_t& at);

  Value value_ = Value::none;
  bool in_array_;
  size_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, first_ = false;
};

}  // namespace doppel
