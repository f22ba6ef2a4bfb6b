#include "kafka/topics/named_topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status.h"
#include "base/strings.h"
#include "config/keys.h"
#include "kafka/merge_source.h"
#include "kafka/topics.h"
#include "kafka/topics/plan.h"

namespace doppel {
namespace {

using State = KafkaTopic::State;
using Configs = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kRecordOverhead = 128 << 10;  // metadata and everything else in a row except its set
constexpr int64_t kEventBytes = 1 << 20;
constexpr int64_t kLogRetentionMs = 7 * 86'400'000LL;

constexpr const char* kReadIt =
    "To read the new topic from its beginning, set kafka.on_recreated: read, and start again";
constexpr const char* kOrderIsLost =
    "The order of all documents is lost with it: let the signers write a new one (cluster.order), and give "
    "the "
    "index a new log and its processes new state directories";

// Copies of documents keep the documents' timestamps. A broker that deletes records after a week would delete
// the copies of an old crawl as soon as they are written.
constexpr std::pair<const char*, const char*> kKeepForEver{"retention.ms", "-1"};

int64_t number(const std::string& text, int64_t otherwise) {
  int64_t out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string alter(const Options& o, const std::string& topic, const std::string& setting) {
  return fmt::format(
      "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {} --add-config {}",
      o.kafka.brokers, topic, setting);
}

class Look {
 public:
  Look(const Options& options, kafka::Cluster& cluster) : o_(options), cluster_(cluster) {}

  absl::StatusOr<std::vector<KafkaTopic>> all() {
    ASSIGN_OR_RETURN(there_, cluster_.topics());
    inputs_ = kafka_inputs(o_);
    for (const kafka::TopicPartitions& topic : there_) {
      const bool ours =
          std::find(inputs_.never.begin(), inputs_.never.end(), topic.topic) != inputs_.never.end();
      if (!ours && !topic.topic.starts_with("__")) others_.push_back(topic.topic);
    }
    for (const std::string& name : o_.kafka.topics) RETURN_IF_ERROR(input(name));
    if (o_.cluster.signs()) {
      RETURN_IF_ERROR(order());
      return std::move(list_);
    }
    RETURN_IF_ERROR(index_log());
    RETURN_IF_ERROR(answers());
    if (o_.cluster.answers_only()) return std::move(list_);
    RETURN_IF_ERROR(output("output.topic", "events", o_.output.topic, kEventBytes));
    // Dead letters and unique documents are copies of input records, so the largest of these must fit.
    const int64_t copy = std::min<int64_t>(input_bytes_ + (64 << 10), 1'000'000'000);
    RETURN_IF_ERROR(copies("output.dead_letters", "dead letters", o_.output.dead_letters, copy));
    RETURN_IF_ERROR(copies("output.unique_topic", "unique documents", o_.output.unique_topic, copy));
    return std::move(list_);
  }

 private:
  const kafka::TopicPartitions* find(const std::string& name) const {
    const auto at =
        std::find_if(there_.begin(), there_.end(), [&](const auto& t) { return t.topic == name; });
    return at == there_.end() ? nullptr : &*at;
  }

  static void wrong(KafkaTopic& topic, std::string says) {
    topic.state = State::wrong;
    topic.says = std::move(says);
  }

  // Returns the settings of an existing topic, max.message.bytes first. Nullopt: we may not read them, and
  // the topic is now wrong.
  absl::StatusOr<std::optional<std::vector<std::string>>> settings(KafkaTopic& topic, const std::string& name,
                                                                   std::vector<std::string> names) {
    names.insert(names.begin(), "max.message.bytes");
    absl::StatusOr<std::vector<std::string>> values = cluster_.topic_configs(name, names);
    if (absl::IsPermissionDenied(values.status())) {
      wrong(topic, fmt::format("the right DescribeConfigs on the topic {} is missing", name));
      return std::nullopt;
    }
    RETURN_IF_ERROR(values.status());
    return std::optional(*std::move(values));
  }

  absl::Status input(const std::string& name) {
    KafkaTopic topic{.key = "kafka.topics", .purpose = "input", .name = name, .reads = true};
    std::vector<std::string> fits;
    if (name.starts_with('^')) {
      ASSIGN_OR_RETURN(const auto found, kafka::find_topics(cluster_, {{name}, inputs_.never}));
      for (const auto& t : found) fits.push_back(t.topic);
      topic.fits = fits;
      if (fits.empty()) {
        topic.state = State::missing;
        topic.says = fmt::format("no accessible topic matches {}", name);
      }
    } else if (find(name) != nullptr) {
      fits.push_back(name);
    } else {
      topic.state = State::missing;
      topic.says = fmt::format("the topic {} (input) does not exist or is not accessible{}", name,
                               did_you_mean(name, others_));
    }
    for (const std::string& fit : fits) {
      topic.partitions += find(fit) != nullptr ? find(fit)->partitions.size() : 0;
      ASSIGN_OR_RETURN(const auto values, settings(topic, fit, {}));
      if (!values) break;
      topic.message_bytes_max = std::max(topic.message_bytes_max, number((*values)[0], 0));
    }
    // Answers identify documents by their offsets alone.
    if (o_.cluster.is_part() && topic.partitions > 1) {
      wrong(topic, fmt::format("the topic {} (input) has {} partitions; a {} needs one, because its order is "
                               "the order in which documents are decided. Signers make such a topic",
                               name, topic.partitions, find_key("cluster.role")->get(o_)));
    }
    input_bytes_ = std::max(input_bytes_, topic.message_bytes_max);
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  // Describes a topic that doppel writes. Returns the values of max.message.bytes and then of `names`, or
  // nullopt if the topic is missing or its settings may not be read.
  absl::StatusOr<std::optional<std::vector<std::string>>> written(KafkaTopic& topic, int partitions,
                                                                  const Configs& configs,
                                                                  const std::vector<std::string>& names) {
    topic.writes = true;
    topic.spec = kafka::TopicSpec{
        .name = topic.name, .purpose = topic.purpose, .partitions = partitions, .configs = configs};
    const kafka::TopicPartitions* there = find(topic.name);
    if (there == nullptr) {
      topic.state = State::missing;
      topic.says = fmt::format(
          "the topic {} ({}) does not exist or is not accessible{}; set kafka.create_topics: true, or run:\n "
          " "
          "{}",
          topic.name, topic.purpose, did_you_mean(topic.name, others_),
          kafka::command_to_make(*topic.spec, o_.kafka.brokers));
      return std::nullopt;
    }
    topic.partitions = there->partitions.size();
    ASSIGN_OR_RETURN(auto values, settings(topic, topic.name, names));
    if (values) topic.message_bytes_max = number((*values)[0], 1'000'000);
    return values;
  }

  absl::Status output(const std::string& key, const std::string& purpose, const std::string& name,
                      int64_t message_bytes) {
    if (name.empty()) return absl::OkStatus();
    KafkaTopic topic{.key = key, .purpose = purpose, .name = name};
    ASSIGN_OR_RETURN(const auto values,
                     written(topic, o_.kafka.partitions,
                             {{"max.message.bytes", fmt::format("{}", message_bytes)}}, {"cleanup.policy"}));
    if (values && (*values)[1].find("compact") != std::string::npos) {
      topic.warning =
          "a compacted topic keeps one event of each key, and takes none of a document without a key: doppel "
          "stops there";
      topic.remedy = alter(o_, name, "cleanup.policy=delete");
    }
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  // The topic that signers write.
  absl::Status order() {
    const kafka::TopicSpec spec = signed_topic(o_, o_.cluster.order);
    KafkaTopic topic{.key = "cluster.order", .purpose = spec.purpose, .name = spec.name};
    RETURN_IF_ERROR(written(topic, spec.partitions, spec.configs, {}).status());
    if (topic.partitions > 1) wrong(topic, one_partition(spec.name, topic.partitions));
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  // One partition has the questions and another the answers. Both are needed for minutes only.
  absl::Status answers() {
    if (!o_.cluster.is_part()) return absl::OkStatus();
    KafkaTopic topic{.key = "cluster.role", .purpose = "answers", .name = answers_topic(o_), .reads = true};
    RETURN_IF_ERROR(written(topic, 2,
                            {{"cleanup.policy", "delete"},
                             {"max.message.bytes", fmt::format("{}", kAnswerBytes)},
                             {"retention.ms", "3600000"}},
                            {})
                        .status());
    if (topic.state == State::right && topic.partitions < 2) {
      wrong(topic, fmt::format("the topic {} (answers) has {} partition; it needs two: one for questions and "
                               "one for answers",
                               topic.name, topic.partitions));
    }
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  // An output that contains copies of documents.
  absl::Status copies(const std::string& key, const std::string& purpose, const std::string& name,
                      int64_t message_bytes) {
    if (name.empty()) return absl::OkStatus();
    KafkaTopic topic{.key = key, .purpose = purpose, .name = name};
    ASSIGN_OR_RETURN(const auto values,
                     written(topic, o_.kafka.partitions,
                             {{"max.message.bytes", fmt::format("{}", message_bytes)}, kKeepForEver},
                             {"cleanup.policy", "message.timestamp.type", "retention.ms"}));
    if (values && (*values)[1].find("delete") != std::string::npos && (*values)[2] == "CreateTime" &&
        number((*values)[3], -1) >= 0) {
      topic.warning =
          "a topic of copies loses copies of old documents, because copies keep the documents' timestamps";
      topic.remedy = alter(o_, name, "retention.ms=-1");
    }
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  // The index log has one partition, is compacted, never expires records and has room for the largest record.
  absl::Status index_log() {
    const std::string& name = o_.kafka.index_log;
    KafkaTopic topic{.key = "kafka.index_log", .purpose = "index log", .name = name, .reads = true};
    const int64_t needed = static_cast<int64_t>(o_.max_record) + kRecordOverhead;
    ASSIGN_OR_RETURN(const auto values,
                     written(topic, 1,
                             {{"cleanup.policy", "compact"},
                              {"max.message.bytes", fmt::format("{}", std::max<int64_t>(needed, 2 << 20))},
                              {"delete.retention.ms", fmt::format("{}", kLogRetentionMs)},
                              {"min.compaction.lag.ms", "60000"}},
                             {"cleanup.policy", "delete.retention.ms"}));
    if (values) judge_index_log(topic, *values, needed);
    topic.writes = !o_.cluster.answers_only();
    list_.push_back(std::move(topic));
    return absl::OkStatus();
  }

  void judge_index_log(KafkaTopic& topic, const std::vector<std::string>& values, int64_t needed) const {
    const auto change = [&](const std::string& what, const std::string& setting) {
      wrong(topic, fmt::format("the index log {}: {}; run:\n  {}", topic.name, what,
                               alter(o_, topic.name, setting)));
    };
    topic.delete_retention_ms = number(values[2], -1);
    if (topic.partitions != 1) {
      wrong(topic, fmt::format("the index log {} has {} partitions; it must have one, because its order is "
                               "the order of the index",
                               topic.name, topic.partitions));
    } else if (values[1] != "compact") {
      change(fmt::format("cleanup.policy is {}, which loses the index", values[1]), "cleanup.policy=compact");
    } else if (topic.message_bytes_max < needed) {
      change(fmt::format("max.message.bytes is {}, and max_record ({}) needs {}", values[0], o_.max_record,
                         needed),
             fmt::format("max.message.bytes={}", needed));
    } else if (topic.delete_retention_ms >= 0 && topic.delete_retention_ms < kLogRetentionMs) {
      topic.warning =
          "the index log drops removals too early for replicas that were away and for older snapshots";
      topic.remedy = alter(o_, topic.name, fmt::format("delete.retention.ms={}", kLogRetentionMs));
    }
  }

  const Options& o_;
  kafka::Cluster& cluster_;
  kafka::Inputs inputs_;
  std::vector<kafka::TopicPartitions> there_;
  std::vector<std::string> others_;  // topics that doppel does not write, for suggestions
  int64_t input_bytes_ = kEventBytes;
  std::vector<KafkaTopic> list_;
};

}  // namespace

std::string transactional_id(const Options& o) {
  return o.kafka.transactional_id.empty() ? "doppel-" + o.kafka.index_log : o.kafka.transactional_id;
}

std::string daemons_group(const std::string& transactional_id) { return transactional_id + "-daemons"; }

std::string sign_group(const Options& o, const std::string& topic) {
  return fmt::format("{}-sign-{}", o.kafka.group, topic);
}

kafka::TopicSpec signed_topic(const Options& o, const std::string& name) {
  const int64_t needed = static_cast<int64_t>(o.max_record) + kBesidesSet;
  return {.name = name,
          .purpose = "signed records",
          .partitions = 1,
          .configs = {{"max.message.bytes", fmt::format("{}", std::max<int64_t>(needed, 2 << 20))}}};
}

std::string one_partition(const std::string& topic, size_t partitions) {
  return fmt::format(
      "the topic {} (signed records) has {} partitions; it must have one: its order is the order in which "
      "documents are decided",
      topic, partitions);
}

std::string answers_topic(const Options& o) { return o.kafka.index_log + "-answers"; }

kafka::Inputs kafka_inputs(const Options& o) {
  kafka::Inputs out{.names = o.kafka.topics, .never = {}};
  for (const std::string& ours :
       {o.output.topic, o.output.dead_letters, o.output.unique_topic, o.kafka.index_log})
    if (!ours.empty()) out.never.push_back(ours);
  return out;
}

kafka::Pace kafka_pace(const Options& o, int64_t transaction_timeout_ms) {
  const int64_t end_ms = std::min(transaction_timeout_ms, o.shutdown_timeout_ms);
  return {static_cast<size_t>(o.kafka.batch_documents), o.batch_bytes, std::chrono::milliseconds(end_ms / 8)};
}

kafka::KafkaSourceOptions kafka_source_options(const Options& o, kafka::Inputs inputs,
                                               std::function<bool()> stop) {
  return {.group = o.kafka.group,
          .topics = std::move(inputs),
          .batch_records = static_cast<size_t>(o.kafka.batch_documents),
          .batch_bytes = o.batch_bytes,
          .linger_ms = static_cast<int>(o.kafka.batch_ms),
          .queue_bytes = o.kafka.fetch_queue,
          .from_latest = o.kafka.start == StartAt::latest,
          .continue_after_loss = o.kafka.on_data_loss == OnDataLoss::go_on,
          .recreated_stops = o.cluster.is_part()                         ? kOrderIsLost
                             : o.kafka.on_recreated == OnRecreated::stop ? kReadIt
                                                                         : "",
          .order_is_lost = o.cluster.is_part() ? kOrderIsLost : "",
          .metadata_ms = static_cast<int>(o.kafka.metadata_interval_ms),
          .stop = std::move(stop)};
}

absl::StatusOr<std::vector<KafkaTopic>> look_at_topics(const Options& options, kafka::Cluster& cluster) {
  return Look(options, cluster).all();
}

absl::Status read_event_topic(
    const Options& options, const std::string& topic,
    const std::function<absl::Status(const std::string& place, const std::string& event)>& visit,
    const std::function<void(double)>& progress) {
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(options));
  ASSIGN_OR_RETURN(const std::vector<kafka::Bounds> bounds,
                   kafka::freeze_bounds(*cluster, {.names = {topic}, .never = {}}, 0, -1));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::MergeSource> source,
                   kafka::MergeSource::open(*cluster, {}, bounds, {}));
  const auto total = static_cast<double>(std::max<uint64_t>(1, source->bytes_total()));
  Batch batch;
  std::string event;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, source->next(batch));
    if (!more) return absl::OkStatus();
    for (const Record& record : batch.records) {
      event.assign(record.value);
      RETURN_IF_ERROR(visit(fmt::format("{}/{}", record.source, record.offset), event));
    }
    progress(static_cast<double>(source->bytes_read()) / total);
  }
}

}  // namespace doppel
