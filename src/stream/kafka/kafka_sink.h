#pragma once
// What a batch leaves in Kafka, in one transaction: events, dead letters, unique documents if wished, the
// records of the index log and, at their end, the progress of the input. write() encodes it and lets the
// commit begin; settle() waits until it is known.

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "stream/ends.h"
#include "stream/events.h"
#include "stream/kafka/kafka_position.h"
#include "stream/kafka/transactor.h"
#include "stream/pipeline.h"

namespace doppel::kafka {

struct OutputTopic {
  std::string name;                       // empty: none
  int64_t message_bytes_max = 1'000'000;  // of the topic
};

struct KafkaSinkOptions {
  OutputTopic events, dead_letters, unique, index_log;
  bool all_verdicts = false;
  bool missing_stops =
      false;  // a document that could not be read is an error of write(), unless that is known_missing
  bool events_off = false;  // a rebuild that only fills the index log
  EventContext context;
  uint64_t scheme = 0;  // fingerprint
  int num_perm = 128, mask_words = 1;
  // Called every second while settle() waits for Kafka.
  std::function<void()> waiting = [] {};
};

class KafkaSink final : public Sink {
 public:
  // All outlive the sink.
  KafkaSink(KafkaSinkOptions options, Engine& engine, StoredOriginals& originals, Transactor& transactor,
            KafkaPosition position);
  ~KafkaSink() override;

  absl::Status write(const Decided& decided) override;
  absl::Status settle() override;
  absl::Status idle() override;
  std::string position() const override { return encode_position(position_); }

  // Representatives whose end is not told yet: a batch without documents goes on telling it.
  bool has_more_to_tell() const { return position_.expire.announced < position_.expire.lowest_live; }
  const KafkaPosition& where() const { return position_; }
  // Documents that could not be read for good.
  uint64_t missing() const { return missing_; }

 private:
  absl::Status document(const Decided& decided, size_t i, size_t& row);
  void event(const Record& record, const Metadata& document, std::string_view type, std::string_view id,
             size_t at);
  void dead_letter(const Record& record, std::string_view stage, std::string_view reason);
  void unique_copy(const Record& record);
  absl::Status removals(const Decided& decided);
  absl::Status tell_end(const End& end);
  absl::Status expirations(const Resolved& resolved);
  void advance(const Batch& batch);
  bool fits(const OutputTopic& topic, size_t bytes) const;

  KafkaSinkOptions options_;
  Engine& engine_;
  StoredOriginals& originals_;
  KafkaPosition position_, next_;  // as of the last settled batch; of the one that is being committed
  Outbox outbox_;
  uint64_t missing_ = 0;
  Transactor& transactor_;
  std::future<absl::Status> commit_;
};

}  // namespace doppel::kafka
