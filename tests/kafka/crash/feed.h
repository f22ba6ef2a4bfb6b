#pragma once
// A continuous stream of documents: short ones, with words that no other document has, and copies of them.

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "kafka/client.h"
#include "kafka/truth.h"

namespace doppel::testing {

struct FeedOptions {
  uint64_t seed = 1;
  uint64_t originals = 50'000;  // at the beginning; later two of five documents are originals
  int partitions = 1;
  double rate = 500;  // documents per second, after the originals
};

class Feed {
 public:
  Feed(const std::string& bootstrap, const std::string& topic, const FeedOptions& options);
  ~Feed() { stop(); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void produce_originals();
  void start();  // starts a thread that feeds until stop()
  void stop();

  Offsets ends();
  // Why it has ended by itself; empty if it has not.
  std::string failed();

 private:
  Message make(uint64_t number) const;
  void produce(uint64_t count);
  void run();

  const FeedOptions options_;
  const std::string topic_;
  Client client_;
  uint64_t next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // guards the members below
  Offsets ends_;
  std::string failed_;
  std::thread thread_;
};

}  // namespace doppel::testing
