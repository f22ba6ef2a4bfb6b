#include "kafka/topics/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "base/strings.h"
#include "config/keys.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"
#include "kafka/topics.h"

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
  Clock::time_point logged;
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
    if (what != status.message() || Clock::now() - logged > kSayAgain) {
      log::warn("waiting for Kafka", {{"brokers", o.kafka.brokers}, {"says", std_sv(status.message())}});
      logged = Clock::now();
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

namespace {

constexpr std::chrono::seconds kPatience(15);
constexpr std::chrono::seconds kAppears(5);  // until brokers list a topic that was just made

void add(std::vector<std::string>& wrong, const absl::Status& status) {
  if (!status.ok()) wrong.emplace_back(status.message());
}

// Whether a property names a file. The library's message names the failed call of OpenSSL, but not the file.
bool names_file(std::string_view property) {
  if (property.starts_with("plugin.")) return false;
  for (const std::string_view end : {".location", ".keytab", ".file"})
    if (property.ends_with(end)) return true;
  return false;
}

void check_files(const kafka::ClientOptions& client, std::vector<std::string>& wrong) {
  for (const auto& [name, value] : client.properties) {
    if (!names_file(name) || value.empty() || value == "probe" || ::access(value.c_str(), R_OK) == 0)
      continue;
    wrong.push_back(fmt::format("kafka.properties: {}: {}: {}", name, value, std::strerror(errno)));
  }
}

std::string what_of(const Options& o, const KafkaTopic& topic) {
  switch (topic.state) {
    case KafkaTopic::State::wrong:
      return "WRONG";
    case KafkaTopic::State::missing:
      if (!topic.spec) return "MISSING: serve waits for it";
      return o.kafka.create_topics
                 ? fmt::format("serve creates it, with {} partition{}", topic.spec->partitions,
                               topic.spec->partitions == 1 ? "" : "s")
                 : "MISSING";
    case KafkaTopic::State::right:
      if (topic.partitions == 0 && topic.fits.empty() && !topic.unreadable.empty()) return topic.unreadable;
      break;
  }
  return fmt::format("{}{} partition{}, max.message.bytes={}{}",
                     topic.fits.empty() ? "" : absl::StrJoin(topic.fits, " ") + ": ", topic.partitions,
                     topic.partitions == 1 ? "" : "s", topic.message_bytes_max,
                     topic.warning.empty() ? "" : "; " + topic.warning + ": " + topic.remedy) +
         (topic.unreadable.empty() ? "" : "; " + topic.unreadable);
}

std::string list_of(const Options& o, const std::vector<KafkaTopic>& topics) {
  size_t purpose = 0, name = 0;
  for (const KafkaTopic& topic : topics) {
    purpose = std::max(purpose, topic.purpose.size());
    name = std::max(name, topic.name.size());
  }
  std::string out;
  for (const KafkaTopic& topic : topics)
    out += fmt::format("  {:<{}}  {:<{}}  {}\n", topic.purpose, purpose, topic.name, name, what_of(o, topic));
  return out;
}

void wrong(KafkaTopic& topic, const absl::Status& right) {
  if (!topic.says.empty()) topic.says += "\n";
  topic.says += fmt::format("{} ({})", std_sv(right.message()), topic.purpose);
  topic.state = KafkaTopic::State::wrong;
}

// Removes the topics that the brokers list. They were missing and exist now: another process may just have
// made them, and then they are listed soon; a topic that stays away is one that we may not see.
void await_listed(const Options& o, std::set<std::string>& away) {
  if (away.empty()) return;
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect(kafka_client(o));
  const auto deadline = std::chrono::steady_clock::now() + kAppears;
  while (true) {
    const absl::StatusOr<std::vector<kafka::TopicPartitions>> topics = cluster->topics();
    if (topics.ok())
      for (const kafka::TopicPartitions& listed : *topics) away.erase(listed.topic);
    if (away.empty() || std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Marks missing topics as wrong if we may not create them.
void check_right_to_make(const Options& o, std::vector<KafkaTopic>& topics) {
  std::vector<kafka::TopicSpec> specs;
  std::vector<KafkaTopic*> missing;
  for (KafkaTopic& topic : topics) {
    if (topic.state != KafkaTopic::State::missing || !topic.spec) continue;
    specs.push_back(*topic.spec);
    missing.push_back(&topic);
  }
  const std::vector<absl::Status> rights = kafka::try_to_make(kafka_client(o), specs);
  std::set<std::string> hidden;
  for (size_t i = 0; i < missing.size(); ++i)
    if (absl::IsAlreadyExists(rights[i])) hidden.insert(missing[i]->name);
  await_listed(o, hidden);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!absl::IsPermissionDenied(rights[i]) && !hidden.contains(missing[i]->name)) continue;
    missing[i]->says.clear();  // drops the command that would create it
    wrong(*missing[i],
          absl::IsPermissionDenied(rights[i])
              ? rights[i]
              : absl::PermissionDeniedError(fmt::format(
                    "the topic {} exists, and the right Describe on it is missing, as all rights may be",
                    missing[i]->name)));
  }
}

// Rights on what is no topic. Adds an entry for each that is missing or cannot be checked.
void check_other_rights(const Options& o, std::vector<KafkaTopic>& topics, std::set<std::string>& granted) {
  if (o.dry_run || o.cluster.signs() || o.cluster.answers_only()) return;
  const auto ask = [&](const std::string& key, const std::string& purpose, const std::string& name,
                       const auto& right) {
    const std::string id = purpose + " " + name;
    if (name.empty() || granted.contains(id)) return;
    const absl::Status status = right(kafka_client(o), name);
    if (status.ok()) granted.insert(id);
    const bool unchecked = absl::IsFailedPrecondition(status);
    if (!absl::IsPermissionDenied(status) && !unchecked) return;
    KafkaTopic& entry = topics.emplace_back(KafkaTopic{.key = key, .purpose = purpose, .name = name});
    if (!unchecked) return wrong(entry, status);
    entry.unreadable = std_sv(status.message());
  };
  const std::string id = transactional_id(o);
  ask("kafka.transactional_id", "transactional id", id, kafka::try_transactional_id);
  ask("kafka.group", "group of the input", o.kafka.group, kafka::try_group);
  if (o.kafka.takeover == Takeover::standby)
    ask("kafka.takeover", "group of the daemons", daemons_group(id), kafka::try_group);
}

}  // namespace

kafka::ClientOptions kafka_client(const Options& o) {
  kafka::ClientOptions client{.brokers = o.kafka.brokers, .properties = {}};
  for (const std::string& item : o.kafka.properties) {
    const size_t equals = item.find('=');
    if (taken_property(item.substr(0, equals)) != nullptr) continue;
    client.properties.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return client;
}

absl::Status check_kafka_client(const Options& o) {
  std::vector<std::string> wrong;
  const kafka::ClientOptions client = kafka_client(o);
  add(wrong, kafka::split_brokers(o.kafka.brokers).status());
  const size_t before = wrong.size();
  check_files(client, wrong);
  // Checking the properties creates clients, which fails if a file is missing.
  if (wrong.size() == before) add(wrong, kafka::check_properties(client, did_you_mean));
  return wrong.empty() ? absl::OkStatus() : invalid(absl::StrJoin(wrong, "\n"));
}

absl::Status check_kafka_topics(const Options& o) {
  std::vector<std::string> wrong;
  if (o.kafka.topics.empty()) wrong.emplace_back("kafka.topics: name at least one input topic");
  if (o.output.topic.empty()) wrong.emplace_back("output.topic: name the topic of events");
  if (o.kafka.index_log.empty()) wrong.emplace_back("kafka.index_log: name the topic of the index log");
  const kafka::Inputs inputs = kafka_inputs(o);
  for (const std::string& name : inputs.names) {
    if (name.starts_with('^')) {
      const auto pattern = kafka::TopicPattern::compile(name);
      if (!pattern.ok()) wrong.push_back("kafka.topics: " + std::string(pattern.status().message()));
    } else if (std::find(inputs.never.begin(), inputs.never.end(), name) != inputs.never.end()) {
      wrong.push_back(
          fmt::format("kafka.topics: {} is also an output: doppel would read what it writes", name));
    }
  }
  // Two of these in one topic would read each other's records, above all the index log.
  const std::pair<std::string_view, std::string> written[] = {{"kafka.index_log", o.kafka.index_log},
                                                              {"output.topic", o.output.topic},
                                                              {"output.dead_letters", o.output.dead_letters},
                                                              {"output.unique_topic", o.output.unique_topic},
                                                              {"cluster.order", o.cluster.order}};
  for (auto one = std::begin(written); one != std::end(written); ++one) {
    for (auto other = std::next(one); other != std::end(written); ++other) {
      if (one->second.empty() || one->second != other->second) continue;
      wrong.push_back(fmt::format("{}: {} is also {}; each needs a topic of its own", other->first,
                                  other->second, one->first));
    }
  }
  return wrong.empty() ? absl::OkStatus() : invalid(absl::StrJoin(wrong, "\n"));
}

kafka::Reached reach_kafka(const Options& options, const std::function<bool()>& stop) {
  return kafka::try_brokers(kafka_client(options), kPatience, stop);
}

void check_rights(const Options& o, std::vector<KafkaTopic>& topics, std::set<std::string>& granted) {
  check_other_rights(o, topics, granted);
  if (o.kafka.create_topics && !o.dry_run) check_right_to_make(o, topics);
  std::vector<kafka::TopicUse> uses;
  std::vector<KafkaTopic*> used;
  for (KafkaTopic& topic : topics) {
    if (topic.state != KafkaTopic::State::right || !(topic.reads || topic.writes)) continue;
    std::vector<std::string> names = topic.fits;
    if (names.empty()) names.push_back(topic.name);
    for (const std::string& name : names) {
      if (granted.contains(name)) continue;
      const bool writes = topic.writes && !o.dry_run;
      uses.push_back({.topic = name, .read = topic.reads, .write = writes});
      used.push_back(&topic);
      if (topic.reads || !writes) continue;
      uses.push_back({.topic = name, .read = true});
      used.push_back(&topic);
    }
  }
  if (uses.empty()) return;
  const std::vector<absl::Status> rights = kafka::try_rights(
      kafka_client(o), o.cluster.signs() ? sign_group(o, o.cluster.order) : o.kafka.group, uses);
  for (size_t i = 0; i < uses.size(); ++i) {
    const bool needed = used[i]->reads || uses[i].write;
    if (rights[i].ok() && needed) granted.insert(uses[i].topic);
    if (!absl::IsPermissionDenied(rights[i])) continue;
    if (!needed) {
      used[i]->unreadable = fmt::format(
          "{} ({}): doppel cannot look up whether a transaction is committed there if it gets no "
          "answer",
          std_sv(rights[i].message()), used[i]->purpose);
      continue;
    }
    wrong(*used[i], rights[i]);
  }
}

absl::Status missing_rights(const Options& o, kafka::Cluster& cluster) {
  ASSIGN_OR_RETURN(std::vector<KafkaTopic> topics, look_at_topics(o, cluster));
  std::set<std::string> granted;
  check_rights(o, topics, granted);
  std::vector<std::string> says;
  for (const KafkaTopic& topic : topics) {
    // Missing inputs may be created later; they have no spec.
    if (topic.state == KafkaTopic::State::wrong || (topic.state == KafkaTopic::State::missing && topic.spec))
      says.push_back(topic.says);
    if (!topic.unreadable.empty()) says.push_back(topic.unreadable);
  }
  return says.empty() ? absl::OkStatus() : absl::PermissionDeniedError(absl::StrJoin(says, "\n"));
}

KafkaReport check_kafka(const Options& o) {
  KafkaReport out;
  const kafka::ClientOptions client = kafka_client(o);
  const kafka::Reached reached = reach_kafka(o, [] { return false; });
  out.status = reached.status;
  if (!out.status.ok()) return out;
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect(client);
  const absl::StatusOr<std::string> id = cluster->id();
  absl::StatusOr<std::vector<KafkaTopic>> topics = look_at_topics(o, *cluster);
  out.status = !id.ok() ? id.status() : topics.status();
  if (!out.status.ok()) return out;
  std::set<std::string> granted;
  check_rights(o, *topics, granted);
  const std::string mechanism = kafka::sasl_mechanism(client);
  out.text =
      fmt::format("cluster {} of {} broker{}: {}{}{}, librdkafka {}\n{}", *id, reached.brokers,
                  reached.brokers == 1 ? "" : "s", kafka::security_protocol(client),
                  mechanism.empty() ? "" : " ", mechanism, kafka::library_version(), list_of(o, *topics));
  std::vector<std::string> wrong = reached.notes;
  for (const KafkaTopic& topic : *topics) {
    const bool made = topic.spec && topic.state == KafkaTopic::State::missing && o.kafka.create_topics;
    if (topic.state != KafkaTopic::State::right && !made) wrong.push_back(topic.key + ": " + topic.says);
  }
  if (!wrong.empty()) out.status = invalid(absl::StrJoin(wrong, "\n"));
  return out;
}

}  // namespace doppel
