// The Cluster that uses librdkafka. Questions that belong to no producer or consumer go through two
// long-lived clients, one for each isolation level.
#include "kafka/librdkafka/connect.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/status.h"
#include "kafka/librdkafka/admin.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {
namespace {

constexpr int kAskMs = 3'000;  // time limit of one question to the broker

class LibraryCluster final : public Cluster {
 public:
  explicit LibraryCluster(ClientOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::string> id() override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return cluster_id(asker.get());
  }
  absl::StatusOr<std::vector<TopicPartitions>> topics() override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return list_topics(asker.get());
  }
  absl::Status create_topic(const TopicSpec& spec) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::create_topic(asker.get(), spec);
  }
  absl::StatusOr<std::vector<std::string>> topic_configs(const std::string& topic,
                                                         const std::vector<std::string>& names) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::topic_configs(asker.get(), topic, names);
  }

  absl::StatusOr<std::vector<std::string>> topic_ids(const std::vector<std::string>& topics) override {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(Isolation::committed));
    return kafka::topic_ids(asker.get(), topics);
  }

  absl::StatusOr<Watermarks> watermarks(const Place& place, Isolation isolation) override {
    ASSIGN_OR_RETURN(const int64_t low, offset(place, isolation, RD_KAFKA_OFFSET_BEGINNING));
    ASSIGN_OR_RETURN(const int64_t high, offset(place, isolation, RD_KAFKA_OFFSET_END));
    return Watermarks{.low = low, .high = high};
  }

  absl::StatusOr<int64_t> offset_at(const Place& place, int64_t timestamp_ms) override {
    ASSIGN_OR_RETURN(const int64_t at, offset(place, Isolation::committed, timestamp_ms));
    return std::max<int64_t>(at, -1);
  }

  absl::StatusOr<std::unique_ptr<TransactionalProducer>> producer(
      const TransactionalOptions& options) override {
    return library_producer(options_, options);
  }
  absl::StatusOr<std::unique_ptr<Consumer>> consumer(const ConsumerOptions& options) override {
    return library_consumer(options_, options);
  }
  absl::StatusOr<std::unique_ptr<Membership>> join(const MembershipOptions& options) override {
    return library_membership(options_, options);
  }

 private:
  // A client whose metadata are old keeps asking a dead leader. So it is replaced when a connection breaks or
  // a question fails: the new client looks for the leaders first.
  struct Questions {
    Client client;
    std::shared_ptr<std::atomic<bool>> broke = std::make_shared<std::atomic<bool>>(false);
  };
  using Asker = std::shared_ptr<rd_kafka_t>;

  // `time`: a time stamp, or RD_KAFKA_OFFSET_BEGINNING or _END. rd_kafka_query_watermark_offsets() would ask
  // for the latter two, but it has no time limit: while its metadata names a leader that died, it waits until
  // this broker is back.
  absl::StatusOr<int64_t> offset(const Place& place, Isolation isolation, int64_t time) {
    ASSIGN_OR_RETURN(const Asker asker, asker_of(isolation));
    const PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_t& answer =
        *rd_kafka_topic_partition_list_add(list.get(), place.topic.c_str(), place.partition);
    answer.offset = time;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(asker.get(), list.get(), kAskMs);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = answer.err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return answer.offset;
    retire(isolation, asker);
    return error(fmt::format("cannot ask for the offsets of {}/{}", place.topic, place.partition), code);
  }

  static void connection_broke(rd_kafka_t*, int, const char*, void* broke) {
    *static_cast<std::atomic<bool>*>(broke) = true;
  }

  absl::StatusOr<Asker> asker_of(Isolation isolation) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Questions>& questions = questions_[isolation];
    if (questions) rd_kafka_poll(questions->client.get(), 0);
    if (!questions || *questions->broke) {
      questions = std::make_shared<Questions>();
      // The client has no group, so it needs no rights on one.
      ASSIGN_OR_RETURN(questions->client, make_consumer(options_,
                                                        {{"enable.auto.commit", "false"},
                                                         {"enable.auto.offset.store", "false"},
                                                         {"socket.timeout.ms", std::to_string(kAskMs)},
                                                         {"isolation.level", isolation == Isolation::committed
                                                                                 ? "read_committed"
                                                                                 : "read_uncommitted"}},
                                                        nullptr, questions->broke, connection_broke));
    }
    return Asker(questions, questions->client.get());
  }

  void retire(Isolation isolation, const Asker& asker) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Questions>& questions = questions_[isolation];
    if (questions && questions->client.get() == asker.get()) questions.reset();
  }

  const ClientOptions options_;
  std::mutex mutex_;
  std::map<Isolation, std::shared_ptr<Questions>> questions_;
};

}  // namespace

std::unique_ptr<Cluster> connect(ClientOptions options) {
  return std::make_unique<LibraryCluster>(std::move(options));
}

}  // namespace doppel::kafka
