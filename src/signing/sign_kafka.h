#pragma once
// doppel sign on Kafka: documents from topics, signed records into one topic. Any number of processes share
// the partitions: the coordinator of the group GROUP-sign-TOPIC spreads them, and each batch is a transaction
// with the group's offsets, which a process that is no longer a member cannot commit. So every document is
// signed once, whatever stops a process.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "kafka/cluster.h"
#include "kafka/source.h"
#include "signing/sign_stream.h"

namespace doppel {

// Waits until the brokers let us in.
absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_to_sign(const Options& options,
                                                                const std::function<bool()>& stop);

// Signed records from files into `topic`, which is made if the configuration lets us. They are written at
// least once: the outcome of a transaction may be unknown, and a second run signs them again. Fences any
// other process that does this: its write() is Aborted.
absl::StatusOr<std::unique_ptr<SignedOutput>> signed_topic_output(const Options& options,
                                                                  kafka::Cluster& cluster,
                                                                  const std::string& topic,
                                                                  const std::string& scheme,
                                                                  const std::function<bool()>& stop);

// The topics of the configuration from their beginning (kafka.start), for an output that remembers nothing.
// Endless.
absl::StatusOr<std::unique_ptr<Source>> topics_to_sign(const Options& options, kafka::Cluster& cluster,
                                                       const std::function<bool()>& stop);

struct SignTopics {
  const Options& options;
  kafka::Cluster& cluster;
  std::string topic;  // of the signed records
  const EngineOptions& engine;
  std::function<bool()> stop;
  std::function<void(const std::string&)> report;
  // Partitions are ours from now on and are read from `progress`, or none is ours (nullptr).
  std::function<void(const kafka::KafkaSource*, const std::vector<LogProgress>& progress)> reading =
      [](const kafka::KafkaSource*, const std::vector<LogProgress>&) {};
  // A batch is committed: all counts so far, and where its partitions go on.
  std::function<void(const SignCounters&, const std::vector<LogProgress>&)> progress =
      [](const SignCounters&, const std::vector<LogProgress>&) {};
};

// Signs the partitions that are ours until stop() says so, or something fails that must stop the process.
absl::StatusOr<SignCounters> sign_topics(const SignTopics& how);

}  // namespace doppel
