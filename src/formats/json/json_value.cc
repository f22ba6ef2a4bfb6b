#include "formats/json/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/reason.h"
#include "base/status.h"
#include "base/utf8.h"
#include "formats/bytes/http.h"

namespace doppel {

namespace dom = simdjson::dom;

namespace {

// The top-level field that contains the first byte that is not UTF-8; "" if it is in none.
std::string_view field_of_bad_byte(std::string_view json) {
  size_t bad = 0;
  for (char32_t c = 0; bad < json.size();) {
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&json[bad]), json.size() - bad, c);
    if (length <= 0) break;
    bad += static_cast<size_t>(length);
  }
  std::string_view field;
  int depth = 0;
  bool key = false;  // the next string is a key
  for (size_t at = 0; at < bad; ++at) {
    const char c = json[at];
    if (c == '{' || c == '[') {
      key = ++depth == 1;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      key = depth == 1;
    } else if (c == '"') {
      const size_t begin = ++at;
      while (at < bad && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
      if (key && at < bad) field = json.substr(begin, at - begin);
      key = false;
    }
  }
  return field;
}

}  // namespace

absl::Status not_json(simdjson::error_code error, std::string_view json) {
  const char* reason = nullptr;
  switch (error) {
    case simdjson::EMPTY:
      reason = "it is empty";
      break;
    case simdjson::UTF8_ERROR:
      reason = "it is not valid UTF-8";
      break;
    case simdjson::UNCLOSED_STRING:
      reason = "a string is not closed";
      break;
    case simdjson::STRING_ERROR:
      reason = "a string contains a bad escape or half of a surrogate pair";
      break;
    case simdjson::UNESCAPED_CHARS:
      reason = "a string contains an unescaped control character";
      break;
    case simdjson::TAPE_ERROR:
      reason = "brackets, commas or colons are misplaced, it is truncated, or something follows it";
      break;
    case simdjson::NUMBER_ERROR:
      reason = "a number is malformed or does not fit into 64 bits";
      break;
    case simdjson::DEPTH_ERROR:
      reason = "it is nested more than 1024 deep";
      break;
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      reason = "it is too large for this machine's memory";
      break;
    default:
      reason = simdjson::error_message(error);
  }
  const std::string_view field = error == simdjson::UTF8_ERROR ? field_of_bad_byte(json) : std::string_view();
  return rejected(Reason::not_json, field.empty() ? fmt::format(": {}", reason)
                                                  : fmt::format(": {} (field \"{}\")", reason, field));
}

std::string_view name_of(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

namespace {

template <typename T>
bool number(T value, ScalarMemory& memory, std::string_view& out) {
  auto end = std::to_chars(memory.data(), memory.data() + memory.size(), value);
  out = {memory.data(), static_cast<size_t>(end.ptr - memory.data())};
  return true;
}

}  // namespace

bool scalar(dom::element element, ScalarMemory& memory, std::string_view& out) {
  switch (element.type()) {
    case dom::element_type::STRING:
      return element.get(out) == simdjson::SUCCESS;
    case dom::element_type::BOOL:
      out = bool(element) ? "true" : "false";
      return true;
    case dom::element_type::INT64:
      return number(int64_t(element), memory, out);
    case dom::element_type::UINT64:
      return number(uint64_t(element), memory, out);
    case dom::element_type::DOUBLE: {
      auto end = std::to_chars(memory.data(), memory.data() + memory.size(), double(element),
                               std::chars_format::fixed);
      out = {memory.data(), static_cast<size_t>(end.ptr - memory.data())};
      return end.ec == std::errc();
    }
    default:
      return false;
  }
}

bool is_nothing(dom::element element) {
  dom::array array;
  return element.is_null() || (element.get(array) == simdjson::SUCCESS && array.size() == 0);
}

dom::element unwrapped(dom::element element) {
  dom::array array;
  if (element.get(array) == simdjson::SUCCESS && array.size() == 1) return *array.begin();
  return element;
}

bool join_sorted(dom::element element, std::string& out) {
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return false;
  std::vector<std::string_view> values;
  for (dom::element one : array) {
    std::string_view value;
    if (one.get(value) != simdjson::SUCCESS) return false;
    values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  out.clear();
  for (std::string_view value : values) {
    if (!out.empty()) out.push_back('\n');
    out += value;
  }
  return true;
}

std::string_view header_in(dom::element headers, std::string_view name) {
  dom::object object;
  if (headers.get(object) != simdjson::SUCCESS) return {};
  for (dom::key_value_pair pair : object) {
    if (!equal_ignoring_case(pair.key, name)) continue;
    dom::array array;
    std::string_view value;
    if (pair.value.get(array) == simdjson::SUCCESS) {
      if (array.size() > 0 && (*array.begin()).get(value) == simdjson::SUCCESS) return value;
    } else if (pair.value.get(value) == simdjson::SUCCESS) {
      return value;
    }
  }
  return {};
}

}  // namespace doppel
