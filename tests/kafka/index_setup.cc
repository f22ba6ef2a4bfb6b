#include "kafka/index_setup.h"

#include <fmt/format.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/config.h"
#include "kafka/broker.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

HashKey hash_key() { return *parse_hash_key(kHashKey); }

}  // namespace

IndexSetup::IndexSetup(const std::string& bootstrap, const Settings& settings, int partitions, int topics)
    : bootstrap_(bootstrap), config_file_(dir_ / "doppel.yaml") {
  const std::string name = unique_name("t");
  Client client(bootstrap);
  for (int i = 0; i < topics; ++i) {
    inputs_.push_back(topics == 1 ? name + "-in" : fmt::format("{}-in-{}", name, i));
    client.create_topic(inputs_.back(), partitions, {{"max.message.bytes", "80000000"}});
  }
  settings_ = {
      {"kafka.brokers", bootstrap},
      {"kafka.topics", "[" + absl::StrJoin(inputs_, ", ") + "]"},
      {"kafka.index_log", name + "-index"},
      {"kafka.group", name},
      {"kafka.create_topics", "true"},
      {"kafka.partitions", "2"},
      {"kafka.takeover", "now"},
      {"output.topic", name + "-events"},
      {"output.dead_letters", name + "-dead"},
      {"state.directory", dir_ / "state"},
      {"threads", "1"},
  };
  set(settings);
}

IndexSetup::IndexSetup(const IndexSetup& other, const std::string& state)
    : bootstrap_(other.bootstrap_),
      config_file_(dir_ / "doppel.yaml"),
      inputs_(other.inputs_),
      settings_(other.settings_) {
  set({{"state.directory", state}});
}

void IndexSetup::set(const Settings& settings) {
  for (const auto& [key, value] : settings) {
    settings_[key] = absl::StrReplaceAll(value, {{"~", settings_["kafka.group"]}});
  }
  write_config();
}

void IndexSetup::write_config() {
  std::map<std::string, std::string> sections;
  std::string text;
  for (const auto& [key, value] : settings_) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos) {
      text += fmt::format("{}: {}\n", key, value);
    } else {
      sections[key.substr(0, dot)] += fmt::format("  {}: {}\n", key.substr(dot + 1), value);
    }
  }
  for (const auto& [section, lines] : sections) text += fmt::format("{}:\n{}", section, lines);
  write_file(config_file_, text);
  const absl::StatusOr<Config> config = load_config({.file = config_file_, .sets = {}, .environment = {}});
  if (!config.ok()) throw KafkaError(config.status().ToString());
  options_ = config->options;
}

std::unique_ptr<Daemon> IndexSetup::serve(Daemon::Environment environment, const std::string& state) const {
  environment["DOPPEL_HASH_KEY"] = kHashKey;
  std::vector<std::string> arguments{"serve", "--config", config_file_};
  if (!state.empty()) arguments.insert(arguments.end(), {"--set", "state.directory=" + state});
  return std::make_unique<Daemon>(arguments, environment);
}

Ran IndexSetup::run(const std::string& command) const {
  return run_doppel(fmt::format("{} --config '{}'", command, config_file_),
                    fmt::format("DOPPEL_HASH_KEY={}", kHashKey));
}

bool IndexSetup::await_all(Daemon& daemon, std::chrono::seconds patience) {
  Offsets ends;
  for (const std::string& topic : inputs_) {
    const std::vector<Message> messages = read_all(bootstrap_, topic);
    ends.merge(ends_of(messages, messages.size()));
  }
  LogFollower follower(bootstrap_, options_.kafka.index_log);
  return follower.await(ends, patience, [&] { return daemon.await_exit(Daemon::Seconds(0)).has_value(); });
}

std::string IndexSetup::compare_with_rebuilt() const {
  IndexSetup rebuilt(*this, dir_ / "rebuilt");
  const Ran ran = rebuilt.run("rebuild --from log");
  if (ran.code != 0) return fmt::format("doppel rebuild --from log: exit {}: {}", ran.code, ran.err);
  return difference(read_state(options_, hash_key()), read_state(rebuilt.options_, hash_key()));
}

StateContent IndexSetup::read_directory(const std::string& state, const std::string& shards) const {
  Options options = options_;
  options.state_directory = state;
  options.cluster.shards = shards;
  return read_state(options, hash_key());
}

Verification IndexSetup::verify() const { return verify_run(bootstrap_, options_, hash_key(), inputs_); }

}  // namespace doppel::testing
