#pragma once
// A Kafka to test against, started by scripts/kafka.

#include <sys/types.h>

#include <memory>
#include <string>

namespace doppel::testing {

class Broker {
 public:
  // The one that ctest starts for all tests. Where it does not run (a test was called by hand), it is started
  // now and removed at the end of this process.
  static Broker& shared();

  // One that is the caller's alone, in a temporary folder; removed with this object. `nodes`: 1 or 3.
  static std::unique_ptr<Broker> own(int nodes = 1, bool tls_sasl = false);

  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  const std::string& bootstrap() const { return bootstrap_; }
  int port(int node = 1, int which = 0) const;  // which: 0 for clients, 2 SASL_SSL
  const std::string& folder() const { return folder_; }

  pid_t pid(int node = 1) const;  // for who cannot wait for scripts/kafka

  // node 0: all. Each returns when it is done; they throw what scripts/kafka said where it failed.
  void kill(int node = 0);
  void stop(int node = 0);
  void restart(int node = 0);

  // "producer_byte_rate=30000" of every client; the name alone: no longer.
  void quota(const std::string& quota) { run("quota " + quota); }

 private:
  Broker(std::string folder, bool ours, const std::string& start_arguments);
  std::string run(const std::string& arguments) const;
  void run_for(const char* command, int node) const;

  std::string folder_;
  bool ours_;  // to be removed
  std::string bootstrap_;
};

// A name that no other test, and no earlier run, uses: for topics, groups, and index logs.
std::string unique_name(const std::string& prefix);

}  // namespace doppel::testing
