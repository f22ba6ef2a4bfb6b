#pragma once
// The request that a handler gets and the response that it returns.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel::http {

// Views are valid during the handler's call.
struct Request {
  std::string_view method;  // GET, POST, ...; HEAD arrives as GET
  std::string_view path;    // as sent, not decoded
  std::string_view body;

  std::vector<std::pair<std::string, std::string>> params;  // {name} of the pattern -> decoded text
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in the order of the URL
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  // Whether the request has the server's bearer token.
  enum class Token { none_configured, missing, right };
  Token token = Token::none_configured;

  // Return the first value with that name, or nothing. Names of headers are case-insensitive.
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

// An HTML page, with headers that forbid browsers to load or run anything from it.
Response page(int status, std::string html);
// The form of every error: {"error":{"status":404,"message":"..."}}.
Response error(int status, std::string_view message);
// An error that may pass.
Response try_again(int status, std::string_view message, int seconds = 1);
// 401, for a request without the right token.
Response token_needed(std::string_view message);

// Without regard to the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);
std::string_view reason(int status);  // such as "Not Found"

// Decodes escapes such as %41, and + as a space if `plus_is_space` (in queries). Nullopt if an escape is
// invalid.
std::optional<std::string> url_decode(std::string_view text, bool plus_is_space);
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

// What comes before the body of a response.
std::string head_of(const Response& response, std::string_view server, bool keeps);

// Appends a line of a head. Line ends in the value become spaces, so that it cannot start another header.
void append_header(std::string& out, std::string_view name, std::string_view value);

}  // namespace doppel::http
