#pragma once
// Topics as a stream. Partitions are assigned by us, never by a group: one index owns all of them. Progress
// records of the index log say where reading begins; offsets of the group are only for lag tools.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "state/index_log.h"
#include "stream/buffers.h"
#include "stream/kafka/records.h"
#include "stream/kafka/statistics.h"
#include "stream/kafka/topics.h"
#include "stream/stream.h"

namespace doppel::kafka {

struct KafkaSourceOptions {
  std::string group;
  Inputs topics;
  bool compare_offsets = true;          // says where the group's offsets differ from what is read
  std::optional<std::set<Place>> only;  // of these, nothing else is read; empty: all
  size_t batch_records = 1000;
  size_t batch_bytes = 8 << 20;
  int linger_ms = 20;  // a batch is closed so long after its first record, or when it is wanted after that
  size_t queue_bytes = 256 << 20;
  int idle_ms = 100;                 // how long next() waits for a first record
  bool from_latest = false;          // where a partition without progress begins
  bool continue_after_loss = false;  // records that were deleted unread: go on behind them
  int metadata_ms = 10'000;          // how often new topics and partitions are looked for
  bool in_background = true;         // next() may be called on a thread of its own
  std::function<bool()> stop = [] { return false; };
};

class KafkaSource final : public Source {
 public:
  // Waits until the brokers answer. A topic that is not there yet is waited for beside the others. What
  // `progress` says is compared with what the topics hold, whenever they appear: a topic that was deleted and
  // made again, or records that were deleted before they were read, are errors that say so.
  static absl::StatusOr<std::unique_ptr<KafkaSource>> open(Cluster& cluster,
                                                           const KafkaSourceOptions& options,
                                                           const std::vector<LogProgress>& progress);
  ~KafkaSource() override;

  // In order of topic, partition and offset within the batch.
  absl::StatusOr<bool> next(Batch& batch) override;
  bool live() const override { return true; }
  bool in_background() const override { return options_.in_background; }
  void ask_before_closing(const std::function<bool()>& wanted) override { wanted_ = wanted; }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return bytes_read_; }

  size_t partitions() const { return partitions_.size(); }
  // Any thread, also when the source is gone.
  std::shared_ptr<const LatestStatistics> statistics() const { return statistics_; }
  // Where partitions begin that `progress` did not name: to be written down, so that they begin there again.
  const std::vector<LogProgress>& beginnings() const { return beginnings_; }

 private:
  struct Partition {
    Place place;
    const std::string* topic = nullptr;  // lives as long as the source
    int64_t next = 0;                    // to be read
    int64_t from = 0;                    // where reading begins: at `next`, or one before it
    // The record before `next` must be the one that was read: its time is compared when it comes again.
    int64_t check_ms = -1;
  };

  KafkaSource(Cluster& cluster, KafkaSourceOptions options)
      : cluster_(cluster), options_(std::move(options)), pool_(8 << 20) {}
  absl::Status look(bool first);
  absl::Status say_missing(const std::vector<TopicPartitions>& found);
  absl::StatusOr<Partition> place(const Place& place, bool first);
  bool topic_has_progress(const std::string& topic) const;
  void report_other_offsets(const std::vector<LogProgress>& progress);
  absl::Status gather();
  absl::Status take(const Incoming& record);
  absl::Status source_error(const absl::Status& failed);
  void hand_over(Batch& batch);
  void release();

  Cluster& cluster_;
  KafkaSourceOptions options_;
  std::function<bool()> wanted_;
  std::shared_ptr<LatestStatistics> statistics_ = std::make_shared<LatestStatistics>();  // before consumer_
  std::unique_ptr<Consumer> consumer_;
  std::map<Place, LogProgress> progress_;  // of the start
  std::map<std::string, std::unique_ptr<std::string>, std::less<>> topic_names_;
  std::vector<Partition> partitions_;  // by tag
  std::map<Place, uint32_t> tags_;
  struct Missing {
    Clock::time_point since, said;
  };
  std::map<std::string, Missing> missing_;  // topics that are configured
  bool said_none_ = false;
  std::vector<LogProgress> beginnings_;
  std::vector<Incoming> chunk_;
  std::vector<Gathered> gathered_;  // of the batch at hand
  size_t gathered_bytes_ = 0;
  BufferPool pool_;
  Clock::time_point looked_;
  uint64_t bytes_read_ = 0;
};

}  // namespace doppel::kafka
