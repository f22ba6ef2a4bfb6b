#pragma once
// An HTTP/1.1 server. It knows nothing of documents.
//
// One thread reads, writes and keeps the time for all connections, so a slow client costs no thread; handlers
// run on a small pool of others, several in parallel. Connections stay open for more requests, which may be
// sent before their answers. A request that two servers could read differently is refused (framing.h). An
// unknown path gets 404, a wrong method 405 with Allow, and a body that is too large 413; every error is JSON
// (message.h). Bodies may be packed with gzip or zstd. With a certificate it speaks TLS alone; a client that
// is slow to shake hands is one that is slow to send its head.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "http/router.h"
#include "http/tls.h"

namespace doppel::http {

// What a server has answered, and what it holds at present, for its metrics. The requests of probes (/live,
// /ready, /metrics) are not counted: they come every few seconds, whether somebody uses the server or not.
struct Counts {
  // Upper bounds of the times, in seconds. There is one more bucket, for longer ones.
  static constexpr std::array<double, 12> kTimes{.0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 60};

  std::map<int, uint64_t> responses;  // by status
  // How long the requests took from the end of their head to the response.
  std::array<uint64_t, kTimes.size() + 1> times{};
  double seconds = 0;  // their sum
  uint64_t connections = 0;
  uint64_t waiting = 0;  // requests that are complete and have no response yet
  uint64_t body_bytes = 0, body_bytes_most = 0;
};

// Any thread may call.
class Counter {
 public:
  void responded(int status, double seconds) {
    size_t bucket = 0;
    while (bucket < Counts::kTimes.size() && seconds > Counts::kTimes[bucket]) ++bucket;
    const std::lock_guard lock(mutex_);
    ++counts_.responses[status];
    ++counts_.times[bucket];
    counts_.seconds += seconds;
  }
  void connected(int more) {
    const std::lock_guard lock(mutex_);
    counts_.connections += static_cast<uint64_t>(more);  // wraps for less
  }
  void waits(int more) {
    const std::lock_guard lock(mutex_);
    counts_.waiting += static_cast<uint64_t>(more);
  }
  Counts now() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

struct ServerOptions {
  std::string listen = "127.0.0.1:9464";  // see read_endpoint(); port 0 chooses a free one
  std::vector<std::string> hosts;         // see may_be_called()
  std::string token;                      // for Access::token; empty: those routes answer 403
  uint64_t max_body = 16 << 20;           // bytes, also of a body that was unpacked
  // Bytes of bodies at a time; a client (an address) has a quarter. At least four times max_body.
  uint64_t bodies = 64 << 20;
  int max_header = 16 << 10;  // bytes of request line and headers
  int threads = 16;           // requests that are handled in parallel
  int waiting = 1024;         // requests that wait for a thread; more get 503
  // Most connections, fewer if the process may not open that many files. A new one takes the place of the one
  // that has waited longest for a request. If there is none, a few more may send probes.
  int connections = 4096;
  // Applies three times: to the head of a request, to its body, and to the client's reading of the response.
  std::chrono::milliseconds time_out{5000};
  std::chrono::milliseconds idle{60'000};  // how long a connection waits for its next request
  std::string server = "doppel";           // value of the header Server
  TlsFiles tls;                            // see ServedTls; without a certificate: plain HTTP
};

class Server {
 public:
  // The result listens and answers. Errors name the setting http.listen. InvalidArgument: a person must
  // change it. `add_routes` is called before the first request is read; more can be added at any time.
  static absl::StatusOr<std::unique_ptr<Server>> start(
      ServerOptions options, const std::function<void(Server&)>& add_routes = nullptr);
  ~Server();  // calls stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;         // the actual port; 0 for a unix socket
  std::string url() const;  // see Endpoint::url()

  // Any thread may call it at any time, except a handler.
  void route(std::string method, std::string_view pattern, Handler handler, Access access = Access::open);
  void route_later(std::string method, std::string_view pattern, LaterHandler handler,
                   Access access = Access::open);

  Counts counts() const;  // any thread

  // Answers what it has received, then closes all connections. Waits for the handlers that run, and for
  // replies that come later, so these must not wait for the caller.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::http
