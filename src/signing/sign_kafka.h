#pragma once
// doppel sign on Kafka: reads documents from topics, writes signed records to one topic. Any number of
// processes share the partitions as members of the group GROUP-sign-TOPIC. Each batch is a transaction that
// includes the group's offsets; a process that has left the group cannot commit it. So every document is
// signed exactly once, whenever a process stops.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "fetch/schema_source.h"
#include "kafka/cluster.h"
#include "kafka/source.h"
#include "signing/sign_stream.h"

namespace doppel {

// Waits until the brokers accept the connection.
absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_to_sign(const Options& options,
                                                                const std::function<bool()>& stop);

// Returns an output that writes signed records from files to `topic`, and creates the topic if the
// configuration allows it. Records are written at least once: the outcome of a transaction may be unknown,
// and then a second run writes them again. Fences any other process with the same output: its write() returns
// Aborted.
absl::StatusOr<std::unique_ptr<SignedOutput>> signed_topic_output(const Options& options,
                                                                  kafka::Cluster& cluster,
                                                                  const std::string& topic,
                                                                  const std::string& scheme,
                                                                  const std::function<bool()>& stop);

// The configured topics from their beginning (kafka.start), for an output that stores no offsets. Never ends.
absl::StatusOr<std::unique_ptr<Source>> topics_to_sign(const Options& options, kafka::Cluster& cluster,
                                                       const std::function<bool()>& stop);

// What sign_topics() reads now; nothing while no partition is assigned.
struct SignInput {
  const kafka::KafkaSource* source = nullptr;
  std::shared_ptr<const SchemaStats> schemas;  // nullptr: the records need none
};

struct SignTopics {
  const Options& options;
  kafka::Cluster& cluster;
  std::string topic;  // of the signed records
  const EngineOptions& engine;
  std::function<bool()> stop;
  std::function<void(const std::string&)> report;
  // Called when partitions are assigned, which are read from `progress`, or when none is assigned.
  std::function<void(const SignInput&, const std::vector<LogProgress>& progress)> reading =
      [](const SignInput&, const std::vector<LogProgress>&) {};
  // Called when a batch is committed, with the total counts and the next offsets of its partitions.
  std::function<void(const SignCounters&, const std::vector<LogProgress>&)> progress =
      [](const SignCounters&, const std::vector<LogProgress>&) {};
};

// Signs the assigned partitions until stop() returns true, or until an error that must stop the process.
absl::StatusOr<SignCounters> sign_topics(const SignTopics& how);

}  // namespace doppel
