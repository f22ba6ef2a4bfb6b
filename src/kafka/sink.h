#pragma once
// What a batch leaves in Kafka, in one transaction: events, dead letters, unique documents on request, the
// records of the index log and, at their end, the progress of the input. write() encodes it and lets the
// commit begin; settle() waits until it is known.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kafka/commit_thread.h"
#include "kafka/transactor.h"
#include "pipeline/ends.h"
#include "pipeline/pipeline.h"
#include "records/events.h"
#include "state/kafka_position.h"

namespace doppel::kafka {

struct OutputTopic {
  std::string name;                       // empty: none
  int64_t message_bytes_max = 1'000'000;  // of the topic
  bool compressed = false;                // its limit counts compressed bytes
};

// What events are keyed by: the record's key, or what all events of a cluster share.
enum class EventKey { input, cluster_id, original_id };

struct KafkaSinkOptions {
  OutputTopic events, dead_letters, unique, index_log;
  EventKey key = EventKey::input;
  bool all_verdicts = false;
  bool missing_stops =
      false;  // a document that could not be read is an error of write(), unless that is known_missing
  bool events_off = false;  // a rebuild that only fills the index log
  EventContext context;
  std::string generation;  // where other processes answer: each batch says how many were decided in it
  uint64_t scheme = 0;     // fingerprint
  int num_perm = 128, mask_words = 1;
  // Called every second while settle() waits for Kafka.
  std::function<void()> waiting = [] {};
  CommitThread::Where commit = CommitThread::Where::beside;
  // How old the snapshot's place in the log may become while nothing is written: well below the time after
  // which the log forgets (delete.retention.ms).
  int64_t refresh_ms = 3'600'000;
};

class KafkaSink final : public Sink {
 public:
  // All outlive the sink.
  KafkaSink(Cluster& cluster, KafkaSinkOptions options, Engine& engine, StoredOriginals& originals,
            Transactor& transactor, KafkaPosition position);
  absl::Status write(const Decided& decided) override;
  absl::Status settle() override;
  absl::Status idle() override;
  std::string position() const override { return encode_position(position_); }

  // A batch is needed even without documents: originals have ended whose events are not written yet, or the
  // position has to be refreshed.
  bool has_more_to_do() const;
  const KafkaPosition& where() const { return position_; }
  // For who waits long between two batches. Aborted: another process has taken over.
  absl::Status still_ours();
  // Documents that could not be read for good.
  uint64_t missing() const { return missing_; }

 private:
  absl::Status encode(const Decided& decided);
  absl::Status begin_commit();
  absl::Status end_commit();
  absl::Status learn_limits();
  absl::Status learn_limit(OutputTopic& topic, int64_t largest);
  absl::Status document(const Decided& decided, size_t i, size_t& row);
  absl::Status dead_letter(const Record& record, std::string_view stage, std::string_view reason);
  absl::Status unique_copy(const Record& record);
  absl::Status removals(const Decided& decided);
  absl::Status write_end(const End& end);
  absl::Status expirations(const Resolved& resolved);
  void advance(const Batch& batch);
  bool fits(const OutputTopic& topic, size_t bytes) const;
  bool fits_compressed(const OutputTopic& topic, const Record& record, size_t more) const;

  Cluster& cluster_;
  KafkaSinkOptions options_;
  Engine& engine_;
  StoredOriginals& originals_;
  KafkaPosition position_, next_;  // as of the last settled batch; of the one that is being committed
  Outbox refused_;                 // the batch at hand as it was before, where a topic refused a part of it
  Outbox outbox_;
  uint64_t missing_ = 0, missing_next_ = 0;
  Transactor& transactor_;
  std::optional<Decided> decided_;  // under way
  bool writes_ = false;             // or it only looks at the end of the log
  CommitThread commit_;
};

}  // namespace doppel::kafka
