#pragma once
// Topics: what there is, what is missing, and making it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stream/kafka/client.h"

namespace doppel::kafka {

struct TopicPartitions {
  std::string topic;
  std::vector<int32_t> partitions;  // ascending
};

// The topics of this name, or whose names fit if it begins with '^' (an extended regular expression that must
// fit from the beginning); ascending. Internal topics ("__...") never fit.
absl::StatusOr<std::vector<TopicPartitions>> find_topics(rd_kafka_t* client,
                                                         const std::vector<std::string>& names);

absl::StatusOr<std::string> cluster_id(rd_kafka_t* client);

struct TopicSpec {
  std::string name;
  std::string purpose;  // as a message says it: "events"
  int partitions = 1;
  int replication = -1;  // -1: the broker's default
  std::vector<std::pair<std::string, std::string>> configs;
};

// Makes what is missing, or refuses with the command that makes it.
absl::Status ensure_topic(rd_kafka_t* client, const TopicSpec& spec, bool create, const std::string& brokers);

// Settings of a topic that are in effect, in the order of `names`; empty where the broker does not know one.
absl::StatusOr<std::vector<std::string>> topic_configs(rd_kafka_t* client, const std::string& topic,
                                                       const std::vector<std::string>& names);

}  // namespace doppel::kafka
