#include "http/exchange.h"

#include <civetweb.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace doppel::http {
namespace {

constexpr size_t kPiece = 64 << 10;

std::string_view text(const char* pointer) { return pointer == nullptr ? std::string_view() : pointer; }

// Replaces line ends by spaces, so that a handler's value cannot start another header.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  for (const std::string_view part : {name, std::string_view(": "), value}) {
    for (const char c : part) out += c == '\r' || c == '\n' ? ' ' : c;
  }
  out += "\r\n";
}

}  // namespace

bool read_head(const mg_request_info& info, Request& request) {
  request.method = text(info.request_method);
  request.path = text(info.local_uri_raw);
  for (int i = 0; i < info.num_headers; ++i)
    request.headers.emplace_back(text(info.http_headers[i].name), text(info.http_headers[i].value));
  auto query = parse_query(text(info.query_string));
  if (!query) return false;
  request.query = *std::move(query);
  return true;
}

Body read_body(mg_connection* connection, const Request& request, int64_t declared, uint64_t max,
               std::string& body) {
  const bool chunked = request.header("transfer-encoding").has_value();
  if (!chunked && declared <= 0) return Body::whole;
  if (!chunked && static_cast<uint64_t>(declared) > max) return Body::too_large;
  if (request.header("expect")) mg_printf(connection, "HTTP/1.1 100 Continue\r\n\r\n");
  for (;;) {
    if (!chunked && body.size() == static_cast<uint64_t>(declared)) return Body::whole;
    if (body.size() > max) return Body::too_large;
    const size_t size = body.size();
    const size_t wanted = chunked ? kPiece : std::min<size_t>(kPiece, static_cast<size_t>(declared) - size);
    body.resize(size + wanted);
    const int got = mg_read(connection, body.data() + size, wanted);
    body.resize(size + static_cast<size_t>(std::max(got, 0)));
    if (got < 0 || (got == 0 && !chunked)) return Body::broken;
    if (got == 0) return Body::whole;
  }
}

void write_response(mg_connection* connection, const Response& response, const std::string& server,
                    bool head) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out += reason(response.status);
  out += "\r\n";
  append_header(out, "Server", server);
  append_header(out, "Connection", "close");
  append_header(out, "Cache-Control", "no-store");
  append_header(out, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (response.status != 204) {
    append_header(out, "Content-Type", response.content_type);
    append_header(out, "Content-Length", std::to_string(response.body.size()));
  }
  out += "\r\n";
  if (!head && response.status != 204) out += response.body;
  mg_write(connection, out.data(), out.size());
}

void drain(mg_connection* connection, uint64_t bytes) {
  std::vector<char> piece(kPiece);
  while (bytes > 0) {
    const int got = mg_read(connection, piece.data(), std::min<uint64_t>(bytes, piece.size()));
    if (got <= 0) return;
    bytes -= static_cast<uint64_t>(got);
  }
}

}  // namespace doppel::http
