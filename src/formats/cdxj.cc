#include "formats/cdxj.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "absl/strings/str_join.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// A port that goes without saying.
bool is_default_port(std::string_view scheme, std::string_view port) {
  return port.empty() || (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
}

// "www.", "www2."
std::string_view without_www(std::string_view host) {
  if (!host.starts_with("www")) return host;
  const size_t end = host.find_first_not_of("0123456789", 3);
  if (end == std::string_view::npos || host[end] != '.') return host;
  return host.substr(end + 1);
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// absl's string_view is another type than std's on Debian 12: its own formatter does not know ours.
std::string joined(std::span<const std::string_view> pieces, std::string_view separator) {
  return absl::StrJoin(pieces, {separator.data(), separator.size()},
                       [](std::string* out, std::string_view piece) { out->append(piece); });
}

std::string reversed(std::string_view host) {
  const bool is_address =
      host.find_first_not_of("0123456789.") == std::string_view::npos || host.starts_with('[');
  if (is_address) return std::string(host);
  std::vector<std::string_view> labels = pieces_of(host, '.');
  std::reverse(labels.begin(), labels.end());
  return joined(labels, ",");
}

std::string sorted_arguments(std::string_view query) {
  std::vector<std::string_view> arguments = pieces_of(query, '&');
  std::sort(arguments.begin(), arguments.end());
  return joined(arguments, "&");
}

bool number_of(simdjson::dom::element element, uint64_t& out) {
  if (element.get(out) == simdjson::SUCCESS) return true;
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return false;
  return std::from_chars(text.data(), text.data() + text.size(), out).ptr == text.data() + text.size() &&
         !text.empty();
}

}  // namespace

std::optional<CdxjLine> parse_cdxj_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos || first == 0) return std::nullopt;
  CdxjLine out{.key = line.substr(0, first)};
  const std::optional<int64_t> time = parse_time(line.substr(first + 1, second - first - 1));
  if (!time) return std::nullopt;
  out.time_ms = *time;
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

std::vector<std::string> cdxj_keys(std::string_view url) {
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos || url.size() > 8192) return {};
  const std::string scheme = lower(url.substr(0, colon));
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const size_t port_at =
      authority.find(':', authority.find(']') == std::string_view::npos ? 0 : authority.find(']'));
  const std::string host = lower(authority.substr(0, port_at));
  if (host.empty()) return {};
  const std::string_view port =
      port_at == std::string_view::npos ? std::string_view() : authority.substr(port_at + 1);
  const std::string suffix = is_default_port(scheme, port) ? ")" : ":" + std::string(port) + ")";

  const std::string tail = lower(rest.substr(slash));
  const size_t question = tail.find('?');
  std::string path = tail.substr(0, question);
  if (path.empty()) path = "/";
  std::string query = question == std::string::npos ? std::string() : tail.substr(question + 1);
  std::string shorter = path;
  while (shorter.size() > 1 && shorter.back() == '/') shorter.pop_back();

  std::vector<std::string> out;
  const auto add = [&](const std::string& of_host, const std::string& of_path, const std::string& of_query) {
    std::string key = reversed(of_host) + suffix + of_path + (of_query.empty() ? "" : "?" + of_query);
    if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(std::move(key));
  };
  const std::string bare(without_www(host));
  for (const std::string& each : {bare, host}) {
    for (const std::string& each_path : {shorter, path}) {
      add(each, each_path, sorted_arguments(query));
      add(each, each_path, query);
    }
  }
  return out;
}

}  // namespace doppel
