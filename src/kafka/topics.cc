#include "kafka/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr std::chrono::seconds kMade(15);  // how long brokers may take to learn of a new topic

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::StatusOr<std::vector<TopicPattern>> patterns_of(const Inputs& inputs) {
  std::vector<TopicPattern> patterns;
  for (const std::string& name : inputs.names) {
    if (!name.starts_with('^')) continue;
    absl::StatusOr<TopicPattern> pattern = TopicPattern::compile(name);
    if (!pattern.ok()) return invalid("kafka.topics: " + std::string(pattern.status().message()));
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

bool is_input(const Inputs& inputs, const std::vector<TopicPattern>& patterns, const std::string& topic) {
  if (contains(inputs.names, topic)) return true;
  if (topic.starts_with("__")) return false;
  if (contains(inputs.never, topic) && !mutated(Mutation::outputs_are_inputs)) return false;
  return std::any_of(patterns.begin(), patterns.end(), [&](const TopicPattern& p) { return p.fits(topic); });
}

}  // namespace

bool is_input(const Inputs& inputs, const std::string& topic) {
  const absl::StatusOr<std::vector<TopicPattern>> patterns = patterns_of(inputs);
  return patterns.ok() && is_input(inputs, *patterns, topic);
}

absl::StatusOr<std::vector<TopicPartitions>> find_topics(Cluster& cluster, const Inputs& inputs) {
  ASSIGN_OR_RETURN(const std::vector<TopicPattern> patterns, patterns_of(inputs));
  ASSIGN_OR_RETURN(std::vector<TopicPartitions> found, cluster.topics());
  std::erase_if(found, [&](const TopicPartitions& t) { return !is_input(inputs, patterns, t.topic); });
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
  const absl::Status made = cluster.create_topic(spec);
  if (!absl::IsAlreadyExists(made)) {
    RETURN_IF_ERROR(made);
    log::info("made a topic",
              {{"topic", spec.name}, {"purpose", spec.purpose}, {"partitions", spec.partitions}});
  }
  // The controller created the topic. The broker that gets our next request may not know it yet.
  const auto deadline = Clock::now() + kMade;
  while (true) {
    const absl::Status known = cluster.topic_configs(spec.name, {}).status();
    if (!absl::IsNotFound(known) || Clock::now() > deadline) return known;
    Clock::sleep(std::chrono::milliseconds(10));
  }
}

absl::StatusOr<TopicPattern> TopicPattern::compile(const std::string& expression) {
  auto compiled = std::make_unique<regex_t>();
  if (const int code = ::regcomp(compiled.get(), expression.c_str(), REG_EXTENDED); code != 0) {
    std::array<char, 256> reason{};
    ::regerror(code, compiled.get(), reason.data(), reason.size());
    return invalid(expression + ": not a regular expression: " + reason.data());
  }
  TopicPattern out;
  out.compiled_.reset(compiled.release());
  return out;
}

// regexec returns the match that begins first, so a match at 0 is found if there is one.
bool TopicPattern::fits(const std::string& topic) const {
  std::array<regmatch_t, 1> match{};
  return ::regexec(compiled_.get(), topic.c_str(), match.size(), match.data(), 0) == 0 && match[0].rm_so == 0;
}

}  // namespace doppel::kafka
