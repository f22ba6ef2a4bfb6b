#pragma once
// Publishes each batch in one transaction: events, dead letters, unique documents if a topic for them is set,
// and the records of the index log, which end with the progress of the input. write() encodes the batch and
// starts the commit; settle() waits for the outcome.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "kafka/commit_thread.h"
#include "kafka/pace.h"
#include "kafka/records.h"
#include "kafka/transactor.h"
#include "pipeline/pipeline.h"
#include "pipeline/removals.h"
#include "records/events.h"
#include "state/index_log.h"

namespace doppel::kafka {

// The key of an event: the record's own key, or one that all events of a cluster share.
enum class EventKey { input, cluster_id, original_id };

struct KafkaSinkOptions {
  OutputTopic events, dead_letters, unique, index_log;
  EventKey key = EventKey::input;
  bool all_verdicts = false;
  bool missing_stops = false;  // write() fails if a document cannot be fetched and is not known_missing
  bool events_off = false;     // a rebuild that only fills the index log
  EventContext context;
  std::string generation;  // not empty if matchers answer: each batch then records the engine's cut
  // Whether the cluster of this original shows a better copy, as of the last commit.
  std::function<bool(Seq)> shows = [](Seq) { return false; };
  uint64_t scheme = 0;  // fingerprint
  int num_perm = 128, mask_words = 1;
  // Called every second while settle() waits for Kafka.
  std::function<void()> waiting = [] {};
  CommitThread::Where commit = CommitThread::Where::own_thread;
  // Learns from each commit how large the next batch may be. May be nullptr. Outlives the sink.
  Pace* pace = nullptr;
  // How old the position may become before an empty batch refreshes it. Well below the time after which the
  // log drops tombstones (delete.retention.ms), which a restore from that position needs.
  int64_t refresh_ms = 3'600'000;
};

class KafkaSink final : public Sink {
 public:
  // The references outlive the sink.
  KafkaSink(Cluster& cluster, KafkaSinkOptions options, Engine& engine, StoredOriginals& originals,
            Transactor& transactor, KafkaPosition position);
  absl::Status write(const Decided& decided) override;
  absl::Status settle() override;
  absl::Status idle() override;
  std::string position() const override { return encode_position(position_); }

  // Whether the sink needs a batch even if no documents come: expired originals have unwritten events, or the
  // position is due for a refresh.
  bool has_more_to_do() const;
  const KafkaPosition& where() const { return position_; }
  // Checks that we still own the log, for callers that wait long between two batches. Aborted: another
  // process has taken over.
  absl::Status still_ours();
  // The number of documents that could not be fetched, as of the last settled batch.
  uint64_t missing() const { return missing_; }

 private:
  absl::Status encode(const Decided& decided);
  absl::Status begin_commit();
  absl::Status end_commit();
  absl::Status learn_limits();
  absl::Status learn_limit(OutputTopic& topic, int64_t largest);
  absl::Status document(const Decided& decided, size_t i, size_t& row);
  absl::Status better_copy(const Decided& decided, const BetterCopy& better);
  absl::Status add_shortest(std::string_view type, size_t at, const Metadata& original,
                            const std::optional<std::string_view>& input_key);
  void forget_shown(const Resolved& resolved, Seq seq);
  absl::Status dead_letter(const Record& record, std::string_view stage, std::string_view reason);
  absl::Status unique_copy(const Record& record);
  absl::Status removals(const Decided& decided);
  absl::Status write_original_removed(const RemovedOriginal& end);
  absl::Status expirations(const Resolved& resolved);
  void advance(const Batch& batch);
  void event_headers(std::string_view type, std::string_view id);

  Cluster& cluster_;
  KafkaSinkOptions options_;
  Engine& engine_;
  StoredOriginals& originals_;
  KafkaPosition position_, next_;  // of the last settled batch; of the batch being committed
  Outbox refused_;                 // the previous encoding of the current batch, which a topic refused
  Outbox outbox_;
  uint64_t missing_ = 0, missing_next_ = 0;
  Transactor& transactor_;
  std::optional<Decided> decided_;         // the batch being committed
  Clock::time_point looked_;               // when idle() last asked whether we still own the log
  bool writes_ = false;                    // false: the commit only looks at the end of the log
  std::chrono::milliseconds throttled_{};  // Transactor::throttled() when the commit began
  CommitThread commit_;
};

}  // namespace doppel::kafka
