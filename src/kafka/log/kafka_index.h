#pragma once
// Opens an index whose durable form is a log in Kafka. Only one process may write to it. Opening loads the
// newest good snapshot and completes it from the log, while the present owner may still write. When it is our
// turn it claims the log, which fences the owner, and reads the rest.

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "kafka/log/restorer.h"
#include "kafka/log/standby.h"
#include "kafka/sink.h"
#include "kafka/topics/plan.h"
#include "state/index_log.h"
#include "state/restore.h"
#include "state/segment_file.h"
#include "state/state_dir.h"

namespace doppel {

struct KafkaIndexOptions {
  const Options& options;
  const KafkaPlan& plan;
  HashKey key;
  bool fresh_state = false;  // ignore the snapshot and read the whole log
  bool read_only = false;    // only read the log: fence nobody and create no transactor
  // For a matcher: its state directory holds only these shards, and KafkaIndex::follower continues reading.
  std::optional<ShardSet> own = {};
  bool elsewhere = false;                    // for a resolver: matchers hold the originals
  std::string owner = {};                    // our unique name in the log; empty: generate one
  std::launch sync_on = std::launch::async;  // see StateOptions
  // For a rebuild from documents: the inputs of the new log, or of an unfinished one that it continues.
  std::optional<std::string> rebuilt_from = {};
  // Says when it is our turn; until then we follow the log. Null: it is our turn at once.
  Standby* standby = nullptr;
  std::function<bool()> stop = [] { return false; };
  ReportProgress restoring = [](const RestoreProgress&) {};
};

struct KafkaIndex {
  std::unique_ptr<kafka::Transactor> transactor;
  std::unique_ptr<StateDir> state;
  SegmentStores segments;  // with `memory`
  std::unique_ptr<Engine> engine;
  std::unique_ptr<StoredOriginals> originals;
  kafka::KafkaPosition position;
  LogEpoch epoch;
  std::string index_log;
  uint64_t scheme = 0;  // fingerprint
  uint64_t documents = 0;
  std::unique_ptr<LogRestorer> follower;  // for a matcher: reads the log from `position` on
};

// Waits for Kafka until `stop`. Aborted: another process has taken over. FailedPrecondition: snapshot, log
// and configuration do not belong together; the message says what differs and what to do.
absl::StatusOr<std::unique_ptr<KafkaIndex>> open_kafka_index(const KafkaIndexOptions& options);

}  // namespace doppel
