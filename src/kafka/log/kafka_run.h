#pragma once
// Parts of a run on an index in Kafka that the daemon and rebuilds share, and the records that a process
// writes to the log of its index outside of batches.

#include <string>
#include <vector>

#include "kafka/log/kafka_index.h"
#include "pipeline/pipeline.h"

namespace doppel {

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

}  // namespace doppel
