#pragma once
// A cluster that knows topics and their settings, and nothing else; and a configuration that names topics.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/cluster.h"

namespace doppel::kafka_test {

inline Options options_with_topics() {
  Options options;
  options.kafka.brokers = "broker:1";
  options.kafka.topics = {"docs"};
  options.kafka.index_log = "log";
  options.output.topic = "events";
  options.output.dead_letters = "dead";
  options.output.unique_topic = "unique";
  return options;
}

class TopicsCluster : public kafka::Cluster {
 public:
  struct Topic {
    int partitions = 1;
    std::map<std::string, std::string> settings = {};
  };
  std::map<std::string, Topic> there;
  std::set<std::string> closed;  // topics whose settings may not be read
  std::vector<kafka::TopicSpec> made;
  absl::Status status;   // what topics() answers, unless it is OK
  int learns_after = 0;  // how many questions for settings the brokers answer as if no topic were there

  absl::StatusOr<std::string> id() override { return "cluster-of-test"; }
  absl::StatusOr<std::vector<kafka::TopicPartitions>> topics() override {
    if (!status.ok()) return status;
    std::vector<kafka::TopicPartitions> out;
    for (const auto& [name, topic] : there) {
      out.push_back({.topic = name, .partitions = {}});
      for (int partition = 0; partition < topic.partitions; ++partition)
        out.back().partitions.push_back(partition);
    }
    return out;
  }
  absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                         const std::vector<std::string>& names) override {
    if (closed.contains(topic)) return absl::PermissionDeniedError(topic);
    const auto found = there.find(topic);
    if (learns_after > 0 || found == there.end()) {
      learns_after = std::max(learns_after - 1, 0);
      return absl::NotFoundError(topic);
    }
    static const std::map<std::string, std::string> kDefaults{{"cleanup.policy", "delete"},
                                                              {"delete.retention.ms", "86400000"},
                                                              {"max.message.bytes", "1048588"},
                                                              {"message.timestamp.type", "CreateTime"},
                                                              {"retention.ms", "604800000"}};
    std::vector<std::string> out;
    for (const std::string& name : names) {
      const auto set = found->second.settings.find(name);
      out.push_back(set != found->second.settings.end() ? set->second : kDefaults.at(name));
    }
    return out;
  }
  absl::Status create_topic(const kafka::TopicSpec& spec) override {
    made.push_back(spec);
    there[spec.name] = {.partitions = spec.partitions,
                        .settings = {spec.configs.begin(), spec.configs.end()}};
    return absl::OkStatus();
  }

  absl::StatusOr<kafka::Watermarks> watermarks(const kafka::TopicPartition&, kafka::Isolation) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int64_t> offset_at(const kafka::TopicPartition&, int64_t) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<kafka::TransactionalProducer>> producer(
      const kafka::TransactionalOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<kafka::Consumer>> consumer(const kafka::ConsumerOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<kafka::Membership>> join(const kafka::MembershipOptions&) override {
    return absl::UnimplementedError("");
  }
};

}  // namespace doppel::kafka_test
