#include "kafka/cluster_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "kafka/signed_order.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

IndexSetup::Settings with(IndexSetup::Settings settings, const IndexSetup::Settings& more) {
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

std::unique_ptr<Daemon> start(const IndexSetup& index, const std::vector<std::string>& role,
                              const std::string& name, Daemon::Environment environment) {
  std::vector<std::string> arguments{"serve", "--config", index.config_file(), "--state", index.path(name)};
  arguments.insert(arguments.end(), role.begin(), role.end());
  environment["DOPPEL_HASH_KEY"] = kHashKey;
  return std::make_unique<Daemon>(arguments, environment);
}

}  // namespace

ClusterSetup::ClusterSetup(const std::string& bootstrap, const Settings& rule, int partitions)
    : bootstrap_(bootstrap),
      rule_(with({{"output.verdicts", "all"}, {"kafka.batch_documents", "100"}}, rule)),
      texts_(bootstrap, with(rule_, {{"kafka.properties.session.timeout.ms", "1000"}}), partitions),
      signed_(bootstrap, with(rule_, {{"input.format", "signed"}}), 1) {}

std::unique_ptr<Daemon> ClusterSetup::signer(const Daemon::Environment& environment) const {
  Daemon::Environment all = environment;
  all["DOPPEL_HASH_KEY"] = kHashKey;
  return std::make_unique<Daemon>(
      std::vector<std::string>{"sign", "--config", texts_.config_file(), "--to", order()}, all);
}

std::vector<std::string> ClusterSetup::check_order(size_t documents) const {
  size_t in_order = 0;
  std::vector<std::string> out = check_signed_order(read_all(bootstrap_, order()), texts_.options(),
                                                    *parse_hash_key(kHashKey), in_order);
  if (in_order != documents) out.push_back(fmt::format("{} of {} documents are signed", in_order, documents));
  return out;
}

Offsets ClusterSetup::end_of_order() const {
  Offsets out;
  Reader reader(bootstrap_, order());
  for (const Message& m : reader.read_to_end()) out[{m.topic, m.partition}] = m.offset + 1;
  return out;
}

ClusterSetup::Settings ClusterSetup::cluster(const Settings& more) const {
  const Settings quick{{"cluster.ahead", "500"},
                       {"kafka.takeover", "standby"},
                       {"kafka.properties.session.timeout.ms", "1000"},
                       {"kafka.properties.transaction.timeout.ms", "2000"}};
  return with(with(with(quick, rule_), {{"input.format", "signed"}, {"kafka.topics", "[" + order() + "]"}}),
              more);
}

std::unique_ptr<Daemon> ClusterSetup::resolver(const IndexSetup& index, const std::string& name,
                                               const Daemon::Environment& environment) {
  return start(index, {"--role", "resolver"}, name, environment);
}

std::unique_ptr<Daemon> ClusterSetup::matcher(const IndexSetup& index, const std::string& shards,
                                              const std::string& name,
                                              const Daemon::Environment& environment) {
  return start(index, {"--role", "matcher", "--shards", shards}, name, environment);
}

Publication ClusterSetup::decide_alone(const Settings& more) const {
  const IndexSetup index(
      bootstrap_,
      with(with(rule_, {{"input.format", "signed"}, {"kafka.topics", "[" + order() + "]"}}), more), 1);
  const auto daemon = index.serve();
  LogFollower follower(bootstrap_, index.options().kafka.index_log);
  if (!follower.await(end_of_order(), std::chrono::seconds(120),
                      [&] { return daemon->await_exit(Daemon::Seconds(0)).has_value(); }))
    throw KafkaError("one process alone does not get done: " + daemon->said());
  daemon->terminate();
  if (daemon->await_exit() != 0) throw KafkaError("one process alone does not end: " + daemon->said());
  return read_publication(bootstrap_, index.options());
}

const Publication& ClusterSetup::alone() {
  if (!expected_) expected_ = decide_alone();
  return *expected_;
}

PublicationDifference ClusterSetup::compare_with_alone(const IndexSetup& index) {
  return compare(read_publication(bootstrap_, index.options()), alone());
}

}  // namespace doppel::testing
