#pragma once
// Topics as a stream. Partitions are assigned by us, never by a group: one index owns all of them. Where
// reading begins is told by the progress records of the index log; offsets of the group are only for lag
// tools.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "state/index_log.h"
#include "stream/buffers.h"
#include "stream/kafka/client.h"
#include "stream/kafka/records.h"
#include "stream/kafka/statistics.h"
#include "stream/kafka/topics.h"
#include "stream/stream.h"

namespace doppel::kafka {

struct KafkaSourceOptions {
  ClientOptions client;
  std::string group;
  std::vector<std::string> topics;  // names, or '^' and a regular expression
  size_t batch_records = 1000;
  size_t batch_bytes = 8 << 20;
  int linger_ms = 20;  // a batch is closed so long after its first record, or when it is wanted after that
  size_t queue_bytes = 256 << 20;
  bool from_latest = false;          // where a partition without progress begins
  bool continue_after_loss = false;  // records that were deleted unread: go on behind them
  int metadata_ms = 10'000;          // how often new topics and partitions are looked for
};

class KafkaSource final : public Source {
 public:
  // Checks that what `progress` says fits what the topics hold: a topic that was made anew, or records that
  // were deleted before they were read, are errors that say so.
  static absl::StatusOr<std::unique_ptr<KafkaSource>> open(const KafkaSourceOptions& options,
                                                           const std::vector<LogProgress>& progress);
  ~KafkaSource() override;

  // In order of topic, partition and offset within the batch.
  absl::StatusOr<bool> next(Batch& batch) override;
  bool live() const override { return true; }
  void ask_before_closing(const std::function<bool()>& wanted) override { wanted_ = wanted; }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return bytes_read_; }

  rd_kafka_t* consumer() const { return consumer_.get(); }
  size_t partitions() const { return partitions_.size(); }
  // Any thread, also when the source is gone.
  std::shared_ptr<const LatestStatistics> statistics() const { return statistics_; }
  // Where partitions begin that `progress` did not name: to be written down, so that they begin there again.
  const std::vector<LogProgress>& beginnings() const { return beginnings_; }

 private:
  using Name = std::pair<std::string, int32_t>;
  struct Partition {
    const std::string* topic = nullptr;  // lives as long as the source
    int64_t next = 0;                    // to be read
    // The record before `next` must be the one that was read: its time is compared when it comes again.
    int64_t check_ms = -1;
  };

  explicit KafkaSource(KafkaSourceOptions options) : options_(std::move(options)), pool_(8 << 20) {}
  absl::Status add_partitions(const std::vector<LogProgress>& progress, bool first);
  absl::StatusOr<Partition> place(const std::string& topic, int32_t partition, const LogProgress* progress,
                                  bool latest, int64_t& from);
  void report_other_offsets(const std::vector<LogProgress>& progress);
  absl::Status gather();
  absl::Status take(rd_kafka_message_t* message);
  absl::Status source_error(const rd_kafka_message_t* message);
  void hand_over(Batch& batch);
  void release();

  KafkaSourceOptions options_;
  std::function<bool()> wanted_;
  std::shared_ptr<LatestStatistics> statistics_ = std::make_shared<LatestStatistics>();  // before consumer_
  Client consumer_;
  rd_kafka_queue_t* queue_ = nullptr;
  std::map<std::string, std::unique_ptr<std::string>, std::less<>> topic_names_;
  std::map<Name, Partition> partitions_;
  std::vector<LogProgress> beginnings_;
  std::vector<Gathered> gathered_;  // of the batch at hand
  size_t gathered_bytes_ = 0;
  BufferPool pool_;
  std::chrono::steady_clock::time_point looked_;
  uint64_t bytes_read_ = 0;
};

}  // namespace doppel::kafka
