#pragma once
// Parses an HTTP response as archives store it: head and body as they were transferred.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

struct HttpResponse {
  int status = 0;
  std::string_view content_type;
  std::string content_encoding;  // all of them, separated by commas; also gzip of "gzip, chunked"
  std::string_view transfer_encoding;
  std::string_view body;  // as transferred
};

// Views in the result point into `message`. Fails if it does not start like a response, or if its head has no
// end.
absl::StatusOr<HttpResponse> parse_http_response(std::string_view message);

// Calls visit(name, value) for each line "Name: value" up to an empty line; the value has no surrounding
// spaces. A line that starts with a space continues the previous one. Returns the text after the empty line;
// nullopt if there is none.
template <typename Visit>
std::optional<std::string_view> each_header(std::string_view text, Visit visit) {
  while (true) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = text.substr(0, end);
    if (line.empty() || line == "\r") return text.substr(end + 1);
    // A folded header is one value that contains line ends.
    while (end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '\t')) {
      end = text.find('\n', end + 1);
      if (end == std::string_view::npos) return std::nullopt;
      line = text.substr(0, end);
    }
    text.remove_prefix(end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    std::string_view value = line.substr(colon + 1);
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t first = value.find_first_not_of(kSpace);
    value = first == std::string_view::npos ? std::string_view()
                                            : value.substr(first, value.find_last_not_of(kSpace) + 1 - first);
    visit(name, value);
  }
}

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// Undoes "chunked". Returns false if the body is not chunked; then `out` is unspecified. (Crawlers may keep
// the header but store the decoded body.) A truncated body is decoded as far as it goes.
bool decode_chunked(std::string_view body, std::string& out);

// Undoes gzip, deflate, br and zstd, several if so declared. A body that does not start like the declared
// encoding is returned unchanged, because crawlers may store the decoded body. Fails if the data is damaged
// after its start, larger than `max_bytes`, or of an unknown encoding. `memory` holds the decoded body.
absl::StatusOr<std::string_view> decode_content(std::string_view body, std::string_view encodings,
                                                size_t max_bytes, std::string& memory);

}  // namespace doppel
