#pragma once
// An index for one test: topics with unique names, a state directory, and a configuration file as a user
// writes it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "config/options.h"
#include "kafka/client.h"
#include "kafka/daemon.h"
#include "kafka/state_content.h"
#include "kafka/truth.h"

namespace doppel::testing {

inline constexpr const char* kHashKey = "000102030405060708090a0b0c0d0e0f";  // of all processes

class IndexSetup {
 public:
  // Any key of the configuration, and its value as YAML: "kafka.batch_documents" -> "50". In a value, ~
  // stands for the beginning of all names of this index.
  using Settings = std::map<std::string, std::string>;

  // Creates `topics` input topics of `partitions` partitions.
  IndexSetup(const std::string& bootstrap, const Settings& settings = {}, int partitions = 3, int topics = 1);

  const std::string& bootstrap() const { return bootstrap_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::string& input() const { return inputs_[0]; }
  const Options& options() const { return options_; }
  const std::string& state() const { return options_.state_directory; }
  std::string path(const std::string& name) const { return dir_ / name; }
  const std::string& config_file() const { return config_file_; }

  // Changes settings for later starts.
  void set(const Settings& settings);

  // `state`: a directory other than the configured one.
  std::unique_ptr<Daemon> serve(Daemon::Environment environment = {}, const std::string& state = "") const;
  // Runs another command with this configuration, such as "rebuild --from log".
  Ran run(const std::string& command) const;

  // Waits until the daemon has committed everything that is in the input now. Returns false if it ended or
  // took too long.
  bool await_all(Daemon& daemon, std::chrono::seconds patience = std::chrono::seconds(90));

  // Compares everything that is committed with the expected publication.
  Verification verify() const;
  // Rebuilds the index from the log, next to the daemon's directory (the daemon must have ended cleanly).
  // Returns "" if both are equal.
  std::string compare_with_rebuilt() const;
  // Reads another directory of this index; `shards`: of the matcher that owns it.
  StateContent read_directory(const std::string& state, const std::string& shards = "") const;

 private:
  // The same index with another state directory.
  IndexSetup(const IndexSetup& other, const std::string& state);
  void write_config();

  TempDir dir_;
  std::string bootstrap_, config_file_;
  std::vector<std::string> inputs_;
  Settings settings_;
  Options options_;
};

}  // namespace doppel::testing
