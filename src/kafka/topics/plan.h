#pragma once
// What a configuration means on this cluster: topics that are there, and their limits.

#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "kafka/sink.h"
#include "kafka/topics.h"
#include "kafka/topics/named_topics.h"

namespace doppel {

struct KafkaPlan {
  kafka::Cluster* kafka = nullptr;  // outlives the plan
  std::string cluster;              // its id
  std::string transactional_id;
  kafka::Inputs inputs;  // never what doppel writes itself
  kafka::OutputTopic events, dead_letters, unique, index_log;
  int64_t batch_bytes_max = 1'000'000;  // what the smallest limit of them allows
  int64_t log_delete_retention_ms = 86'400'000;
};

// A configuration with cluster.order is of an index on many machines: each process needs its role.
absl::Status check_has_role(const Options& options);

// The cluster that the configuration names; an error names the property that is wrong. Nothing is sent yet.
absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_kafka(const Options& options);

struct PlanOptions {
  std::function<bool()> stop = [] { return false; };
  bool await_topics = false;  // a topic that is missing may come; else it is an error
  // Asks a real cluster what Cluster does not say: whether it lets us in (before all else), and which rights
  // we have. Empty: a simulated one.
  std::function<absl::Status()> reach;
  std::function<void(std::vector<KafkaTopic>&)> rights;
  // Looks at the cluster's id before topics are made.
  std::function<absl::Status(const std::string& cluster)> accept;
};
// The questions of `serve` and `rebuild` to a real cluster.
PlanOptions real_cluster(const Options& options, PlanOptions how);

// Finds, checks and (if the configuration says so) makes the topics: only once nothing is wrong with any of
// them. Waits for the brokers. InvalidArgument: a person must change something; a line for each thing, which
// names the key or the topic and what would be right.
absl::StatusOr<KafkaPlan> plan_kafka(const Options& options, kafka::Cluster& cluster, const PlanOptions& how);

}  // namespace doppel
