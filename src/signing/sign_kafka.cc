#include "signing/sign_kafka.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "fetch/fetch_source.h"
#include "kafka/source.h"
#include "kafka/topics.h"
#include "kafka/topics/plan.h"
#include "open/setup.h"
#include "signing/sign_topic.h"
#include "state/file.h"

namespace doppel {
namespace {

using kafka::TopicPartition;

constexpr int kLookMs = 200;
constexpr int64_t kSessionMost = 900'000;  // the longest transaction that brokers allow

int session_ms(const Options& o) {
  return static_cast<int>(std::min(o.kafka.session_timeout_ms, kSessionMost));
}

std::string names_of(const std::vector<TopicPartition>& places) {
  std::string out;
  for (const TopicPartition& place : places)
    out += fmt::format("{}{}/{}", out.empty() ? "" : " ", place.topic, place.partition);
  return out;
}

void add(SignCounters& sum, const SignCounters& more) {
  sum.records += more.records;
  sum.bytes += more.bytes;
  sum.signed_bytes += more.signed_bytes;
  sum.rejected += more.rejected;
  sum.problems += more.problems;
}

class Signing {
 public:
  explicit Signing(const SignTopics& how) : how_(how), group_(sign_group(how.options, how.topic)) {
    inputs_ = kafka_inputs(how.options);
    inputs_.never.push_back(how.topic);
  }

  absl::StatusOr<SignCounters> run() {
    uint64_t random = 0;
    RETURN_IF_ERROR(random_bytes(&random, sizeof(random)));
    const int session = session_ms(how_.options);
    ASSIGN_OR_RETURN(
        topic_,
        SignedTopic::open(how_.options, how_.cluster,
                          {.topic = how_.topic,
                           .group = group_,
                           .transactional_id = fmt::format("doppel-sign-{}-{:016x}", how_.topic, random),
                           // A transaction that a killed signer leaves open hides later records.
                           .transaction_timeout_ms = session,
                           .scheme = how_.engine.scheme.describe(),
                           .num_perm = how_.engine.scheme.num_perm,
                           .pace = &pace_},
                          how_.stop));
    ASSIGN_OR_RETURN(member_, how_.cluster.join({.group = group_,
                                                 .member = {},
                                                 .topics = how_.options.kafka.topics,
                                                 .purpose = "signers share the partitions as its members",
                                                 .session_timeout_ms = session}));
    while (!how_.stop()) {
      RETURN_IF_ERROR(look(kLookMs));
      if (ours_.empty()) {
        how_.reading({}, {});
        say("no partition is left for this signer; waiting");
        continue;
      }
      say("signing " + names_of(ours_));
      const absl::Status status = sign();
      if (!topic_->refused()) RETURN_IF_ERROR(status);
      if (!status.ok())
        log::warn("the group has assigned this signer's partitions to others; rejoining it",
                  {{"says", std_sv(status.message())}});
    }
    return counters_;
  }

 private:
  // Updates the partitions assigned to this signer.
  absl::Status look(int wait_ms) {
    ASSIGN_OR_RETURN(ours_, member_->ours(wait_ms));
    topic_->commit_as(member_->credentials());
    topic_->look_after();
    return absl::OkStatus();
  }

  // All partitions that the group reads, not only ours: kafka.start applies to topics that nobody has read
  // yet.
  absl::StatusOr<std::vector<TopicPartition>> all_places() {
    std::vector<TopicPartition> out;
    RETURN_IF_ERROR(patiently(how_.stop, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<kafka::TopicPartitions> topics,
                       kafka::find_topics(how_.cluster, inputs_));
      for (const kafka::TopicPartitions& topic : topics)
        for (const int32_t partition : topic.partitions) out.push_back({topic.topic, partition});
      return absl::OkStatus();
    }));
    return out;
  }

  // Signs until the assignment changes.
  absl::Status sign() {
    const std::vector<TopicPartition> ours = ours_;
    ASSIGN_OR_RETURN(const std::vector<TopicPartition> all, all_places());
    ASSIGN_OR_RETURN(const std::vector<LogProgress> progress, topic_->progress(all));
    kafka::KafkaSourceOptions options = kafka_source_options(how_.options, inputs_, how_.stop);
    options.group = group_;
    options.moved_by_doppel = false;
    options.pace = &pace_;
    options.only = std::set<TopicPartition>(ours.begin(), ours.end());
    ASSIGN_OR_RETURN(const std::unique_ptr<kafka::KafkaSource> source,
                     kafka::KafkaSource::open(how_.cluster, options, progress));
    RETURN_IF_ERROR(topic_->begin(source->beginnings()));
    const std::unique_ptr<SchemaSource> schemas = schemas_from(*source, how_.options);
    how_.reading({source.get(), schemas != nullptr ? schemas->stats() : nullptr}, progress);
    Source& input = outer_of(*source, schemas.get());
    std::unique_ptr<FetchSource> fetching;
    if (const FetchOptions fetch = fetch_options(how_.options, how_.stop); fetches(fetch)) {
      ASSIGN_OR_RETURN(fetching, make_fetch_source(input, fetch));
    }
    absl::Status looked;
    SignStream stream{.source = outer_of(input, fetching.get()),
                      .output = *topic_,
                      .scheme = how_.engine.scheme,
                      .with_sets = how_.engine.with_sets(),
                      .format = how_.options.input,
                      .threads = thread_count(how_.options),
                      .begins = {},
                      .stop =
                          [&] {
                            looked = look(0);
                            return how_.stop() || !looked.ok() || ours_ != ours;
                          },
                      .report = how_.report};
    for (const auto* list : {&progress, &source->beginnings()})
      for (const LogProgress& p : *list)
        stream.begins[{p.topic, p.partition}] = static_cast<uint64_t>(p.next);
    const SignCounters before = counters_;
    stream.progress = [&](const SignCounters& c) {
      counters_ = before;
      add(counters_, c);
      how_.progress(counters_, topic_->written());
    };
    RETURN_IF_ERROR(sign_stream(stream).status());
    return looked;
  }

  void say(const std::string& what) {
    if (what == last_message_) return;
    last_message_ = what;
    log::info(what, {{"group", group_}});
  }

  const SignTopics& how_;
  const std::string group_;
  kafka::Pace pace_ = kafka_pace(how_.options, session_ms(how_.options));
  kafka::Inputs inputs_;
  std::unique_ptr<SignedTopic> topic_;
  std::unique_ptr<kafka::Membership> member_;
  std::vector<TopicPartition> ours_;
  SignCounters counters_;
  std::string last_message_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_to_sign(const Options& o,
                                                                const std::function<bool()>& stop) {
  if (o.kafka.brokers.empty()) return invalid("kafka.brokers: name the brokers of the topic");
  ASSIGN_OR_RETURN(std::unique_ptr<kafka::Cluster> cluster, connect_kafka(o));
  RETURN_IF_ERROR(patiently(stop, [&] { return reach_kafka(o, stop).status; }));
  return cluster;
}

absl::StatusOr<std::unique_ptr<SignedOutput>> signed_topic_output(const Options& o, kafka::Cluster& cluster,
                                                                  const std::string& topic,
                                                                  const std::string& scheme,
                                                                  const std::function<bool()>& stop) {
  return SignedTopic::open(
      o, cluster, {.topic = topic, .group = {}, .transactional_id = "doppel-sign-" + topic, .scheme = scheme},
      stop);
}

absl::StatusOr<std::unique_ptr<Source>> topics_to_sign(const Options& o, kafka::Cluster& cluster,
                                                       const std::function<bool()>& stop) {
  return kafka::KafkaSource::open(cluster, kafka_source_options(o, kafka_inputs(o), stop), {});
}

absl::StatusOr<SignCounters> sign_topics(const SignTopics& how) { return Signing(how).run(); }

}  // namespace doppel
