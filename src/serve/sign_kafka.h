#pragma once
// doppel sign on Kafka: documents from topics, signed records into a topic with one partition, whose order is
// the order in which they will be decided. Each batch is a transaction with the offsets of the group
// GROUP-sign-TOPIC, which say where the next run begins: nothing is signed twice and nothing is left out,
// whatever stops a run.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "serve/sign_stream.h"
#include "stream/kafka/cluster.h"

namespace doppel {

// Waits until the brokers let us in.
absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_to_sign(const Options& options,
                                                                const std::function<bool()>& stop);

class SignedTopic : public SignedOutput {
 public:
  // Where each partition of the input goes on.
  virtual const std::vector<LogProgress>& progress() const = 0;
};

// Into `topic`, which is made if the configuration lets us, with one partition. Fences any other process that
// signs into it: the other run's write() is Aborted. from_topics: the records come from Kafka. What comes
// from files is written at least once: the outcome of a transaction may be unknown, and a second run signs it
// again.
absl::StatusOr<std::unique_ptr<SignedTopic>> signed_topic_output(const Options& options,
                                                                 kafka::Cluster& cluster,
                                                                 const std::string& topic, bool from_topics,
                                                                 const std::string& scheme,
                                                                 const std::function<bool()>& stop);

// The topics of the configuration, from where `progress` says. Endless.
absl::StatusOr<std::unique_ptr<Source>> topics_to_sign(const Options& options, kafka::Cluster& cluster,
                                                       const std::string& never,
                                                       const std::vector<LogProgress>& progress,
                                                       const std::function<bool()>& stop);

}  // namespace doppel
