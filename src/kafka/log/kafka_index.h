#pragma once
// An index whose durable form is a log in Kafka, opened for writing by this process alone: the newest good
// snapshot is loaded and completed from the log beside an owner that still writes. When it is our turn, the
// log is claimed, which fences that one, and the rest is read.

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "kafka/log/restorer.h"
#include "kafka/log/standby.h"
#include "kafka/sink.h"
#include "kafka/topics/plan.h"
#include "state/kafka_position.h"
#include "state/restore_progress.h"
#include "state/state_dir.h"

namespace doppel {

struct KafkaIndexOptions {
  const Options& options;
  const KafkaPlan& plan;
  HashKey key;
  bool fresh_state = false;  // do not use the snapshot: the log alone
  bool read_only = false;    // the log is only read: nobody is fenced, and there is no transactor
  // A matcher: it keeps a directory of its own shards, and goes on with KafkaIndex::follower.
  std::optional<ShardSet> own = {};
  bool elsewhere = false;                    // a resolver: its originals are in no index here
  std::string owner = {};                    // our unique name in the log; empty: one is made up
  std::launch sync_on = std::launch::async;  // as StateOptions
  // A rebuild from documents: the inputs of a new log, or of an unfinished one that it continues.
  std::optional<std::string> rebuilt_from = {};
  // Until it is our turn the log is followed beside its owner; empty: it is.
  Standby* standby = nullptr;
  std::function<bool()> stop = [] { return false; };
  ReportProgress restoring = [](const RestoreProgress&) {};
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
  std::unique_ptr<LogRestorer> follower;  // of a matcher: the log behind `position`
};

// Aborted: another process has taken over. FailedPrecondition: snapshot, log and configuration do not belong
// together; the message says what differs and what to do.
absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options);

}  // namespace doppel
