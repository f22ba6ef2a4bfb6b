#pragma once
// Whether the settings of Kafka are right: by themselves, and with the cluster that they name.

#include <set>
#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/librdkafka/probe.h"
#include "kafka/topics/named_topics.h"

namespace doppel {

// The client that the settings describe; this checks nothing.
kafka::ClientOptions kafka_client(const Options& options);

// Checks everything that needs no broker. InvalidArgument: a line for each mistake. Of the client: brokers
// that are no addresses, properties and values that this librdkafka does not take, files that are missing.
absl::Status check_kafka_client(const Options& options);
// Of topics: none, an output that is an input.
absl::Status check_kafka_topics(const Options& options);

// Whether the brokers accept us. Returns at once if they do.
kafka::Reached reach_kafka(const Options& options, const std::function<bool()>& stop);

// The rights that doppel needs on topics that are there, and to make those that are not; those that are
// missing make them wrong. Topics whose
// rights are `granted` already are not asked about again; those that the broker grants now are added.
void check_rights(const Options& options, std::vector<KafkaTopic>& topics, std::set<std::string>& granted);

// PermissionDenied: what of the above is missing by now, a line for each.
absl::Status missing_rights(const Options& options, kafka::Cluster& cluster);

struct KafkaReport {
  std::string text;     // what was found, for stdout
  absl::Status status;  // Unavailable: the brokers could not be asked
};
// All checks, in one list. Creates nothing.
KafkaReport check_kafka(const Options& options);

}  // namespace doppel
