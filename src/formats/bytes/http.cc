#include "formats/bytes/http.h"

#include <charconv>

#include "base/reason.h"
#include "base/status.h"

namespace doppel {

absl::StatusOr<HttpResponse> parse_http_response(std::string_view message) {
  HttpResponse out;
  // HTTP/1.1 200 OK, HTTP/2 200, ICY 200 OK
  const size_t line = message.find('\n');
  const size_t space = message.substr(0, line).find(' ');
  if (line == std::string_view::npos || space == std::string_view::npos ||
      !(message.starts_with("HTTP/") || message.starts_with("ICY "))) {
    return rejected(Reason::http, ": no status line");
  }
  size_t at = space;
  while (at < line && message[at] == ' ') ++at;
  const auto [end, error] = std::from_chars(message.data() + at, message.data() + line, out.status);
  if (error != std::errc() || out.status < 0) return rejected(Reason::http, ": no status in the status line");
  std::optional<std::string_view> body =
      each_header(message.substr(line + 1), [&](std::string_view name, std::string_view value) {
        if (equal_ignoring_case(name, "content-type")) {
          if (out.content_type.empty()) out.content_type = value;
        } else if (equal_ignoring_case(name, "content-encoding")) {
          if (!out.content_encoding.empty()) out.content_encoding += ',';
          out.content_encoding += value;
        } else if (equal_ignoring_case(name, "transfer-encoding")) {
          out.transfer_encoding = value;
        }
      });
  if (!body) return rejected(Reason::http, ": no empty line ends the head");
  out.body = *body;
  return out;
}

bool decode_chunked(std::string_view body, std::string& out) {
  out.clear();
  bool any = false;
  while (true) {
    const size_t line = body.find('\n');
    if (line == std::string_view::npos) return any;
    uint64_t size = 0;
    const std::string_view head = body.substr(0, line);
    const auto [end, error] = std::from_chars(head.begin(), head.end(), size, 16);
    if (error != std::errc()) return any;
    // Only spaces and a chunk extension may follow the number.
    const char* next = end;
    while (*next == ' ' || *next == '\t' || *next == '\r') ++next;
    if (!any && *next != ';' && *next != '\n') return false;
    any = true;
    body.remove_prefix(line + 1);
    if (size == 0) return true;
    out.append(body.substr(0, size));
    if (size >= body.size()) return true;
    body.remove_prefix(size);
    if (body.starts_with("\r\n")) {
      body.remove_prefix(2);
    } else if (body.starts_with('\n')) {
      body.remove_prefix(1);
    }
  }
}

}  // namespace doppel
