#include "http/router.h"

#include <algorithm>
#include <mutex>

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

}  // namespace doppel::http
