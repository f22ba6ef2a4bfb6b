#include "files/read/json_splitter.h"

namespace doppel {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
// A byte of the UTF-8 byte order mark, which some programs write.
bool is_mark(char c) { return c == '\xef' || c == '\xbb' || c == '\xbf'; }

// Advances to the end of an open string, or of the text. Returns whether the string ended.
bool skip_string(std::string_view text, size_t& at, bool& escaped) {
  if (escaped && at < text.size()) {
    escaped = false;
    ++at;
  }
  while (at < text.size()) {
    const char c = text[at++];
    if (c == '"') return true;
    if (c != '\\') continue;
    if (at == text.size()) {
      escaped = true;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace

JsonSplitter::Found JsonSplitter::next(std::string_view text, size_t& at) {
  if (value_ != Value::none) {
    if (!ends(text, at)) return Found::nothing;
    value_ = Value::none;
    return Found::end;
  }
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_space(c) || is_mark(c)) continue;
    if (!in_array_ && c == '[') {
      in_array_ = true;
    } else if (in_array_ && c == ']') {
      in_array_ = false;
    } else if (!in_array_ || c != ',') {
      value_ = c == '{' || c == '[' ? Value::nested : c == '"' ? Value::text : Value::scalar;
      depth_ = 0;
      in_string_ = escaped_ = false;
      first_ = true;
      return Found::begin;
    }
  }
  return Found::nothing;
}

bool JsonSplitter::ends(std::string_view text, size_t& at) {
  if (first_ && at < text.size()) {
    first_ = false;
    depth_ = 1;
    ++at;
  }
  if (value_ == Value::text) return skip_string(text, at, escaped_);
  if (value_ == Value::scalar) {
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (is_space(c) || c == '{' || c == '[' || c == '"' || (in_array_ && (c == ',' || c == ']')))
        return true;
    }
    return false;
  }
  while (at < text.size()) {
    if (in_string_) {
      in_string_ = !skip_string(text, at, escaped_);
      continue;
    }
    const char c = text[at++];
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace doppel
