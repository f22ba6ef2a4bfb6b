#include "formats/warc/cdxj.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "formats/bytes/charset.h"
#include "formats/bytes/http.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

bool number_of(simdjson::dom::element element, uint64_t& out) {
  if (element.get(out) == simdjson::SUCCESS) return true;
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS && whole_number(text, out);
}

// Parses the rest of a line of classic CDX: URL, type, status, digest, redirect, in the form with eleven
// columns also flags and length, then offset and file, and in that of scan --cdx the record id.
std::optional<CdxjLine> finish_cdx(std::string_view rest, CdxjLine out) {
  std::vector<std::string_view> columns;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    columns.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  constexpr size_t kOfNine = 7, kOfEleven = 9, kOfTwelve = 10;  // without key and time
  if (columns.size() == kOfTwelve) columns.pop_back();
  if (columns.size() != kOfNine && columns.size() != kOfEleven) return std::nullopt;
  const std::string_view offset = columns[columns.size() - 2], file = columns.back();
  if (!whole_number(offset, out.offset) || file == "-") return std::nullopt;
  out.url = columns[0];
  out.filename = file;
  return out;
}

}  // namespace

std::string cdxj_time(std::string_view date) {
  constexpr std::string_view kFirst = "00000101000000";
  std::string out;
  for (const char c : date) {
    if (c >= '0' && c <= '9' && out.size() < kFirst.size()) out += c;
  }
  if (out.size() < 4 || out.size() % 2 != 0) return {};
  return out.append(kFirst.substr(out.size()));
}

std::optional<CdxjLine> parse_cdxj_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || first == 0) return std::nullopt;
  CdxjLine out{.key = line.substr(0, first)};
  const std::optional<int64_t> time = parse_time(line.substr(first + 1, second - first - 1));
  if (!time) return std::nullopt;
  out.time_ms = *time;
  if (line.substr(second + 1, 1) != "{") return finish_cdx(line.substr(second + 1), std::move(out));
  simdjson::dom::parser parser;
  const simdjson::padded_string json(line.substr(second + 1));
  simdjson::dom::object object;
  if (parser.parse(json).get(object) != simdjson::SUCCESS) return std::nullopt;
  std::string_view text;
  simdjson::dom::element offset;
  if (object["filename"].get(text) != simdjson::SUCCESS || text.empty()) return std::nullopt;
  out.filename = text;
  if (object["offset"].get(offset) != simdjson::SUCCESS || !number_of(offset, out.offset))
    return std::nullopt;
  if (object["url"].get(text) == simdjson::SUCCESS) out.url = text;
  return out;
}

std::vector<std::string> members_without(std::string_view json, const std::vector<std::string_view>& names) {
  std::vector<std::string> out;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::dom::object object;
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) return out;
  for (const auto& [name, value] : object) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string member;
    append_json_string(member, name);
    out.push_back(member + ":" + simdjson::minify(value));
  }
  return out;
}

namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostCharacters = 4096;

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string binary(std::string_view body) {
  return body.empty() ? std::string() : "__wb_post_data=" + absl::Base64Escape({body.data(), body.size()});
}

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else if (c == ' ') {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

std::string form_of(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    append_escaped(name, out);
    out += '=';
    append_escaped(value, out);
  }
  return out;
}

// "a+b%20c" -> "a b c". Escapes that are not UTF-8 become U+FFFD.
std::string unescaped(std::string_view form) {
  std::string bytes;
  for (size_t i = 0; i < form.size(); ++i) {
    const auto hex = [&](size_t at) { return at < form.size() ? hex_value(form[at]) : -1; };
    if (form[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      bytes += static_cast<char>(hex(i + 1) << 4 | hex(i + 2));
      i += 2;
    } else {
      bytes += form[i] == '+' ? ' ' : form[i];
    }
  }
  if (is_utf8(bytes)) return bytes;
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    char32_t c = 0;
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&bytes[at]), bytes.size() - at, c);
    out += length > 0 ? std::string_view(bytes).substr(at, static_cast<size_t>(length)) : "\xef\xbf\xbd";
    at += static_cast<size_t>(std::max(length, 1));
  }
  return out;
}

// Collects the values of a JSON text by the names of their members, at any depth. A name that comes again
// gets a number.
class JsonValues {
 public:
  void add(dom::element element, std::string_view name = {}) {
    switch (element.type()) {
      case dom::element_type::OBJECT:
        return members(element.get_object().value_unsafe());
      case dom::element_type::ARRAY: {
        const dom::array array = element.get_array().value_unsafe();
        for (const dom::element item : array) add(item, name);
        return;
      }
      default:
        if (!name.empty()) fields.emplace_back(free_name(name), text_of(element));
    }
  }

  Fields fields;

 private:
  // Of members with one name the last value counts, at the first one's place.
  void members(dom::object object) {
    std::vector<dom::key_value_pair> unique;
    for (const dom::key_value_pair member : object) {
      const auto known = std::find_if(unique.begin(), unique.end(),
                                      [&](const auto& earlier) { return earlier.key == member.key; });
      if (known == unique.end()) {
        unique.push_back(member);
      } else {
        known->value = member.value;
      }
    }
    for (const dom::key_value_pair& member : unique) add(member.value, member.key);
  }

  std::string free_name(std::string_view name) {
    const auto is_taken = [&](const auto& field) { return field.first == name; };
    if (std::none_of(fields.begin(), fields.end(), is_taken)) return std::string(name);
    auto times = std::find_if(repeats_.begin(), repeats_.end(), is_taken);
    if (times == repeats_.end()) times = repeats_.insert(repeats_.end(), {std::string(name), 1});
    return fmt::format("{}.{}_", name, ++times->second);
  }

  // As Python writes the value.
  static std::string text_of(dom::element element) {
    switch (element.type()) {
      case dom::element_type::STRING:
        return std::string(std::string_view(element.get_string().value_unsafe()));
      case dom::element_type::BOOL:
        return element.get_bool().value_unsafe() ? "True" : "False";
      case dom::element_type::INT64:
        return fmt::format("{}", element.get_int64().value_unsafe());
      case dom::element_type::UINT64:
        return fmt::format("{}", element.get_uint64().value_unsafe());
      case dom::element_type::DOUBLE: {
        std::string out = fmt::format("{}", element.get_double().value_unsafe());
        return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
      }
      default:
        return "None";
    }
  }

  std::vector<std::pair<std::string, int>> repeats_;
};

// Nullopt if the body is neither JSON nor a JSON value in each line.
std::optional<std::string> query_of_json(std::string_view body) {
  dom::parser parser;
  JsonValues values;
  const auto take = [&](std::string_view json) {
    dom::element root;
    if (parser.parse(simdjson::padded_string(json)).get(root) != simdjson::SUCCESS) return false;
    values.add(root);
    return true;
  };
  if (take(body)) return form_of(values.fields);
  if (body.find('\n') == std::string_view::npos) return std::nullopt;
  for (std::string_view rest = body;;) {
    const size_t end = rest.find('\n');
    if (!take(rest.substr(0, end))) return std::nullopt;
    if (end == std::string_view::npos) return form_of(values.fields);
    rest.remove_prefix(end + 1);
  }
}

// The value of a parameter such as name="a"; "" if there is none.
std::string_view parameter(std::string_view header, std::string_view name) {
  for (size_t at = header.find(';'); at != std::string_view::npos; at = header.find(';', at)) {
    header.remove_prefix(at + 1);
    header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
    at = 0;
    if (!header.starts_with(name) || header.substr(name.size(), 1) != "=") continue;
    std::string_view value = header.substr(name.size() + 1);
    if (!value.starts_with('"')) return value.substr(0, value.find_first_of("; \t"));
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  return {};
}

// Nullopt if the parts cannot be found.
std::optional<std::string> query_of_parts(std::string_view type, std::string_view body) {
  const std::string_view boundary = parameter(type, "boundary");
  if (boundary.empty()) return std::nullopt;
  const std::string line = fmt::format("--{}", boundary);
  if (!body.starts_with(line)) return std::nullopt;
  Fields fields;
  for (body.remove_prefix(line.size()); body.starts_with("\r\n");) {
    body.remove_prefix(2);
    const size_t end = body.find("\r\n" + line);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view name;
    const std::optional<std::string_view> content =
        each_header(body.substr(0, end + 2), [&](std::string_view header, std::string_view value) {
          if (equal_ignoring_case(header, "Content-Disposition")) name = parameter(value, "name");
        });
    if (!content) return std::nullopt;
    fields.emplace_back(name, content->substr(0, content->size() < 2 ? 0 : content->size() - 2));
    body.remove_prefix(end + 2 + line.size());
  }
  if (!body.starts_with("--")) return std::nullopt;
  return form_of(fields);
}

std::string query_of_body(std::string_view type, std::string_view body) {
  if (type.starts_with("application/x-www-form-urlencoded"))
    return is_utf8(body) ? unescaped(body) : binary(body);
  if (type.starts_with("multipart/")) return query_of_parts(type, body).value_or(binary(body));
  if (type.starts_with("application/json")) return query_of_json(body).value_or("");
  if (type.starts_with("text/plain")) return query_of_json(body).value_or(binary(body));
  return binary(body);
}

// The first characters of a text in UTF-8.
std::string_view first_characters(std::string_view text, size_t most) {
  size_t at = 0;
  for (; at < text.size() && most > 0; --most) {
    ++at;
    while (at < text.size() && (text[at] & 0xc0) == 0x80) ++at;
  }
  return text.substr(0, at);
}

}  // namespace

std::string PostQuery::url(std::string_view target_uri) const {
  return fmt::format("{}{}__wb_method={}{}{}", target_uri,
                     target_uri.find('?') == std::string_view::npos ? '?' : '&', method,
                     query.empty() ? "" : "&", query);
}

std::optional<PostQuery> post_query_of(const WarcRecord& request) {
  if (request.type != WarcType::request) return std::nullopt;
  const size_t line = request.block.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  PostQuery out{.method = std::string(request.block.substr(0, request.block.substr(0, line).find(' '))),
                .query = {}};
  if (!equal_ignoring_case(out.method, "POST") && !equal_ignoring_case(out.method, "PUT"))
    return std::nullopt;
  std::string_view type;
  std::optional<std::string_view> length;
  std::optional<std::string_view> body =
      each_header(request.block.substr(line + 1), [&](std::string_view name, std::string_view value) {
        if (equal_ignoring_case(name, "Content-Type") && type.empty()) type = value;
        if (equal_ignoring_case(name, "Content-Length") && !length) length = value;
      });
  if (!body) return std::nullopt;
  uint64_t bytes = 8192;  // what the packages read of a body without a length
  if (length && !whole_number(*length, bytes)) bytes = 0;
  out.query = query_of_body(type, body->substr(0, bytes));
  out.query.resize(first_characters(out.query, kMostCharacters).size());
  return out;
}

}  // namespace doppel
