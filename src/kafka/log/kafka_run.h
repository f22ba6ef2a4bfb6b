#pragma once
// Parts of a run on an index in Kafka that the daemon and rebuilds share.

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

}  // namespace doppel
