#pragma once
// The parts of a run over an index in Kafka, for the daemon and for rebuilds.

#include "kafka/log/kafka_index.h"
#include "pipeline/pipeline.h"

namespace doppel {

KeyPolicy key_policy(const Options& options);
kafka::KafkaSinkOptions sink_options(const Options& options, const KafkaPlan& plan, const KafkaIndex& index);

// What was written to the log outside of batches is in the state directory, too.
absl::Status commit_position(KafkaIndex& index);

// The state directory follows what is committed in Kafka.
class SnapshotJournal final : public Journal {
 public:
  SnapshotJournal(KafkaIndex& index, const kafka::KafkaSink& sink) : index_(index), sink_(sink) {}
  absl::Status commit(const Batch& batch, const Resolved& resolved, std::string sink_position) override;

 private:
  KafkaIndex& index_;
  const kafka::KafkaSink& sink_;
};

}  // namespace doppel
