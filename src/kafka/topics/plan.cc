#include "kafka/topics/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/topics.h"
#include "kafka/topics/check.h"

namespace doppel {
namespace {

constexpr std::chrono::minutes kSayAgain(1);
constexpr std::chrono::milliseconds kPause(500);

// The topics that have been warned about. The topics are checked repeatedly while doppel waits for brokers.
using Warned = std::set<std::string>;

kafka::OutputTopic output_of(const KafkaTopic& topic) {
  return {.name = topic.name, .message_bytes_max = topic.message_bytes_max};
}

void fill(const Options& o, const std::vector<KafkaTopic>& topics, KafkaPlan& plan) {
  for (const KafkaTopic& topic : topics) {
    if (topic.key == "output.topic") plan.events = output_of(topic);
    if (topic.key == "output.dead_letters") plan.dead_letters = output_of(topic);
    if (topic.key == "output.unique_topic") plan.unique = output_of(topic);
    if (topic.key != "kafka.index_log") continue;
    plan.index_log = output_of(topic);
    if (topic.delete_retention_ms >= 0) plan.log_delete_retention_ms = topic.delete_retention_ms;
  }
  plan.dead_letters.compressed = plan.unique.compressed = may_compress(o);
  for (const kafka::OutputTopic& topic : {plan.events, plan.dead_letters, plan.unique, plan.index_log})
    if (!topic.name.empty()) plan.batch_bytes_max = std::min(plan.batch_bytes_max, topic.message_bytes_max);
}

void say_warnings(const std::vector<KafkaTopic>& topics, Warned& warned) {
  for (const KafkaTopic& topic : topics) {
    if (!topic.warning.empty() && warned.insert(topic.name).second)
      log::warn(topic.warning, {{"topic", topic.name}, {"to_keep_them", topic.remedy}});
    if (!topic.unreadable.empty() && warned.insert(topic.name + " is not read").second)
      log::warn(topic.unreadable, {{topic.writes ? "topic" : "key", topic.writes ? topic.name : topic.key}});
    // KafkaSource waits for missing inputs; only a likely typo is worth a warning here.
    const size_t meant = topic.says.find(" (did you mean ");
    if (!topic.spec && meant != std::string::npos && warned.insert(topic.name).second)
      log::warn(topic.says, {{"key", topic.key}});
  }
}

// Checks everything once. OK: `plan` is complete, or topics were created (`made`) and need another look. The
// error has a line for each topic.
absl::Status look(const Options& o, const PlanOptions& how, KafkaPlan& plan, Warned& warned, bool& made) {
  if (how.reach) RETURN_IF_ERROR(how.reach());
  ASSIGN_OR_RETURN(plan.cluster, plan.kafka->id());
  if (how.accept) RETURN_IF_ERROR(how.accept(plan.cluster));
  ASSIGN_OR_RETURN(std::vector<KafkaTopic> topics, look_at_topics(o, *plan.kafka));
  if (how.rights) how.rights(topics);
  std::vector<std::string> wrong, missing;
  for (const KafkaTopic& topic : topics) {
    if (topic.state == KafkaTopic::State::wrong) wrong.push_back(topic.says);
    if (topic.state == KafkaTopic::State::missing && topic.spec) missing.push_back(topic.says);
  }
  if (!wrong.empty()) return invalid(absl::StrJoin(wrong, "\n"));
  if (!missing.empty() && !o.kafka.create_topics) return absl::NotFoundError(absl::StrJoin(missing, "\n"));
  say_warnings(topics, warned);
  made = !missing.empty();
  for (const KafkaTopic& topic : topics)
    if (topic.state == KafkaTopic::State::missing && topic.spec)
      RETURN_IF_ERROR(kafka::make_topic(*plan.kafka, *topic.spec));
  if (!made) fill(o, topics, plan);
  return absl::OkStatus();
}

// Logs expressions that match topics which doppel writes.
void say_never_read(const kafka::Inputs& inputs) {
  for (const std::string& name : inputs.names) {
    const absl::StatusOr<kafka::TopicPattern> pattern = kafka::TopicPattern::compile(name);
    if (!name.starts_with('^') || !pattern.ok()) continue;
    for (const std::string& ours : inputs.never) {
      if (pattern->fits(ours))
        log::info("kafka.topics matches a topic that doppel writes; doppel does not read it",
                  {{"expression", name}, {"topic", ours}});
    }
  }
}

}  // namespace

absl::Status check_has_role(const Options& o) {
  if (o.cluster.order.empty() || o.cluster.role != ClusterRole::all) return absl::OkStatus();
  return invalid(
      "cluster.order: this configuration is for an index on many machines; give this process a role with "
      "--role signer, matcher or resolver (rebuild: --set cluster.role=resolver), or leave cluster.order "
      "out");
}

absl::StatusOr<std::unique_ptr<kafka::Cluster>> connect_kafka(const Options& o) {
  RETURN_IF_ERROR(check_kafka_client(o));
  return kafka::connect(kafka_client(o));
}

PlanOptions real_cluster(const Options& options, PlanOptions how) {
  // Once the brokers have accepted us, later failures are retried elsewhere.
  how.reach = [&options, stop = how.stop, in = false]() mutable {
    if (in) return absl::OkStatus();
    const kafka::Reached reached = reach_kafka(options, stop);
    for (const std::string& note : reached.notes) log::warn("a broker cannot be reached", {{"says", note}});
    in = reached.status.ok();
    return reached.status;
  };
  // Remembers granted rights, because every look of plan_kafka() calls this.
  how.rights = [&options, granted = std::set<std::string>()](std::vector<KafkaTopic>& topics) mutable {
    check_rights(options, topics, granted);
  };
  return how;
}

absl::StatusOr<KafkaPlan> plan_kafka(const Options& o, kafka::Cluster& cluster, const PlanOptions& how) {
  RETURN_IF_ERROR(check_kafka_topics(o));
  KafkaPlan plan{.kafka = &cluster, .inputs = kafka_inputs(o)};
  say_never_read(plan.inputs);
  plan.transactional_id = transactional_id(o);
  Clock::time_point said;
  std::string what;
  Warned warned;
  while (true) {
    bool made = false;
    absl::Status status = look(o, how, plan, warned, made);
    if (status.ok() && !made) return plan;
    if (status.ok()) continue;
    const bool may_pass = absl::IsUnavailable(status) || (how.await_topics && absl::IsNotFound(status));
    if (!may_pass) return status;
    if (how.stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (what != status.message() || Clock::now() - said > kSayAgain) {
      log::warn("waiting for Kafka", {{"brokers", o.kafka.brokers}, {"says", std_sv(status.message())}});
      said = Clock::now();
      what = std_sv(status.message());
    }
    notify::still_starting("waiting for Kafka");
    Clock::sleep(kPause);
  }
}

bool may_compress(const Options& o) {
  return std::none_of(o.kafka.properties.begin(), o.kafka.properties.end(), [](const std::string& item) {
    return item.starts_with("compression.") || item.starts_with("producer.compression.");
  });
}

}  // namespace doppel
