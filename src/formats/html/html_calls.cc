#include "formats/html/html_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace doppel {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kBefore = 2000, kBehind = 3000;  // bytes before and after the start of a definition
constexpr size_t kShort = 16;                     // the longest string that may be part of an id
constexpr size_t kArguments = 16;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '$' || c == '_';
}

// Quotes, brackets and the start of comments.
constexpr std::array<bool, 256> kMatters = [] {
  std::array<bool, 256> matters{};
  for (const unsigned char c : {'"', '\'', '`', '/', '{', '(', '[', '}', ')', ']'}) matters[c] = true;
  return matters;
}();

// The position after the string whose opening quote is at `at`.
size_t skip_string(std::string_view script, size_t at) {
  const char quote = script[at];
  for (++at; at < script.size() && script[at] != quote; ++at) {
    if (script[at] == '\\') ++at;
  }
  return std::min(at + 1, script.size());
}

// The position after the comment at `at`; `at` if there is none.
size_t skip_comment(std::string_view script, size_t at) {
  const std::string_view two = script.substr(at, 2);
  if (two != "//" && two != "/*") return at;
  const size_t end = two == "//" ? script.find('\n', at) : script.find("*/", at + 2);
  return end == kNone ? script.size() : end + (two == "//" ? 1 : 2);
}

// Reads the arguments after an opening parenthesis; arrays are flattened. Returns false if one of them is not
// a literal.
bool read_arguments(std::string_view script, size_t at, std::vector<std::string_view>& out) {
  out.clear();
  while (at < script.size() && out.size() < kArguments) {
    const char c = script[at];
    if (c == ')') return !out.empty();
    if (c == '"' || c == '\'' || c == '`') {
      const size_t end = skip_string(script, at);
      out.push_back(script.substr(at + 1, end - at - 2));
      at = end;
    } else if (is_digit(c)) {
      const size_t begin = at;
      while (at < script.size() && is_digit(script[at])) ++at;
      out.push_back(script.substr(begin, at - begin));
    } else if (c == '[' || c == ']' || c == ',' || is_space(c)) {
      ++at;
    } else if (is_name(c)) {  // null, true
      const size_t begin = at;
      while (at < script.size() && is_name(script[at])) ++at;
      const std::string_view word = script.substr(begin, at - begin);
      if (word != "null" && word != "true" && word != "false" && word != "undefined") return false;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace

std::vector<ScriptCall> immediate_calls(std::string_view script) {
  std::vector<ScriptCall> out;
  ScriptCall call;
  int depth = 0;
  for (size_t at = 0; at < script.size();) {
    // Inside of brackets, only these matter.
    while (depth > 0 && at < script.size() && !kMatters[static_cast<unsigned char>(script[at])]) ++at;
    if (at == script.size()) break;
    const char c = script[at];
    if (c == '"' || c == '\'' || c == '`') {
      at = skip_string(script, at);
    } else if (c == '/' && skip_comment(script, at) != at) {
      at = skip_comment(script, at);
    } else if (is_name(c)) {
      const size_t begin = at;
      while (at < script.size() && is_name(script[at])) ++at;
      if (depth > 0 || at == script.size() || script[at] != '(') continue;
      call.function = script.substr(begin, at - begin);
      if (read_arguments(script, at + 1, call.arguments)) out.push_back(call);
    } else {
      if (c == '{' || c == '(' || c == '[') ++depth;
      if (c == '}' || c == ')' || c == ']') depth = std::max(0, depth - 1);
      ++at;
    }
  }
  return out;
}

std::string_view definition_of(std::string_view function, std::string_view script) {
  for (size_t at = script.find(function); at != kNone; at = script.find(function, at + function.size())) {
    if (at > 0 && is_name(script[at - 1])) continue;
    size_t behind = at + function.size();
    while (behind < script.size() && is_space(script[behind])) ++behind;
    const bool assigned = script.substr(behind, 1) == "=" && script.substr(behind, 2) != "==";
    const bool declared = at >= 9 && script.substr(at - 9, 9) == "function ";
    if (!assigned && !declared) continue;
    const size_t begin = at - std::min(at, kBefore);
    return script.substr(begin, at - begin + kBehind);
  }
  return {};
}

std::vector<std::string_view> short_strings(std::string_view script) {
  constexpr size_t kMost = 16;
  std::vector<std::string_view> out;
  for (size_t at = 0; at < script.size() && out.size() < kMost;) {
    if (script[at] != '"' && script[at] != '\'' && script[at] != '`') {
      ++at;
      continue;
    }
    const size_t end = skip_string(script, at);
    if (end - at > 2 && end - at - 2 <= kShort) out.push_back(script.substr(at + 1, end - at - 2));
    at = end;
  }
  return out;
}

bool moves_nodes(std::string_view script) {
  for (std::string_view way : {"insertBefore", "appendChild", "replaceChild", "replaceWith",
                               "insertAdjacentElement", ".append(", ".before(", ".after("}) {
    if (script.find(way) != kNone) return true;
  }
  return false;
}

}  // namespace doppel
