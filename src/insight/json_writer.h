#pragma once
// Writes JSON on one line, with members in the order in which they are written.

#include <concepts>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "fmt/format.h"

namespace doppel {

class JsonWriter {
 public:
  JsonWriter() { open("", '{'); }

  void open(std::string_view key, char bracket) {  // bracket: '{' or '['; key is "" inside an array
    begin(key);
    text_ += bracket;
    closing_ += bracket == '{' ? '}' : ']';
    first_ = true;
  }
  void close() {
    text_ += closing_.back();
    closing_.pop_back();
    first_ = false;
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_json_string(text_, value);
  }
  void boolean(std::string_view key, bool value) {
    begin(key);
    text_ += value ? "true" : "false";
  }
  template <std::integral T>
  void number(std::string_view key, T value) {
    begin(key);
    text_ += std::to_string(value);
  }
  void real(std::string_view key, double value) {  // the shortest form that reads back as the same value
    begin(key);
    text_ += fmt::format("{}", value);
    if (text_.ends_with(".0")) text_.resize(text_.size() - 2);
  }
  void null(std::string_view key) {
    begin(key);
    text_ += "null";
  }
  // Closes all open brackets and returns the line.
  std::string finish() {
    while (!closing_.empty()) close();
    return std::move(text_) + "\n";
  }

 private:
  void begin(std::string_view key) {
    if (!first_) text_ += ',';
    first_ = false;
    if (key.empty()) return;
    append_json_string(text_, key);
    text_ += ':';
  }
  std::string text_, closing_;
  bool first_ = true;
};

}  // namespace doppel
