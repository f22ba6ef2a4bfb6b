#pragma once
// Stands between clients and one broker, and cuts connections when a test asks for it. It rewrites the
// addresses in the broker's answers, so that clients always come back here.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace doppel::testing {

// The kinds of requests that tests wait for, by Kafka's numbers.
enum class Api : int16_t {
  produce = 0,
  fetch = 1,
  init_producer_id = 22,
  add_offsets_to_txn = 25,
  end_txn = 26,
  txn_offset_commit = 28
};

class Proxy {
 public:
  explicit Proxy(int broker_port);
  ~Proxy();  // cuts everything
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string bootstrap() const;

  // The next such request does not reach the broker: cuts all connections instead.
  void cut_before(Api api);
  // The broker carries out the next such request; then cuts all connections instead of passing its answer on.
  void cut_after(Api api);
  // The broker carries out the next such request; calls `act` before it passes the answer on.
  void act_after(Api api, std::function<void()> act);
  // Waits until a cut, a refusal or an act has happened. Returns false after `seconds`.
  bool await(int seconds = 60);

  // Holds the next produce request for this topic until another one follows, then passes both on, the first
  // as a request for a topic that does not exist. The broker refuses the first and carries out the second,
  // like a leader that has only just become one.
  void refuse_produce(const std::string& topic);

  // Delays every such request by this time before it is passed on: a slow link.
  void delay(Api api, std::chrono::milliseconds time);

  // While down, closes new connections at once. A cut leaves it down if `stay_down` was set before.
  void set_down(bool down);
  void stay_down_after_cut(bool stay) {
    const std::lock_guard lock(mutex_);
    stay_down_ = stay;
  }

  int seen(Api api);  // number of such requests so far

 private:
  struct Connection;
  void accept_loop();
  void serve_client(Connection& connection);
  void serve_broker(Connection& connection);
  void cut();  // the caller holds mutex_

  int broker_port_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Api> before_, after_, delayed_;
  std::chrono::milliseconds delay_{0};
  std::string refused_topic_;
  std::optional<Api> acts_after_;
  std::function<void()> act_;
  bool done_ = false;
  bool down_ = false;
  bool stay_down_ = false;
  bool ending_ = false;
  std::vector<int16_t> seen_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread acceptor_;
};

}  // namespace doppel::testing
