#include "stream/kafka/topics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"
#include "stream/kafka/topic_pattern.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kMade(15);  // until every broker has heard of a new topic

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::StatusOr<std::vector<TopicPartitions>> find_topics(Cluster& cluster, const Inputs& inputs) {
  std::vector<TopicPattern> patterns;
  for (const std::string& name : inputs.names) {
    if (!name.starts_with('^')) continue;
    absl::StatusOr<TopicPattern> pattern = TopicPattern::compile(name);
    if (!pattern.ok()) return invalid("kafka.topics: " + std::string(pattern.status().message()));
    patterns.push_back(*std::move(pattern));
  }
  ASSIGN_OR_RETURN(std::vector<TopicPartitions> found, cluster.topics());
  std::erase_if(found, [&](const TopicPartitions& t) {
    if (contains(inputs.names, t.topic)) return false;
    if (t.topic.starts_with("__")) return true;
    if (contains(inputs.never, t.topic) && !mutated(Mutation::outputs_are_inputs)) return true;
    return std::none_of(patterns.begin(), patterns.end(),
                        [&](const TopicPattern& p) { return p.fits(t.topic); });
  });
  return found;
}

std::string command_to_make(const TopicSpec& spec, const std::string& brokers) {
  std::string out = fmt::format("kafka-topics.sh --bootstrap-server {} --create --topic {} --partitions {}",
                                brokers, spec.name, spec.partitions);
  if (spec.replication > 0) out += fmt::format(" --replication-factor {}", spec.replication);
  for (const auto& [name, value] : spec.configs) out += fmt::format(" --config {}={}", name, value);
  return out;
}

absl::Status make_topic(Cluster& cluster, const TopicSpec& spec) {
  RETURN_IF_ERROR(cluster.create_topic(spec));
  log::info("made a topic",
            {{"topic", spec.name}, {"purpose", spec.purpose}, {"partitions", spec.partitions}});
  // The controller made it: the broker that is asked next may not have heard of it yet.
  const auto deadline = Clock::now() + kMade;
  while (true) {
    const absl::Status known = cluster.topic_configs(spec.name, {}).status();
    if (!absl::IsNotFound(known) || Clock::now() > deadline) return known;
    Clock::sleep(std::chrono::milliseconds(10));
  }
}

}  // namespace doppel::kafka
