#pragma once
// Builds a text line by line.

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace doppel {

class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace doppel
