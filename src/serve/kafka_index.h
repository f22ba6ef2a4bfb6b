#pragma once
// An index whose durable form is a log in Kafka, opened for writing by this process alone: the predecessor is
// fenced, the newest good snapshot is loaded and completed from the log.

#include <functional>
#include <memory>
#include <string>

#include "serve/kafka_plan.h"
#include "state/state_dir.h"
#include "stream/kafka/kafka_position.h"
#include "stream/kafka/kafka_sink.h"

namespace doppel {

struct KafkaIndexOptions {
  const Options& options;
  const KafkaPlan& plan;
  HashKey key;
  bool fresh_state = false;  // do not use the snapshot: the log alone
  std::function<bool()> stop = [] { return false; };
};

struct KafkaIndex {
  std::unique_ptr<kafka::Transactor> transactor;
  std::unique_ptr<StateDir> state;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<kafka::StoredOriginals> originals;
  kafka::KafkaPosition position;
  LogEpoch epoch;
  uint64_t scheme = 0;  // fingerprint
  uint64_t documents = 0;
};

// Aborted: another process has taken over. FailedPrecondition: snapshot, log and configuration do not belong
// together; the message says what differs and what to do.
absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options);

// A process's name in the log, unique.
std::string owner_name();

}  // namespace doppel
