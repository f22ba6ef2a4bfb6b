#pragma once
// An HTTP response as an archive keeps it: head and body, as they went over the wire.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

struct HttpResponse {
  int status = 0;
  std::string_view content_type;
  std::string_view content_encoding;
  std::string_view transfer_encoding;
  std::string_view body;  // as it was sent
};

// Views point into `message`. The error: it does not begin as a response, or its head has no end.
absl::StatusOr<HttpResponse> parse_http_response(std::string_view message);

// The lines "Name: value" up to an empty line (or the end); a line that begins with a space goes on with the
// one before. Calls visit(name, value), the value without the space around it. Returns what follows the
// empty line; nullopt if there is none.
template <typename Visit>
std::optional<std::string_view> each_header(std::string_view text, Visit visit) {
  while (true) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = text.substr(0, end);
    if (line.empty() || line == "\r") return text.substr(end + 1);
    // What is folded is one value, with the line ends in it.
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

// Undoes "chunked". False: the body is not chunked (crawlers keep the header and undo it themselves), `out`
// is unspecified. A body that is cut off gives what there is.
bool decode_chunked(std::string_view body, std::string& out);

// Undoes gzip, deflate, br and zstd, several if so declared. A body that does not begin as declared is taken
// as it is, for the same reason. The error: damaged in the middle, larger than `max_bytes`, or an encoding
// that is not known. `memory` holds the result where the body does not.
absl::StatusOr<std::string_view> decode_content(std::string_view body, std::string_view encodings,
                                                size_t max_bytes, std::string& memory);

}  // namespace doppel
