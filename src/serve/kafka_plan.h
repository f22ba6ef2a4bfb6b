#pragma once
// What a configuration means on this cluster: connections, topics that are there, and their limits.

#include <memory>
#include <string>

#include "config/options.h"
#include "stream/kafka/kafka_sink.h"
#include "stream/kafka/transactor.h"

namespace doppel {

struct KafkaPlan {
  kafka::ClientOptions client;
  std::string transactional_id;
  std::string cluster;
  kafka::OutputTopic events, dead_letters, unique, index_log;
  int64_t message_bytes_max = 1'000'000;  // the largest of them
  int64_t log_delete_retention_ms = 86'400'000;
};

// How to reach the brokers; an error names the property that is wrong.
absl::StatusOr<kafka::ClientOptions> kafka_client(const Options& options);

// Finds, checks and (if wished) makes the topics. Waits for the brokers as long as `stop` says no. An error
// names the key or the topic and what would be right.
absl::StatusOr<KafkaPlan> plan_kafka(const Options& options, const std::function<bool()>& stop);

}  // namespace doppel
