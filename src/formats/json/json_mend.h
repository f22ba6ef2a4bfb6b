#pragma once
// JSON that is well formed and that simdjson does not take: a number that fits neither into 64 bits nor into
// a double, and half of a surrogate pair. Such a value costs the record only where it is used.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simdjson.h"

namespace doppel {

class JsonMender {
 public:
  enum class Hurt : uint8_t { no, number, surrogate };

  using Path = std::vector<std::string>;  // keys and indices, from the top
  // Where the values are that are used.
  explicit JsonMender(std::vector<Path> paths = {}) : paths_(std::move(paths)) {}
  // Whether mending may help against this error.
  static bool may_help(simdjson::error_code error);

  // False: there is nothing to mend. Text that is not well formed stays so.
  bool mend(std::string_view json);
  // The same with 0 and U+FFFD in place of such values, and what a parser wants behind it.
  const std::string& text() const { return text_; }
  size_t size() const { return raw_.size(); }
  // The defect of the value of paths[i]: the first value of that name counts.
  Hurt hurt(size_t i) const;
  // Its JSON as it was written, without white space, but for halves of surrogate pairs.
  void append_raw(size_t i, std::string& out) const;

 private:
  struct Span {
    size_t begin = 0, end = 0;  // equal: there is no such value
  };
  struct Mend {
    size_t at = 0;
    bool number = false;
  };
  struct Level {
    bool object = false;
    bool key_next = false;  // of an object
    std::string step;       // key, or index
    size_t index = 0;
    std::vector<size_t> open;  // values that are used and begin here
  };
  void begin_value(size_t at);
  void end_value(size_t end);
  void string(size_t& at);
  void number(size_t& at);

  std::vector<Path> paths_;
  std::vector<Span> spans_;
  std::vector<Mend> mends_;
  std::vector<Level> levels_;
  std::vector<size_t> pending_;  // values that are used and begin at this place
  std::string raw_, text_;
};

}  // namespace doppel
