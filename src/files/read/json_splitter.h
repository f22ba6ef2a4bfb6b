#pragma once
// Finds where JSON values begin and end, one after the other or in an array, in bytes that come in pieces.
// It follows only brackets and strings; the decoder checks the rest. Invalid bytes ("}", "tru") count as a
// value, which the decoder rejects by itself. So each byte belongs to a value or is between two.

#include <cstddef>
#include <string_view>

namespace doppel {

class JsonSplitter {
 public:
  // in_array: the first byte is inside an array that began earlier.
  explicit JsonSplitter(bool in_array = false) : in_array_(in_array) {}

  enum class Found { nothing, begin, end };
  // Continues from `at`. Afterwards `at` is the first byte of a value (begin), the byte behind its last one
  // (end), or the size of `text`, all of which was examined (nothing).
  Found next(std::string_view text, size_t& at);

  bool in_array() const { return in_array_; }
  bool in_value() const { return value_ != Value::none; }
  // Whether the open value may be complete if no more bytes come, as far as that can be seen: only a scalar
  // such as a number has no closing character.
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
