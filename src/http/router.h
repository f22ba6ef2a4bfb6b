#pragma once
// Finds the handler for a method and a path. Any thread may call it, so routes may be added while requests
// come.

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "http/message.h"

namespace doppel::http {

using Handler = std::function<Response(const Request&)>;
// Gives a request its response: once, on any thread. A request whose last copy of it goes without a call gets
// 500.
using Reply = std::function<void(Response)>;
// A handler that answers later, and occupies no thread until then. The request lives until the reply is
// called.
using LaterHandler = std::function<void(const Request&, Reply)>;

// open: everybody who can connect may call it. token: the request needs the bearer token, and is refused if
// none is configured. token_if_any: the request needs the token if one is configured. probe: as open, and a
// thread and connections of its own answer it when all others are busy.
enum class Access { open, probe, token_if_any, token };

struct Route {
  std::string method;
  std::vector<std::string> parts;  // of the pattern; "{name}" matches any non-empty part
  Handler handler;
  Access access = Access::open;
  LaterHandler later = {};  // in place of `handler`
};

class Router {
 public:
  // A pattern is like "/v1/documents/{id}". A part in braces matches one part of a path; its decoded text may
  // contain slashes. A route with the same method and pattern is replaced.
  void add(std::string method, std::string_view pattern, Handler handler, Access access,
           LaterHandler later = {});

  struct Match {
    std::shared_ptr<const Route> route;  // null: see `allowed`
    std::vector<std::pair<std::string, std::string>> params;
    std::vector<std::string> allowed;  // the methods of this path; empty: the path is unknown
    bool broken = false;               // the path contains an invalid escape
  };
  // Literal parts take precedence over parts in braces. HEAD finds the route of GET.
  Match find(std::string_view method, std::string_view path) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<const Route>> routes_;
};

// Reads the bearer token that permits changes from the environment variable if it is set, otherwise from the
// first line of the file.
// Without either it is empty. InvalidArgument: the file cannot be read, or the token is too short or has
// other characters than printable ASCII. The message names `setting` or the variable.
absl::StatusOr<std::string> load_token(const std::string& setting, const std::string& file,
                                       const std::string& variable);

// Whether the Authorization header contains "Bearer TOKEN". The comparison's time does not depend on the
// token.
bool bearer_is(std::string_view authorization, std::string_view token);

}  // namespace doppel::http
