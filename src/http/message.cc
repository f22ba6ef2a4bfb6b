#include "http/message.h"

#include <algorithm>

#include "base/strings.h"

namespace doppel::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename Pairs>
std::optional<std::string_view> find(const Pairs& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> Request::param(std::string_view name) const { return find(params, name); }
std::optional<std::string_view> Request::query_value(std::string_view name) const {
  return find(query, name);
}
std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_word(key, name)) return value;
  }
  return std::nullopt;
}

Response token_needed(std::string_view message) {
  Response out = error(401, message);
  out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}

Response page(int status, std::string html) {
  Response out{.status = status, .body = std::move(html), .content_type = "text/html; charset=utf-8"};
  out.headers = {{"Content-Security-Policy",
                  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                  "form-action 'none'; frame-ancestors 'none'"},
                 {"Referrer-Policy", "no-referrer"}};
  return out;
}

Response error(int status, std::string_view message) {
  Response out{.status = status};
  out.body = "{\"error\":{\"status\":" + std::to_string(status) + ",\"message\":";
  append_json_string(out.body, message);
  out.body += "}}\n";
  return out;
}

Response try_again(int status, std::string_view message, int seconds) {
  Response out = error(status, message);
  out.headers.emplace_back("Retry-After", std::to_string(seconds));
  return out;
}

std::string_view reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

std::optional<std::string> url_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    auto name = url_decode(part.substr(0, equals), true);
    auto value = url_decode(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) return std::nullopt;
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  for (const std::string_view part : {name, std::string_view(": "), value}) {
    for (const char c : part) out += c == '\r' || c == '\n' ? ' ' : c;
  }
  out += "\r\n";
}

std::string head_of(const Response& response, std::string_view server, bool keeps) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out += reason(response.status);
  out += "\r\n";
  append_header(out, "Server", server);
  append_header(out, "Connection", keeps ? "keep-alive" : "close");
  append_header(out, "Cache-Control", "no-store");
  append_header(out, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (response.status != 204) {
    append_header(out, "Content-Type", response.content_type);
    append_header(out, "Content-Length", std::to_string(response.body.size()));
  }
  return out += "\r\n";
}

}  // namespace doppel::http
