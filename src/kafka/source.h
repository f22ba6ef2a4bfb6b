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
#include "kafka/records.h"
#include "kafka/rights_wait.h"
#include "kafka/statistics.h"
#include "kafka/topics.h"
#include "kafka/witness.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"
#include "state/index_log.h"

namespace doppel::kafka {

struct KafkaSourceOptions {
  std::string group;
  Inputs topics;
  bool moves_group = false;             // the group of an index: it follows behind markers of transactions
  bool compare_offsets = true;          // says where the group's offsets differ from what is read
  std::optional<std::set<Place>> only;  // of these, nothing else is read; empty: all
  size_t batch_records = 1000;
  size_t batch_bytes = 8 << 20;
  int linger_ms = 20;  // a batch is closed so long after its first record, or when it is wanted after that
  size_t queue_bytes = 256 << 20;
  int idle_ms = 100;                 // how long next() waits for a first record
  bool from_latest = false;          // where a partition without progress begins
  bool continue_after_loss = false;  // records that were deleted unread: go on behind them
  // A topic that was made again is read from its beginning; or reading stops, and this says what helps.
  std::string recreated_stops;
  int metadata_ms = 10'000;   // how often new topics and partitions are looked for
  bool in_background = true;  // next() may be called on a thread of its own
  std::function<bool()> stop = [] { return false; };
  // Which rights are missing, if it is known; a right that is withdrawn is waited for then. Else an error.
  RightsWait::Missing missing_rights = nullptr;
};

class KafkaSource final : public Source {
 public:
  // Waits until the brokers answer. A topic that is not there yet is waited for beside the others. What
  // `progress` says is compared with what the topics hold, whenever they appear, and what was read is
  // compared again while they are read. A topic that was deleted and made again is another one: its records
  // are of the next incarnation, and all of them are read, or it is an error. Records that were deleted
  // before they were read, or that the brokers lost, are errors.
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
  // Where partitions begin that `progress` did not name, or of another topic: to be written down, so that
  // they begin there again.
  const std::vector<LogProgress>& beginnings() const { return beginnings_; }

 private:
  struct Topic {
    std::string name;
    uint32_t incarnation = 1;
    std::optional<uint32_t> last;  // the partition of the last record that next() has returned
    Clock::time_point compared{};  // that record with what the topic holds, and found there
  };
  struct Partition {
    Place place;
    Topic* topic = nullptr;        // lives as long as the source
    int64_t next = 0;              // to be read
    std::optional<LastRead> last;  // of what next() has returned
    bool gone = false;             // the topic was made again with fewer partitions
    int64_t group_at = -1;         // where the group was moved to
  };

  KafkaSource(Cluster& cluster, KafkaSourceOptions options)
      : cluster_(cluster), options_(std::move(options)), rights_(options_.missing_rights), pool_(8 << 20) {}
  absl::Status look(bool first);
  absl::Status say_missing(const std::vector<TopicPartitions>& found);
  absl::StatusOr<Partition> place(const Place& place, bool first);
  absl::Status skip_lost(Partition& partition, const Watermarks& marks);
  absl::Status assign(size_t from, size_t to);
  bool topic_has_progress(const std::string& topic) const;
  void report_other_offsets(const std::vector<LogProgress>& progress);
  absl::Status gather();
  void take(const Incoming& record);
  absl::Status source_error(const absl::Status& failed);
  bool waits_for_right(const absl::Status& status);
  void follow_markers();
  void hand_over(Batch& batch);
  void release();

  // source_topics.cc: whether topics are those that were read
  absl::Status open_consumer();
  absl::Status compare_topics();
  void doubt_topics();
  absl::Status wait_for_topics(const absl::Status& why);
  absl::Status explain_loss();
  absl::Status look_at_topic(Topic& topic);
  absl::StatusOr<bool> is_made_again(const Topic& topic, const std::set<int32_t>& there);
  absl::Status begin_again(Topic& topic, const std::set<int32_t>& there);
  void drop_gathered(const Topic& topic);

  Cluster& cluster_;
  KafkaSourceOptions options_;
  RightsWait rights_;
  absl::Status denied_;  // what is waited for
  std::function<bool()> wanted_;
  std::shared_ptr<LatestStatistics> statistics_ = std::make_shared<LatestStatistics>();  // before consumer_
  std::unique_ptr<Consumer> consumer_;
  // Of topics that were made again: what these have fetched must not be taken for records of the new ones.
  std::vector<std::unique_ptr<Consumer>> old_consumers_;
  std::map<Place, LogProgress> progress_;  // of the start
  std::unique_ptr<Witness> witness_;
  std::map<std::string, std::unique_ptr<Topic>, std::less<>> topics_;
  std::vector<Partition> partitions_;  // by tag
  size_t assigned_ = 0;                // of them, to consumer_
  std::map<Place, uint32_t> tags_;
  struct Missing {
    Clock::time_point since, said;
  };
  std::map<std::string, Missing> missing_;  // topics that are configured
  bool said_none_ = false;
  absl::Status lost_;                             // an offset that is to be read is not there
  std::optional<Clock::time_point> waits_since_;  // what was gathered, for its topics
  std::vector<LogProgress> beginnings_;
  std::vector<Incoming> chunk_;
  std::vector<Gathered> gathered_;  // of the batch at hand
  size_t gathered_bytes_ = 0;
  BufferPool pool_;
  Clock::time_point looked_, followed_;
  uint64_t bytes_read_ = 0;
};

}  // namespace doppel::kafka
