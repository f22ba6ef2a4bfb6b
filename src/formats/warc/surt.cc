#include "formats/warc/cdxj.h"

#include <arpa/inet.h>
#include <unicode/uidna.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "formats/bytes/http.h"

namespace doppel {
namespace {

using sv = std::string_view;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return is_digit(c) || is_letter(c); }

std::string lower(sv text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// ---- session ids in URLs, removed as the package surt does for the keys of captures

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
size_t run_of(sv text, size_t count, bool (*in_class)(char)) {
  return text.size() >= count && std::all_of(text.begin(), text.begin() + count, in_class) ? count : 0;
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

// "/(S(4hqa0555fwsecu455xqckv45))/page.aspx" -> "/page.aspx"
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

// "a=1&sid=0123456789abcdef0123456789abcdef" -> "a=1"
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

// ---- host names in any script, as ASCII by IDNA 2003 (RFC 3490), as archives do

constexpr size_t kMaxLabel = 63;

bool is_ascii(std::u16string_view label) {
  return std::all_of(label.begin(), label.end(), [](char16_t c) { return c < 0x80; });
}

// ICU has IDNA 2003 in functions that it advises against, because browsers use a later standard.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
std::optional<std::string> ascii_label(std::u16string_view label) {
  std::array<UChar, kMaxLabel + 1> ascii;
  if (!is_ascii(label)) {
    UErrorCode error = U_ZERO_ERROR;
    const int32_t size =
        uidna_toASCII(label.data(), static_cast<int32_t>(label.size()), ascii.data(),
                      static_cast<int32_t>(ascii.size()), UIDNA_ALLOW_UNASSIGNED, nullptr, &error);
    if (U_FAILURE(error)) return std::nullopt;
    label = {ascii.data(), static_cast<size_t>(size)};
  }
  if (label.empty() || label.size() > kMaxLabel) return std::nullopt;
  return std::string(label.begin(), label.end());
}
#pragma GCC diagnostic pop

std::u16string decoded(std::string_view text) {
  std::u16string out;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, c);
    if (length > 0 && c > 0xffff) {
      out += static_cast<char16_t>(U16_LEAD(c));
      out += static_cast<char16_t>(U16_TRAIL(c));
    } else if (length > 0) {
      out += static_cast<char16_t>(c);
    }
    at += static_cast<size_t>(std::max(length, 1));
  }
  return out;
}

// "bücher.example" -> "xn--bcher-kva.example". Skips bytes that are not UTF-8. Returns nullopt if a label is
// empty, too long, or contains prohibited characters.
std::optional<std::string> idna_host(std::string_view host) {
  const std::u16string all = decoded(host);
  std::u16string_view rest = all;
  std::string out;
  while (!rest.empty()) {
    const size_t dot = rest.find_first_of(u".\u3002\uff0e\uff61");
    const std::optional<std::string> label = ascii_label(rest.substr(0, dot));
    if (!label) return std::nullopt;
    out += *label;
    if (dot == std::u16string::npos) break;
    out += '.';
    rest.remove_prefix(dot + 1);
  }
  return out;
}

std::vector<sv> pieces_of(sv text, char separator) {
  std::vector<sv> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// ---- percent signs

// Decodes until no escape is left, because %2525 is a percent sign too. A decoded character may complete an
// escape with those before it. Linear.
std::string unescaped_whole(sv text) {
  std::string out;
  for (const char c : text) {
    out += c;
    for (size_t n = out.size(); n > 2 && out[n - 3] == '%'; n = out.size()) {
      const int high = hex_value(out[n - 2]), low = hex_value(out[n - 1]);
      if (high < 0 || low < 0) break;
      out.resize(n - 3);
      out += static_cast<char>(high << 4 | low);
    }
  }
  return out;
}

std::string escaped(sv text) {
  constexpr sv kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '#' && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

// ---- the parts of a URL

struct Parts {
  std::string scheme, host, path, query;
  std::optional<uint32_t> port;
};

// The length of the scheme: a letter, then letters, digits, + - . up to a colon. 0 if there is none.
size_t scheme_length(sv url) {
  if (url.empty() || !is_letter(url.front())) return 0;
  for (size_t i = 1; i < url.size(); ++i) {
    if (url[i] == ':') return i;
    if (!is_alphanumeric(url[i]) && url[i] != '+' && url[i] != '-' && url[i] != '.') return 0;
  }
  return 0;
}

// Removes surrounding white space and all line ends; adds a missing scheme, and removes all but the last.
std::string cleaned(sv url) {
  constexpr sv kSpace = " \t\n\r\v\f";
  url.remove_prefix(std::min(url.find_first_not_of(kSpace), url.size()));
  url = url.substr(0, url.find_last_not_of(kSpace) + 1);
  std::string out;
  for (const char c : url)
    if (c != '\n' && c != '\r' && c != '\t') out += c;
  if (!out.empty() && scheme_length(out) == 0) out.insert(0, "http://");
  const auto protocol_at = [&](size_t at) -> size_t {
    const sv rest = sv(out).substr(std::min(at, out.size()));
    return rest.starts_with("http://") ? 7 : rest.starts_with("https://") ? 8 : 0;
  };
  size_t last = 0;
  for (size_t at = 0; protocol_at(at) != 0; at += protocol_at(at)) last = at;
  return out.substr(last);
}

// Returns false if the URL has no key.
bool split(sv url, Parts& out) {
  const size_t colon = scheme_length(url);
  if (colon == 0) return false;
  out.scheme = url.substr(0, colon);
  sv rest = url.substr(colon + 1);
  rest = rest.substr(0, rest.find('#'));
  const size_t question = rest.find('?');
  if (question != sv::npos) out.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  sv host, port;
  if (rest.starts_with("//")) {
    const size_t slash = std::min(rest.find('/', 2), rest.size());
    sv authority = rest.substr(2, slash - 2);
    out.path = rest.substr(slash);
    if (authority.ends_with(':')) authority = authority.substr(0, authority.find_last_not_of(':') + 1);
    if (const size_t at = authority.rfind('@'); at != sv::npos) authority.remove_prefix(at + 1);
    if (const size_t open = authority.find('['); open != sv::npos) {
      const size_t close = std::min(authority.find(']', open), authority.size());
      host = authority.substr(open + 1, close - open - 1);
      const sv behind = authority.substr(close);
      if (const size_t mark = behind.find(':'); mark != sv::npos) port = behind.substr(mark + 1);
    } else {
      host = authority.substr(0, authority.find(':'));
      if (host.size() < authority.size()) port = authority.substr(host.size() + 1);
    }
  } else {
    out.path = rest;
  }
  // The text after a percent sign is the zone of an IPv6 address, which is case-sensitive.
  out.host = lower(host.substr(0, host.find('%')));
  out.host += host.substr(std::min(host.find('%'), host.size()));
  if (!port.empty()) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number > 65535) return false;
    if (number != 0) out.port = number;
  }
  if (out.scheme.starts_with("http") && out.host.empty() && !out.path.empty()) {
    const sv all = sv(out.path).substr(std::min(out.path.find_first_not_of('/'), out.path.size()));
    const size_t slash = std::min(all.find('/'), all.size());
    std::string behind = "/" + std::string(all.substr(std::min(slash + 1, all.size())));
    out.host = all.substr(0, slash);
    out.path = std::move(behind);
  }
  return true;
}

// ---- hosts

// "3232235777", "192.168.257", "0300.0250.1.1": addresses as inet_aton() reads them.
std::optional<std::string> address_of(const std::string& host) {
  const bool digits = std::all_of(host.begin(), host.end(), is_digit);
  in_addr address{};
  if (digits && !host.empty()) {
    uint32_t value = 0;
    for (const char c : host) value = value * 10 + static_cast<uint32_t>(c - '0');
    address.s_addr = htonl(value);
  } else {
    const std::vector<sv> numbers = pieces_of(host, '.');
    const bool all = std::all_of(numbers.begin(), numbers.end(), [](sv number) {
      return !number.empty() && std::all_of(number.begin(), number.end(), is_digit);
    });
    // If the first number is octal, all of them must be.
    const bool octal = host.front() == '0' && host.find_first_of("89") != std::string::npos;
    if (!all || octal || numbers.size() > 4 || ::inet_aton(host.c_str(), &address) == 0) return std::nullopt;
  }
  const auto value = ntohl(address.s_addr);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += std::to_string(value >> shift & 255);
    if (shift != 0) out += '.';
  }
  return out;
}

std::string canonical_host(sv given) {
  std::string host = unescaped_whole(given);
  if (std::any_of(host.begin(), host.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    if (std::optional<std::string> ascii = idna_host(host)) host = *std::move(ascii);
  }
  std::string dots;
  for (size_t i = 0; i < host.size(); ++i) {
    dots += host[i];
    if (host[i] == '.' && i + 1 < host.size() && host[i + 1] == '.') ++i;
  }
  const size_t first = dots.find_first_not_of('.');
  if (first == std::string::npos) return {};
  host = dots.substr(first, dots.find_last_not_of('.') + 1 - first);
  if (std::optional<std::string> address = address_of(host)) return *std::move(address);
  return lower(escaped(lower(host)));
}

// Removes "www." or "www2."
sv without_www(sv host) {
  if (!host.starts_with("www")) return host;
  const size_t end = host.find_first_not_of("0123456789", 3);
  return end == sv::npos || host[end] != '.' ? host : host.substr(end + 1);
}

std::string reversed(sv host) {
  std::vector<sv> labels = pieces_of(host, '.');
  std::string out;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    if (label != labels.rbegin()) out += ',';
    out += *label;
  }
  return out;
}

// ---- paths

std::string without_dots(sv path) {
  if (path.empty()) return "/";
  std::vector<sv> kept;
  const std::vector<sv> pieces = pieces_of(path, '/');
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i] == ".") continue;
    if (pieces[i] == ".." && !kept.empty()) {
      kept.pop_back();
    } else {
      kept.push_back(pieces[i]);
    }
  }
  std::string out = "/";
  for (size_t i = 0; i < kept.size(); ++i) {
    out += kept[i];
    if (i + 1 < kept.size() && !kept[i].empty()) out += '/';
  }
  return out;
}

// ---- queries

// Sorts by name, then by value; an argument without "=" comes before one with an empty value.
std::string sorted_arguments(sv query) {
  if (query.size() <= 1) return std::string(query);
  struct Argument {
    sv name;
    std::optional<sv> value;
    auto operator<=>(const Argument&) const = default;
  };
  std::vector<Argument> arguments;
  for (const sv text : pieces_of(query, '&')) {
    const size_t equals = text.find('=');
    arguments.push_back(
        {text.substr(0, equals), equals == sv::npos ? std::nullopt : std::optional(text.substr(equals + 1))});
  }
  std::sort(arguments.begin(), arguments.end());
  std::string out;
  for (const Argument& argument : arguments) {
    if (&argument != arguments.data()) out += '&';
    out += argument.name;
    if (argument.value) out.append("=").append(*argument.value);
  }
  return out;
}

}  // namespace

std::string surt(sv url) {
  if (url.empty()) return "-";
  if (url.starts_with("filedesc")) return std::string(url);
  Parts parts;
  if (!split(cleaned(url), parts)) return std::string(url);
  const std::string scheme = lower(parts.scheme);
  std::string host;
  if (!parts.host.empty()) {
    host = canonical_host(parts.host);
    if (parts.scheme != "dns") host = without_www(host);
  }
  std::string path = unescaped_whole(parts.path);
  if (!host.empty()) path = without_dots(path);
  path = without_session_in_path(lower(escaped(path)));
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string query = escaped(unescaped_whole(parts.query));
  query = sorted_arguments(lower(without_sessions(std::move(query))));

  std::string out;
  if (host.empty()) {
    out = parts.scheme + ":";
  } else {
    out = reversed(host);
    const bool usual = (scheme == "http" && parts.port == 80U) || (scheme == "https" && parts.port == 443U);
    if (parts.port && !usual) out.append(":").append(std::to_string(*parts.port));
    out += ')';
  }
  out += path.empty() && !query.empty() ? "/" : path;
  if (!query.empty()) out.append("?").append(query);
  return out;
}

}  // namespace doppel
