#pragma once
// Resolves a configuration against a cluster: its settings are right, the topics exist, and their limits are
// known.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/sink.h"
#include "kafka/topics.h"
#include "kafka/topics/named_topics.h"

namespace doppel {

struct KafkaPlan {
  kafka::Cluster* kafka = nullptr;  // outlives the plan
  std::string cluster;              // the cluster's id
  std::string transactional_id;
  kafka::Inputs inputs;  // exclude the topics that doppel writes
  kafka::OutputTopic events, dead_letters, unique, index_log;
  int64_t batch_bytes_max = 1'000'000;  // the smallest of their limits
  int64_t log_delete_retention_ms = 86'400'000;
};

// Fails if cluster.order is set, which means an index on many machines, but the process has no role.
absl::Status check_has_role(const Options& options);

// Creates the client for the configured cluster and sends nothing. The error names the wrong property.
absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_kafka(const Options& options);
// Whether doppel may choose the compression: not if the user sets one.
bool may_compress(const Options& options);

struct PlanOptions {
  std::function<bool()> stop = [] { return false; };
  bool await_topics = false;  // wait for missing topics instead of an error
  // Ask a real cluster what Cluster cannot tell: whether it accepts us (called first), and which rights we
  // have. Empty for a simulated cluster.
  std::function<absl::Status()> reach;
  std::function<void(std::vector<KafkaTopic>&)> rights;
  // Checks the cluster's id before any topic is created.
  std::function<absl::Status(const std::string& cluster)> accept;
};
// Adds `reach` and `rights` for a real cluster. `options` must outlive the result.
PlanOptions real_cluster(const Options& options, PlanOptions how);

// Finds and checks the topics. Creates missing ones if the configuration allows it and nothing is wrong with
// the others. Waits for the brokers. InvalidArgument: a person must change something; the message has a line
// for each mistake, which names the key or the topic and the remedy.
absl::StatusOr<KafkaPlan> plan_kafka(const Options& options, kafka::Cluster& cluster, const PlanOptions& how);

// Checks the settings for Kafka, first by themselves and then against the cluster that they name.

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
