#pragma once
// Which handler answers which method and path. Routes may be added while requests come: any thread may call.

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace doppel::http {

using Handler = std::function<Response(const Request&)>;

// open: anyone who can connect. token: who sends the bearer token; refused where none is configured.
enum class Access { open, token };

struct Route {
  std::string method;
  std::vector<std::string> parts;  // of the pattern; "{name}" matches one part with any text
  Handler handler;
  Access access = Access::open;
};

class Router {
 public:
  // pattern: "/v1/documents/{id}". A part in braces takes one part of a path, decoded, which may then hold
  // slashes. Replaces the route of the same method and pattern.
  void add(std::string method, std::string_view pattern, Handler handler, Access access);

  struct Match {
    std::shared_ptr<const Route> route;  // null: see allowed
    std::vector<std::pair<std::string, std::string>> params;
    std::vector<std::string> allowed;  // methods that this path has; none: the path is unknown
    bool broken = false;               // an escape in the path is none
  };
  // A literal part goes before a part in braces. HEAD is answered by GET.
  Match find(std::string_view method, std::string_view path) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<const Route>> routes_;
};

}  // namespace doppel::http
