#pragma once
// Opens an index whose durable form is a log in Kafka. Only one process may write to it. Opening loads the
// newest good snapshot and completes it from the log, while the present owner may still write. When it is our
// turn it claims the log, which fences the owner, and reads the rest.

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/config.h"
#include "kafka/log/restorer.h"
#include "kafka/log/standby.h"
#include "kafka/sink.h"
#include "kafka/topics/plan.h"
#include "pipeline/pipeline.h"
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

// Parts of a run on an index in Kafka that the daemon and rebuilds share, and the records that a process
// writes to the log of its index outside of batches.

KeyPolicy key_policy(const Options& options);
kafka::KafkaSinkOptions sink_options(const Options& options, const KafkaPlan& plan, const KafkaIndex& index);

// Commits index.position to the state directory, after records were written to the log outside of batches.
absl::Status commit_position(KafkaIndex& index);

// Commits each batch to the state directory after it was committed in Kafka.
class SnapshotJournal final : public Journal {
 public:
  SnapshotJournal(KafkaIndex& index, const kafka::KafkaSink& sink) : index_(index), sink_(sink) {}
  absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) override;

 private:
  KafkaIndex& index_;
  const kafka::KafkaSink& sink_;
};

// Claims the log and creates index.transactor. From then on nobody else writes to the log. index.position
// must say how far the log was read, because this decides about hanging records.
absl::Status claim_log(const KafkaIndexOptions& options, KafkaIndex& index);

// Writes a changed rule that the user accepted by name; the log continues under it.
absl::Status write_rule(KafkaIndex& index, const std::string& rule);
// Writes the progress of the input, or that partitions are forgotten.
absl::Status write_progress(KafkaIndex& index, const std::vector<LogProgress>& progress);
// Begins a resolver's generation: from here on matchers answer in it.
absl::Status write_generation(KafkaIndex& index, const std::string& generation);
// Writes that this process has ended, so that a standby need not wait until it counts as dead. Write nothing
// after it.
absl::Status release_log(KafkaIndex& index);
// Ends a rebuild: writes the progress of the input and that the log is complete, in one transaction.
absl::Status complete_rebuild(KafkaIndex& index, std::vector<LogProgress> progress);

// Publishes a lost index log again from an intact state directory.

// After an interruption the same call continues behind the last original in the log. `offsets` is as in
// RebuildOptions. Without it a state directory of another cluster is refused before anything is created.
// `how` controls waiting for the cluster.
absl::Status log_from_state(const Config& config, kafka::Cluster& cluster, const std::string& offsets,
                            PlanOptions how);

}  // namespace doppel
