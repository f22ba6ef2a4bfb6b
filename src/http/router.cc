#include "http/router.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "base/status.h"

namespace doppel::http {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  if (path.starts_with('/')) path.remove_prefix(1);
  for (;;) {
    const size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool is_variable(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }

}  // namespace

void Router::add(std::string method, std::string_view pattern, Handler handler, Access access,
                 LaterHandler later) {
  auto route = std::make_shared<Route>(Route{.method = std::move(method),
                                             .parts = split(pattern),
                                             .handler = std::move(handler),
                                             .access = access,
                                             .later = std::move(later)});
  const std::unique_lock lock(mutex_);
  std::erase_if(routes_,
                [&](const auto& old) { return old->method == route->method && old->parts == route->parts; });
  // Literal parts sort before parts in braces, so the first route that matches has precedence.
  const auto place = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const auto& other) { return other->parts > route->parts; });
  routes_.insert(place, std::move(route));
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match out;
  const std::vector<std::string> parts = split(path);
  const std::shared_lock lock(mutex_);
  for (const auto& route : routes_) {
    if (route->parts.size() != parts.size()) continue;
    std::vector<std::pair<std::string, std::string>> params;
    bool fits = true;
    for (size_t i = 0; i < parts.size() && fits; ++i) {
      const std::string& part = route->parts[i];
      const auto text = url_decode(parts[i], false);
      if (!text) {
        out.broken = true;
        return out;
      }
      if (is_variable(part)) {
        fits = !text->empty();
        params.emplace_back(part.substr(1, part.size() - 2), *text);
      } else {
        fits = *text == part;
      }
    }
    if (!fits) continue;
    if (out.route == nullptr && (route->method == method || (method == "HEAD" && route->method == "GET"))) {
      out.route = route;
      out.params = std::move(params);
    }
    if (std::find(out.allowed.begin(), out.allowed.end(), route->method) == out.allowed.end())
      out.allowed.push_back(route->method);
  }
  if (std::find(out.allowed.begin(), out.allowed.end(), "GET") != out.allowed.end())
    out.allowed.emplace_back("HEAD");
  return out;
}

namespace {

constexpr size_t kLeast = 16;

absl::StatusOr<std::string> checked(std::string token, const std::string& where) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.size() < kLeast)
    return invalid(where + ": a token has at least 16 characters; make one with: openssl rand -hex 24");
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return invalid(where + ": a token has only printable ASCII characters and no spaces");
  return token;
}

}  // namespace

absl::StatusOr<std::string> load_token(const std::string& setting, const std::string& file,
                                       const std::string& variable) {
  if (const char* text = std::getenv(variable.c_str())) return checked(text, variable);
  if (file.empty()) return std::string();
  std::string line;
  errno = 0;
  std::ifstream in(file);
  if (!in || !std::getline(in, line)) {
    const std::string why = errno != 0 ? std::strerror(errno) : "it is empty";
    return invalid(setting + ": cannot read " + file + ": " + why);
  }
  return checked(std::move(line), setting + " " + file);
}

bool bearer_is(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  if (token.empty() || authorization.size() < kScheme.size()) return false;
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if ((authorization[i] | 0x20) != (kScheme[i] | 0x20)) return false;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  // Compares every byte that was sent, so the time depends only on their number.
  unsigned differ = authorization.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < authorization.size(); ++i) {
    const volatile unsigned pair =
        static_cast<unsigned char>(authorization[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
    differ |= pair;
  }
  return differ == 0;
}

}  // namespace doppel::http
