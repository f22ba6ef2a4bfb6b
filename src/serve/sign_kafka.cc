#include "serve/sign_kafka.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "serve/kafka_check.h"
#include "serve/kafka_plan.h"
#include "stream/kafka/kafka_source.h"
#include "stream/kafka/producer.h"
#include "stream/kafka/topics.h"

namespace doppel {
namespace {

constexpr std::chrono::milliseconds kPause(500);
constexpr int kAskGroupMs = 10'000;
constexpr int64_t kBesides = 256 << 10;  // metadata, slices, the scheme and Kafka's own, beside a set
constexpr int64_t kUsual = 2 << 20;

std::string group_of(const Options& o, const std::string& topic) {
  return fmt::format("{}-sign-{}", o.kafka.group, topic);
}

// Makes the call again while the brokers are away.
template <typename Call>
auto patiently(const std::function<bool()>& stop, Call call) -> decltype(call()) {
  bool said = false;
  while (true) {
    auto result = call();
    absl::Status status;
    if constexpr (std::is_same_v<decltype(result), absl::Status>) {
      status = result;
    } else {
      status = result.status();
    }
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return result;
    if (stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!std::exchange(said, true)) log::warn("waiting for Kafka", {{"says", std_sv(status.message())}});
    Clock::sleep(kPause);
  }
}

// The topic with one partition and room for the largest record; made where it is missing. Its
// max.message.bytes.
absl::StatusOr<int64_t> look_at_topic(const Options& o, kafka::Cluster& cluster, const std::string& topic) {
  const int64_t needed = static_cast<int64_t>(o.max_record) + kBesides;
  const kafka::TopicSpec spec{
      .name = topic,
      .purpose = "signed records",
      .partitions = 1,
      .replication = o.kafka.replication == 0 ? -1 : o.kafka.replication,
      .configs = {{"max.message.bytes", fmt::format("{}", std::max(needed, kUsual))}}};
  ASSIGN_OR_RETURN(std::vector<kafka::TopicPartitions> found, kafka::find_topics(cluster, {{topic}, {}}));
  if (found.empty()) {
    if (!o.kafka.create_topics) {
      return absl::NotFoundError(
          fmt::format("the topic {} (signed records) does not exist, or may not be seen; set "
                      "kafka.create_topics: true, or "
                      "run:\n  {}",
                      topic, kafka::command_to_make(spec, o.kafka.brokers)));
    }
    RETURN_IF_ERROR(kafka::make_topic(cluster, spec));
    ASSIGN_OR_RETURN(found, kafka::find_topics(cluster, {{topic}, {}}));
    if (found.empty()) return absl::UnavailableError(fmt::format("the topic {} was made just now", topic));
  }
  if (found.front().partitions.size() != 1) {
    return invalid(
        fmt::format("the topic {} (signed records) has {} partitions; it must have one: its order is "
                    "the order in which documents are decided",
                    topic, found.front().partitions.size()));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> configs,
                   cluster.topic_configs(topic, {"max.message.bytes"}));
  int64_t most = kUsual;
  std::from_chars(configs[0].data(), configs[0].data() + configs[0].size(), most);
  if (most >= needed) return most;
  return invalid(fmt::format(
      "the topic {} (signed records): max.message.bytes is {}, and max_record ({}) needs {}; run:\n  "
      "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {} --add-config "
      "max.message.bytes={}",
      topic, most, o.max_record, needed, o.kafka.brokers, topic, needed));
}

class TopicOutput final : public SignedTopic {
 public:
  TopicOutput(kafka::Cluster& cluster, std::string topic, std::string group, std::string scheme, int64_t most,
              const std::function<bool()>& stop)
      : cluster_(cluster),
        topic_(std::move(topic)),
        group_(std::move(group)),
        scheme_(std::move(scheme)),
        most_(most),
        stop_(stop),
        producer_(cluster, {.transactions = {.id = "doppel-sign-" + topic_, .batch_bytes_max = most}}, stop) {
  }

  // An empty group: nothing is remembered.
  absl::Status open(const kafka::Inputs& inputs) {
    RETURN_IF_ERROR(producer_.reopen());
    producer_.know_topic(topic_);
    if (group_.empty()) return absl::OkStatus();
    producer_.send_offsets_to(group_);
    ASSIGN_OR_RETURN(reader_, cluster_.consumer({.group = group_}));
    ASSIGN_OR_RETURN(const std::vector<kafka::TopicPartitions> topics,
                     patiently(stop_, [&] { return kafka::find_topics(cluster_, inputs); }));
    std::vector<kafka::Place> places;
    for (const kafka::TopicPartitions& topic : topics)
      for (const int32_t partition : topic.partitions) places.push_back({topic.topic, partition});
    ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, offsets_of(places));
    for (size_t i = 0; i < places.size(); ++i) {
      if (offsets[i] < 0) continue;
      progress_.push_back(
          {.topic = places[i].topic, .partition = places[i].partition, .next = offsets[i], .last_ms = -1});
    }
    return absl::OkStatus();
  }

  size_t bytes_max() const override { return static_cast<size_t>(most_ - kBesides / 2); }
  const std::vector<LogProgress>& progress() const override { return progress_; }

  absl::Status write(const SignedBatchOut& out) override {
    outbox_.clear();
    for (size_t i = 0; i < out.signed_records.size(); ++i) add(out.batch.records[i], out.signed_records[i]);
    if (!group_.empty()) advance(out.batch);
    return send();
  }

 private:
  void add(const Record& record, const std::string& bytes) {
    const size_t key = record.key ? record.key->size() : 0;
    const bool with_key = static_cast<int64_t>(bytes.size() + key) + kBesides / 2 <= most_;
    outbox_.header(kSchemeHeader, scheme_);
    std::optional<kafka::Outbox::Span> key_at;
    if (record.key && with_key) key_at = outbox_.put(*record.key);
    outbox_.add(topic_, key_at, outbox_.put(bytes)).partition = 0;
  }

  void advance(const Batch& batch) {
    for (const Record& record : batch.records) {
      std::vector<LogProgress>& moved = outbox_.progress;
      auto at = std::find_if(moved.begin(), moved.end(), [&](const LogProgress& p) {
        return p.partition == record.partition && p.topic == record.source;
      });
      if (at == moved.end())
        at = moved.insert(moved.end(), {.topic = std::string(record.source), .partition = record.partition});
      at->next = static_cast<int64_t>(record.offset) + 1;
    }
  }

  absl::Status send() {
    kafka::Outbox* const all[] = {&outbox_};
    while (true) {
      const absl::Status status = producer_.send(all);
      if (status.ok() || !kafka::may_pass(status) || absl::IsAborted(status)) return explained(status);
      if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
      log::warn("a transaction is made again", {{"says", std_sv(status.message())}});
      RETURN_IF_ERROR(explained(producer_.reopen()));
      ASSIGN_OR_RETURN(const bool committed, is_committed());
      if (committed) return absl::OkStatus();
      for (kafka::Outbox::Message& message : outbox_.messages()) message.offset = -1;
    }
  }

  absl::Status explained(const absl::Status& status) const {
    if (!absl::IsAborted(status)) return status;
    return absl::AbortedError(fmt::format(
        "another doppel sign writes to {}, or a transaction took too long: {}; nothing is lost or "
        "doubled, start again to go on",
        topic_, std_sv(status.message())));
  }

  // By the offsets that go with each transaction.
  absl::StatusOr<bool> is_committed() {
    if (group_.empty() || outbox_.progress.empty()) return false;
    std::vector<kafka::Place> places;
    places.reserve(outbox_.progress.size());
    for (const LogProgress& p : outbox_.progress) places.push_back({p.topic, p.partition});
    ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, offsets_of(places));
    return offsets.front() >= outbox_.progress.front().next;
  }

  absl::StatusOr<std::vector<int64_t>> offsets_of(const std::vector<kafka::Place>& places) {
    if (places.empty()) return std::vector<int64_t>();
    return patiently(stop_, [&] { return reader_->group_offsets(places, kAskGroupMs); });
  }

  kafka::Cluster& cluster_;
  const std::string topic_, group_, scheme_;
  const int64_t most_;
  const std::function<bool()> stop_;
  kafka::Outbox outbox_;
  kafka::Producer producer_;
  std::unique_ptr<kafka::Consumer> reader_;
  std::vector<LogProgress> progress_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_to_sign(const Options& o,
                                                                const std::function<bool()>& stop) {
  if (o.kafka.brokers.empty()) return invalid("kafka.brokers: name the brokers of the topic");
  ASSIGN_OR_RETURN(std::unique_ptr<kafka::Cluster> cluster, connect_kafka(o));
  RETURN_IF_ERROR(patiently(stop, [&] { return reach_kafka(o, stop).status; }));
  return cluster;
}

absl::StatusOr<std::unique_ptr<SignedTopic>> signed_topic_output(const Options& o, kafka::Cluster& cluster,
                                                                 const std::string& topic, bool from_topics,
                                                                 const std::string& scheme,
                                                                 const std::function<bool()>& stop) {
  if (std::find(o.kafka.topics.begin(), o.kafka.topics.end(), topic) != o.kafka.topics.end())
    return invalid(fmt::format("--to: {} is one of kafka.topics, which are read; name another topic", topic));
  ASSIGN_OR_RETURN(const int64_t most, patiently(stop, [&] { return look_at_topic(o, cluster, topic); }));
  auto output = std::make_unique<TopicOutput>(cluster, topic, from_topics ? group_of(o, topic) : "", scheme,
                                              most, stop);
  kafka::Inputs inputs = kafka_inputs(o);
  inputs.never.push_back(topic);
  RETURN_IF_ERROR(output->open(inputs));
  return output;
}

absl::StatusOr<std::unique_ptr<Source>> topics_to_sign(const Options& o, kafka::Cluster& cluster,
                                                       const std::string& never,
                                                       const std::vector<LogProgress>& progress,
                                                       const std::function<bool()>& stop) {
  kafka::Inputs inputs = kafka_inputs(o);
  if (!never.empty()) inputs.never.push_back(never);
  kafka::KafkaSourceOptions options = kafka_source_options(o, std::move(inputs), stop);
  if (!never.empty()) options.group = group_of(o, never);
  return kafka::KafkaSource::open(cluster, options, progress);
}

}  // namespace doppel
