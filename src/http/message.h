#pragma once
// A request as a handler sees it, and the response that it gives back.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel::http {

// Views live as long as the call of the handler.
struct Request {
  std::string_view method;  // GET, POST, ...; a HEAD comes as GET
  std::string_view path;    // as it was sent, not decoded
  std::string_view body;

  std::vector<std::pair<std::string, std::string>> params;  // {name} of the pattern -> decoded text
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in the order of the address
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  // Whether it brings the server's bearer token.
  enum class Token { none_configured, missing, right };
  Token token = Token::none_configured;

  // The first one of that name, or nothing. Names of headers are compared without case.
  std::optional<std::string_view> param(std::string_view name) const;
  std::optional<std::string_view> query_value(std::string_view name) const;
  std::optional<std::string_view> header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

// A page that loads nothing and runs nothing, with the headers that hold browsers to it.
Response page(int status, std::string html);
// What every refusal looks like: {"error":{"status":404,"message":"..."}}.
Response error(int status, std::string_view message);
// 401, for a request without the right token.
Response token_needed(std::string_view message);

std::string_view reason(int status);  // "Not Found"

// %41 and, in queries, + as a space. Nothing if an escape is broken.
std::optional<std::string> url_decode(std::string_view text, bool plus_is_space);
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

}  // namespace doppel::http
