#pragma once
// Checks the settings for Kafka, first by themselves and then against the cluster that they name.

#include <set>
#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/librdkafka/probe.h"
#include "kafka/topics/named_topics.h"

namespace doppel {

// The client that the settings describe, unchecked.
kafka::ClientOptions kafka_client(const Options& options);

// The next two check what needs no broker. InvalidArgument: the message has a line for each mistake. Checks
// the client: addresses of brokers, properties and values that this librdkafka accepts, files that exist.
absl::Status check_kafka_client(const Options& options);
// Checks the topics: the required ones are named, regular expressions are valid, no output is an input.
absl::Status check_kafka_topics(const Options& options);

// Finds out whether the brokers accept us. Returns at once if they do, otherwise after 15 s at most.
kafka::Reached reach_kafka(const Options& options, const std::function<bool()>& stop);

// Checks the rights that doppel needs on existing topics, and the right to create missing ones. A missing
// right makes a topic State::wrong. A missing right on a group or a transactional id adds such an entry.
// Skips topics in `granted` and adds those whose rights the broker confirms.
void check_rights(const Options& options, std::vector<KafkaTopic>& topics, std::set<std::string>& granted);

// Asks the brokers for topics and rights. PermissionDenied: the message has a line for each missing right and
// for each topic that is wrong or missing.
absl::Status missing_rights(const Options& options, kafka::Cluster& cluster);

struct KafkaReport {
  std::string text;     // the findings, for stdout
  absl::Status status;  // Unavailable: the brokers could not be asked
};
// Runs all checks against the cluster. Creates nothing.
KafkaReport check_kafka(const Options& options);

}  // namespace doppel
