#pragma once
// A Kafka for tests, started by scripts/kafka.

#include <sys/types.h>

#include <memory>
#include <string>

namespace doppel::testing {

class Broker {
 public:
  // The one that ctest starts for all tests. If it does not run (a test was started by hand), starts it now
  // and removes it at the end of this process.
  static Broker& shared();

  // Starts a broker for the caller alone, in a temporary folder. The destructor removes it. `nodes`: 1 or 3.
  static std::unique_ptr<Broker> own(int nodes = 1, bool tls_sasl = false);
  static std::unique_ptr<Broker> own_with_id(const std::string& cluster);

  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  const std::string& bootstrap() const { return bootstrap_; }
  int port(int node = 1, int which = 0) const;  // which: 0 for clients, 2 SASL_SSL
  const std::string& folder() const { return folder_; }

  pid_t pid(int node = 1) const;  // for callers that cannot wait for scripts/kafka

  // node 0: all. Each returns when it is done. On failure, throws the output of scripts/kafka.
  void kill(int node = 0);
  void stop(int node = 0);
  void restart(int node = 0);

  // Sets a quota for every client, such as "producer_byte_rate=30000"; the name alone removes it.
  void quota(const std::string& quota) { run("quota " + quota); }
  // Gives a user a right on "KIND=NAME", such as "transactional-id=x". From then on only users with rights
  // have any on it.
  void allow(const std::string& user, const std::string& right, const std::string& resource) {
    run("allow " + user + " " + right + " " + resource);
  }

 private:
  Broker(std::string folder, bool ours, const std::string& start_arguments);
  std::string run(const std::string& arguments) const;
  void run_for(const char* command, int node) const;

  std::string folder_;
  bool ours_;  // the destructor removes it
  std::string bootstrap_;
};

// Returns a name that no other test and no earlier run uses: for topics, groups and index logs.
std::string unique_name(const std::string& prefix);

}  // namespace doppel::testing
