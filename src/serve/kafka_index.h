#pragma once
// An index whose durable form is a log in Kafka, opened for writing by this process alone: the predecessor is
// fenced, the newest good snapshot is loaded and completed from the log.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "metrics/restore_progress.h"
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
  bool read_only = false;    // the log is only read: nobody is fenced, and there is no transactor
  // A rebuild from documents: a new log is begun, or an unfinished one is gone on with. What it is made from.
  std::optional<std::string> rebuilt_from = {};
  std::function<bool()> stop = [] { return false; };
  TellProgress restoring = [](const RestoreProgress&) {};
};

struct KafkaIndex {
  std::unique_ptr<kafka::Transactor> transactor;
  std::unique_ptr<StateDir> state;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<StoredOriginals> originals;
  kafka::KafkaPosition position;
  LogEpoch epoch;
  std::string index_log;
  uint64_t scheme = 0;  // fingerprint
  uint64_t documents = 0;
};

// Aborted: another process has taken over. FailedPrecondition: snapshot, log and configuration do not belong
// together; the message says what differs and what to do.
absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options);

// Writes down where the input begins.
absl::Status write_progress(KafkaIndex& index, const std::vector<LogProgress>& progress);
// Ends a rebuild: where the input goes on, and that the log is complete, in one transaction.
absl::Status complete_rebuild(KafkaIndex& index, const std::vector<LogProgress>& progress);

}  // namespace doppel
