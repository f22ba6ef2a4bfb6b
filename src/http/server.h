#pragma once
// A small HTTP/1.1 server on civetweb's threads. It knows nothing of documents.
//
// One request for each connection. What is unknown gets 404, a wrong method 405 with Allow, a body that is
// too large 413; every refusal is JSON (message.h). A client that is too slow in sending or reading is cut
// off. Handlers run on the server's threads, several at the same time.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "http/router.h"

namespace doppel::http {

struct ServerOptions {
  std::string listen = "127.0.0.1:9464";  // host:port, IPv4; port 0 takes any free one
  std::string token;                      // of Access::token; empty: those routes answer 403
  uint64_t max_body = 16 << 20;           // bytes
  int max_header = 16 << 10;              // bytes of request line and headers
  int threads = 16;                       // requests that are answered at the same time
  int waiting = 64;                       // connections that are accepted and wait for a thread
  // For the head of a request, again for its body, again for reading the response.
  std::chrono::milliseconds time_out{5000};
  std::string server = "doppel";  // the header Server
};

// "host:port" in parts; the error names the setting http.listen.
absl::StatusOr<std::pair<std::string, int>> split_listen(const std::string& listen);

class Server {
 public:
  // Listens and answers from here on. Errors name the setting: http.listen, http.tls_certificate,
  // http.tls_key.
  static absl::StatusOr<std::unique_ptr<Server>> start(ServerOptions options);
  ~Server();  // as stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;         // the one that is listened on
  std::string url() const;  // "http://127.0.0.1:9464"

  // May be called at any time, from any thread but a handler's.
  void route(std::string method, std::string_view pattern, Handler handler, Access access = Access::open);

  // Ends when the requests that are being answered are: their handlers must not wait for the caller.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::http
