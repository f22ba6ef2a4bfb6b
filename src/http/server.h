#pragma once
// A small HTTP/1.1 server on civetweb's threads. It knows nothing of documents.
//
// It answers one request on each connection. An unknown path gets 404, a wrong method 405 with Allow, and a
// body that is too large 413; every error is JSON (message.h). It disconnects a client that sends or reads
// too slowly. Handlers run on the server's threads, several in parallel.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "http/router.h"

namespace doppel::http {

struct ServerOptions {
  std::string listen = "127.0.0.1:9464";  // host:port, IPv4; port 0 chooses a free one
  std::string token;                      // for Access::token; empty: those routes answer 403
  uint64_t max_body = 16 << 20;           // bytes
  int max_header = 16 << 10;              // bytes of request line and headers
  int threads = 16;                       // requests that are handled in parallel
  int waiting = 64;                       // accepted connections that wait for a thread
  // Applies three times: to the head of a request, to its body, and to the client's reading of the response.
  std::chrono::milliseconds time_out{5000};
  std::string server = "doppel";  // value of the header Server
};

// Splits "host:port". The error names the setting http.listen.
absl::StatusOr<std::pair<std::string, int>> split_listen(const std::string& listen);

class Server {
 public:
  // The result listens and answers. Errors name the setting http.listen. InvalidArgument: a person must
  // change it.
  static absl::StatusOr<std::unique_ptr<Server>> start(ServerOptions options);
  ~Server();  // calls stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;         // the actual port
  std::string url() const;  // such as "http://127.0.0.1:9464"

  // Any thread may call it at any time, except a handler.
  void route(std::string method, std::string_view pattern, Handler handler, Access access = Access::open);

  // Waits for the handlers that run, so these must not wait for the caller.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::http
