#include "formats/json/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
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

std::vector<std::string> names_of_fields(std::string_view json) {
  std::vector<std::string> out;
  dom::parser parser;
  dom::object object;
  if (parser.parse(json.data(), json.size()).get(object) != simdjson::SUCCESS) return out;
  for (const dom::key_value_pair field : object) out.emplace_back(field.key);
  return out;
}

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

// One pass over the text. Each change keeps the length, so that offsets stay valid.

namespace {

constexpr std::string_view kReplacement = "\\ufffd";
constexpr size_t kDeepest = simdjson::DEFAULT_MAX_DEPTH;
constexpr size_t kEscape = kReplacement.size();

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The code unit of \uXXXX at this position; -1 if there is none.
int unit_at(std::string_view text, size_t at) {
  if (at + kEscape > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int out = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 2, text.data() + at + kEscape, out, 16);
  return error == std::errc() && end == text.data() + at + kEscape && text[at + 2] != '-' ? out : -1;
}

bool is_high(int unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(int unit) { return unit >= 0xdc00 && unit < 0xe000; }

// A key with its escapes decoded.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const int unit = unit_at(text, at);
    if (unit < 0) {
      constexpr std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
      const size_t known = kFrom.find(text[++at]);
      out += known == std::string_view::npos ? text[at] : kTo[known];
      continue;
    }
    auto c = static_cast<char32_t>(unit);
    at += kEscape - 1;
    if (is_high(unit) && is_low(unit_at(text, at + 1))) {
      c = 0x10000 + ((c & 0x3ff) << 10 | static_cast<char32_t>(unit_at(text, at + 1) & 0x3ff));
      at += kEscape;
    }
    uint8_t bytes[4];
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(utf8::encode(c, bytes)));
  }
  return out;
}

// The length of the number at the start of the text, by JSON's grammar; 0 if there is none.
size_t number_length(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - begin;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const size_t whole = at;
  if (digits() == 0 || (text[whole] == '0' && at - whole > 1)) return 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return 0;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return 0;
  }
  return at;
}

bool fits(std::string_view number) {
  if (number.find_first_of(".eE") != std::string_view::npos)
    return std::isfinite(std::strtod(std::string(number).c_str(), nullptr));
  int64_t with_sign = 0;
  uint64_t without = 0;
  const char* begin = number.data();
  const char* end = begin + number.size();
  return std::from_chars(begin, end, with_sign).ec == std::errc() ||
         std::from_chars(begin, end, without).ec == std::errc();
}

}  // namespace

bool JsonMender::may_help(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
    case simdjson::UTF8_ERROR:
    case simdjson::UNCLOSED_STRING:
    case simdjson::UNESCAPED_CHARS:
    case simdjson::TAPE_ERROR:
    case simdjson::DEPTH_ERROR:
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return false;
    default:
      return true;  // versions report a number that is too large with different errors
  }
}

bool JsonMender::mend(std::string_view json) {
  raw_.assign(json);
  mends_.clear();
  levels_.clear();
  spans_.assign(paths_.size(), {});
  for (size_t at = 0; at < raw_.size();) {
    const char c = raw_[at];
    if (c == '{' || c == '[') {
      begin_value(at++);
      if (levels_.size() == kDeepest) return false;
      levels_.push_back({.object = c == '{', .key_next = c == '{', .step = "0", .open = std::move(pending_)});
      pending_.clear();
    } else if (c == '}' || c == ']') {
      if (levels_.empty()) return false;
      pending_ = std::move(levels_.back().open);
      levels_.pop_back();
      end_value(++at);
    } else if (c == ',') {
      ++at;
      if (levels_.empty()) return false;
      Level& level = levels_.back();
      level.key_next = level.object;
      if (!level.object) level.step = std::to_string(++level.index);
    } else if (c == '"' && !levels_.empty() && levels_.back().key_next) {
      const size_t begin = at;
      string(at);
      levels_.back().step = unescaped(std::string_view(raw_).substr(begin + 1, at - begin - 2));
      levels_.back().key_next = false;
    } else if (c == '"') {
      begin_value(at);
      string(at);
      end_value(at);
    } else if (c == '-' || is_digit(c)) {
      begin_value(at);
      number(at);
      end_value(at);
    } else if (is_space(c) || c == ':') {
      ++at;
    } else {
      begin_value(at);
      while (at < raw_.size() && raw_[at] >= 'a' && raw_[at] <= 'z') ++at;
      end_value(at);
      if (at < raw_.size() && raw_[at] == c) ++at;  // not a letter
    }
  }
  if (mends_.empty()) return false;
  text_.reserve(raw_.size() + simdjson::SIMDJSON_PADDING);
  text_ = raw_;
  for (const Mend& mend : mends_) {
    if (!mend.number) continue;
    const size_t length = number_length(std::string_view(text_).substr(mend.at));
    text_.replace(mend.at, length, length, ' ');
    text_[mend.at] = '0';
  }
  return true;
}

void JsonMender::begin_value(size_t at) {
  pending_.clear();
  for (size_t i = 0; i < paths_.size(); ++i) {
    const Path& path = paths_[i];
    if (path.size() != levels_.size() || spans_[i].end != 0) continue;
    if (!std::equal(path.begin(), path.end(), levels_.begin(),
                    [](const std::string& step, const Level& level) { return step == level.step; }))
      continue;
    spans_[i] = {at, raw_.size()};
    pending_.push_back(i);
  }
}

void JsonMender::end_value(size_t end) {
  for (const size_t i : pending_) spans_[i].end = end;
  pending_.clear();
}

// `at` is at a quotation mark; afterwards it is behind the string.
void JsonMender::string(size_t& at) {
  for (++at; at < raw_.size() && raw_[at] != '"'; ++at) {
    if (raw_[at] != '\\') continue;
    const int unit = unit_at(raw_, at);
    if (is_high(unit) && is_low(unit_at(raw_, at + kEscape))) {
      at += 2 * kEscape - 1;
    } else if (is_high(unit) || is_low(unit)) {
      mends_.push_back({.at = at});
      raw_.replace(at, kEscape, kReplacement);
      at += kEscape - 1;
    } else {
      ++at;
    }
  }
  at = std::min(at + 1, raw_.size());
}

void JsonMender::number(size_t& at) {
  const std::string_view rest = std::string_view(raw_).substr(at);
  const size_t length = number_length(rest);
  if (length == 0) {
    ++at;
    return;
  }
  if (!fits(rest.substr(0, length))) mends_.push_back({.at = at, .number = true});
  at += length;
}

JsonMender::Hurt JsonMender::hurt(size_t i) const {
  Hurt out = Hurt::no;
  for (const Mend& mend : mends_) {
    if (mend.at < spans_[i].begin || mend.at >= spans_[i].end) continue;
    if (!mend.number) return Hurt::surrogate;
    out = Hurt::number;
  }
  return out;
}

void JsonMender::append_raw(size_t i, std::string& out) const {
  bool inside = false;
  for (size_t at = spans_[i].begin; at < spans_[i].end; ++at) {
    const char c = raw_[at];
    if (!inside && is_space(c)) continue;
    out += c;
    if (inside && c == '\\' && at + 1 < spans_[i].end) out += raw_[++at];
    if (c == '"') inside = !inside;
  }
}

}  // namespace doppel
