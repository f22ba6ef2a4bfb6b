#include "formats/warc/surt_sessions.h"

#include <algorithm>
#include <array>

#include "formats/bytes/http.h"

namespace doppel {
namespace {

using sv = std::string_view;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || is_letter(c); }

std::string lower(sv text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// The length of "(", 24 letters or digits, and ")" at the start; 0 if the text does not start so.
size_t session_length(sv text) {
  constexpr size_t kLetters = 24;
  if (text.size() < kLetters + 2 || text[0] != '(' || text[kLetters + 1] != ')') return 0;
  const sv letters = text.substr(1, kLetters);
  return std::all_of(letters.begin(), letters.end(), is_alphanumeric) ? kLetters + 2 : 0;
}

// The length of "(a(24 letters)b(24 letters))/", or of the older "(24 letters)/".
size_t segment_length(sv text, bool named) {
  size_t length = 0;
  if (!named) {
    length = session_length(text);
  } else if (text.starts_with('(')) {
    size_t at = 1;
    while (at < text.size() && is_letter(text[at]) && session_length(text.substr(at + 1)) != 0)
      at += 1 + session_length(text.substr(at + 1));
    if (at > 1 && at < text.size() && text[at] == ')') length = at + 1;
  }
  return length != 0 && length < text.size() && text[length] == '/' ? length + 1 : 0;
}

// Answers whether "x.aspx" follows a position, before any "?". The positions come in descending order, so
// each byte is looked at once.
class AspxBehind {
 public:
  explicit AspxBehind(sv path) : path_(lower(path)), from_(path.size()) {}

  bool follows(size_t position) {
    while (from_ > position) {
      --from_;
      if (path_[from_] == '?') question_ = from_;
      if (path_.compare(from_ + 1, kAspx.size(), kAspx) == 0) aspx_ = from_ + 1;
    }
    return aspx_ != std::string::npos && question_ >= aspx_;
  }

 private:
  static constexpr sv kAspx = ".aspx";
  const std::string path_;
  size_t from_;  // everything from here on has been searched
  size_t aspx_ = std::string::npos, question_ = std::string::npos;  // their first occurrences there
};

bool begins_with(sv text, sv name) {
  return text.size() >= name.size() && equal_ignoring_case(text.substr(0, name.size()), name);
}

// Returns `count` if the text starts with that many characters of the class; otherwise 0.
size_t run_of(sv text, size_t count, bool (*is)(char)) {
  return text.size() >= count && std::all_of(text.begin(), text.begin() + count, is) ? count : 0;
}

// The length of a session argument at the start of `text`; 0 if there is none.
// `end`: where the argument itself ends, at an "&" or at the end of the text.
size_t argument_length(size_t kind, sv text, size_t end) {
  constexpr std::array<sv, 3> kNames{"jsessionid=", "phpsessid=", "sid="};
  constexpr size_t kId = 32, kAspName = 8, kAspId = 24;
  size_t length = 0;
  if (kind < kNames.size()) {
    if (!begins_with(text, kNames[kind])) return 0;
    length = kNames[kind].size();
    const size_t id = run_of(text.substr(length), kId, is_alphanumeric);
    length = id == 0 ? 0 : length + id;
  } else if (kind == kNames.size()) {
    constexpr sv kAsp = "aspsessionid";
    if (!begins_with(text, kAsp)) return 0;
    const sv name = text.substr(kAsp.size());
    if (run_of(name, kAspName, is_letter) == 0 || name.substr(kAspName, 1) != "=" ||
        run_of(name.substr(kAspName + 1), kAspId, is_letter) == 0)
      return 0;
    length = kAsp.size() + kAspName + 1 + kAspId;
  } else {
    constexpr sv kId1 = "cfid=", kId2 = "&cftoken=";
    if (!begins_with(text, kId1)) return 0;
    if (end == kId1.size() || !begins_with(text.substr(end), kId2)) return 0;
    const size_t begin = end + kId2.size();
    length = std::min(text.find('&', begin), text.size());
    if (length == begin) return 0;
  }
  return length != 0 && (length == text.size() || text[length] == '&') ? length : 0;
}

}  // namespace

std::string without_session_in_path(std::string path) {
  for (const bool named : {true, false}) {
    AspxBehind aspx(path);
    for (size_t slash = path.rfind('/'); slash != std::string::npos;
         slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
      const size_t length = segment_length(sv(path).substr(slash + 1), named);
      if (length == 0 || !aspx.follows(slash + 1 + length)) continue;
      path.erase(slash + 1, length);
      break;
    }
  }
  return path;
}

std::string without_sessions(std::string query) {
  constexpr size_t kKinds = 5;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    for (size_t at = query.size(), end = at; at-- > 0;) {
      if (query[at] == '&') end = at;
      const size_t length = argument_length(kind, sv(query).substr(at), end - at);
      if (length == 0) continue;
      query.erase(at, std::min(length + 1, query.size() - at));
      break;
    }
  }
  return query;
}

}  // namespace doppel
