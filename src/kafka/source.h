#pragma once
// Reads topics as a Source. doppel assigns the partitions itself, because one index owns all of them. Reading
// starts where the progress records of the index log say; the group's offsets serve lag tools only.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kafka/pace.h"
#include "kafka/records.h"
#include "kafka/rights_wait.h"
#include "kafka/same_topic.h"
#include "kafka/statistics.h"
#include "kafka/topics.h"
#include "kafka/visibility.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"
#include "state/index_log.h"

namespace doppel::kafka {

struct KafkaSourceOptions {
  std::string group;
  Inputs topics;
  bool moves_group = false;                      // for lag tools: commit offsets behind transaction markers
  bool compare_offsets = true;                   // warn if the group's offsets differ from the progress
  std::optional<std::set<TopicPartition>> only;  // read only these partitions; nullopt: all
  size_t batch_records = 1000;
  size_t batch_bytes = 12 << 20;
  const Pace* pace = nullptr;  // limits batches further; may be nullptr; outlives the source
  int linger_ms = 20;          // a batch closes this long after its first record, or later, once it is wanted
  size_t queue_bytes = 256 << 20;
  int idle_ms = 100;                 // how long next() waits for a first record
  bool from_latest = false;          // start partitions without progress at their end
  bool continue_after_loss = false;  // skip records that were deleted unread, instead of an error
  // If empty, a topic that was deleted and created again is read from its beginning. Otherwise it is an error
  // that ends with this text, which says what helps.
  std::string recreated_stops;
  std::string order_is_lost;    // says what helps if the brokers lost records that nobody can judge again
  bool moved_by_doppel = true;  // `doppel offsets` moves the progress; otherwise the group's offsets are it
  int metadata_ms = 10'000;     // how often to look for new topics and partitions
  bool in_background = true;    // next() may be called on another thread
  std::function<bool()> stop = [] { return false; };
  // Finds out which rights are missing. If set, the source waits for a right that is withdrawn; otherwise
  // that is an error.
  RightsWait::Missing missing_rights = nullptr;
};

class KafkaSource final : public Source {
 public:
  // Waits until the brokers answer, but not for topics that do not exist yet: these are read once they
  // appear. The source finds out whether a topic is the one of `progress` when the topic appears, and again
  // while it reads (same_topic.h). A topic that was deleted and created again gets the next incarnation and
  // is read from its beginning, or is an error (recreated_stops). Records that were deleted unread are an
  // error unless continue_after_loss; records that the brokers lost always are.
  static absl::StatusOr<std::unique_ptr<KafkaSource>> open(Cluster& cluster,
                                                           const KafkaSourceOptions& options,
                                                           const std::vector<LogProgress>& progress);
  ~KafkaSource() override;

  // The records of a batch are ordered by topic, partition and offset.
  absl::StatusOr<bool> next(Batch& batch) override;
  bool live() const override { return true; }
  bool in_background() const override { return options_.in_background; }
  void ask_before_closing(const std::function<bool()>& wanted) override { wanted_ = wanted; }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return bytes_read_; }

  size_t partitions() const { return partitions_.size(); }
  // Any thread may use the statistics, even after the source is destroyed.
  std::shared_ptr<const LatestStatistics> statistics() const { return statistics_; }
  // Start positions of partitions that `progress` did not name, or named for an earlier incarnation of the
  // topic. The caller records them, so that a restart starts there, too.
  const std::vector<LogProgress>& beginnings() const { return beginnings_; }

 private:
  // After this time, a topic that no broker knows counts as deleted.
  static constexpr std::chrono::seconds kDeleted{30};

  struct Topic {
    std::string name;
    uint32_t incarnation = 1, moved = 0;
    const std::string* id = nullptr;  // the brokers' id; nullptr: unknown
    std::string reported;             // an id that is not trusted yet, and since when it is reported
    Clock::time_point reported_since{};
    std::set<std::string> former;              // ids of the topics before
    int64_t written_ms = 0;                    // when our group's offsets were committed last; 0: never
    std::optional<uint32_t> last;              // tag of the partition of the last record that next() returned
    Clock::time_point compared{};              // when the topic was last seen to hold that record
    std::optional<Clock::time_point> doubted;  // since when something speaks against it
    std::string doubted_id;                    // what the brokers reported since then
  };
  struct Partition {
    TopicPartition place;
    Topic* topic = nullptr;        // lives as long as the source
    int64_t next = 0;              // offset to read next
    int64_t judged = 0;            // the offset behind the last record that next() returned
    std::optional<LastRead> last;  // the last record that next() returned
    std::vector<LogProgress::Sample> samples;
    bool read = false;             // by this process or an earlier one
    Clock::time_point compared{};  // when it was last seen to hold `last`
    bool gone = false;             // the topic was created again with fewer partitions
    int64_t group_at = -1;         // offset that move_group() committed last
  };

  KafkaSource(Cluster& cluster, KafkaSourceOptions options)
      : cluster_(cluster),
        options_(std::move(options)),
        rights_(options_.missing_rights),
        pool_(buffer_bytes(options_.batch_bytes)) {}
  absl::Status read();
  size_t batch_records() const;
  size_t batch_bytes() const;
  absl::Status gather();
  void take(const Incoming& record);
  absl::Status source_error(const absl::Status& failed);
  bool waits_for_right(const absl::Status& status);
  void follow_markers();
  void say_held_up();
  void hand_over(Batch& batch);
  void release();

  // source_partitions.cc: finds partitions and where to begin in them
  absl::Status look(bool first);
  absl::Status say_missing(const std::vector<TopicPartitions>& found);
  absl::Status look_for_vanished(const std::vector<TopicPartitions>& found);
  absl::StatusOr<Partition> place(const TopicPartition& place, bool first);
  absl::Status skip_lost(Partition& partition, const Watermarks& marks);
  absl::Status assign(size_t from, size_t to);
  bool topic_has_progress(const std::string& topic) const;
  void report_other_offsets(const std::vector<LogProgress>& progress);

  // source_topics.cc: finds out whether the topics are those that were read
  absl::Status open_consumer();
  absl::Status compare_topics();
  void doubt_topics();
  absl::Status wait_for_topics(const absl::Status& why);
  absl::Status explain_loss();
  absl::Status look_at_topic(Topic& topic);
  struct Evidence;
  IdIs id_is(const Topic& topic, const std::string& id) const;
  const std::string* kept(const std::string& id);
  void adopt(Topic& topic, const std::string& id, Clock::time_point asked);
  absl::StatusOr<Evidence> evidence(const Topic& topic, const std::set<int32_t>& there);
  absl::Status find_where_it_differs(std::vector<const Partition*> differ, Evidence& out);
  absl::StatusOr<Note> note_of(const Topic& topic);
  absl::Status decide(Topic& topic, const Evidence& evidence, const std::set<int32_t>& there);
  absl::Status stops(const Topic& topic, const Evidence& evidence, SameTopic identity) const;
  absl::Status begin_again(Topic& topic, const Evidence& evidence, uint32_t moved,
                           const std::set<int32_t>& there);
  void drop_gathered(const Topic& topic);

  Cluster& cluster_;
  KafkaSourceOptions options_;
  RightsWait rights_;
  absl::Status denied_;  // the refusal whose right we wait for; OK: none
  std::function<bool()> wanted_;
  std::shared_ptr<LatestStatistics> statistics_ = std::make_shared<LatestStatistics>();
  std::unique_ptr<Consumer> consumer_;
  // Replaced consumers. Their queues may hold records of deleted topics, so they are never polled. They live
  // as long as the source: one whose topic was deleted takes five seconds to end (client.h).
  std::vector<std::unique_ptr<Consumer>> old_consumers_;
  std::map<TopicPartition, LogProgress> progress_;  // as given to open()
  std::unique_ptr<TopicComparer> comparer_;
  std::map<std::string, std::unique_ptr<Topic>, std::less<>> topics_;
  std::set<std::string> ids_;          // of topics; records point to them
  std::vector<Partition> partitions_;  // by tag
  size_t assigned_ = 0;                // how many of them consumer_ reads
  std::map<TopicPartition, uint32_t> tags_;
  struct Missing {
    Clock::time_point since, logged;
  };
  std::map<std::string, Missing> missing_;  // topics that are configured by name but not found
  bool said_none_ = false;
  absl::Status lost_;                             // OutOfRange: the offset to read next does not exist
  std::optional<Clock::time_point> waits_since_;  // since when gathered_ waits for its topics to answer
  std::vector<LogProgress> beginnings_;
  std::vector<Incoming> chunk_;
  std::vector<Gathered> gathered_;  // read, but not compared with their topics yet
  size_t gathered_bytes_ = 0;
  std::vector<Gathered> ready_;  // what next() returns, from handed_ on
  size_t handed_ = 0, ready_bytes_ = 0;
  BufferPool pool_;
  HeldUp held_up_;
  Clock::time_point looked_, followed_, asked_held_up_;
  uint64_t bytes_read_ = 0;
};

}  // namespace doppel::kafka
