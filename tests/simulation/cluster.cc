#include "simulation/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "kafka/same_topic.h"

namespace doppel::simulation {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kCallTimeout(3'000);
constexpr milliseconds kFetchBackoff(500);
constexpr milliseconds kMakesAgain(60);  // time in which a broker deletes and creates a topic
constexpr milliseconds kSeen(15'000);    // time that a topic is visible before it is hidden again

absl::Status away(const char* call) { return absl::UnavailableError(fmt::format("{}: no answer", call)); }

class Producer final : public kafka::TransactionalProducer {
 public:
  Producer(LifeCluster& life, kafka::TransactionalOptions options)
      : life_(life), options_(std::move(options)) {}

  absl::Status init() override {
    const auto entry = life_.enter("init");
    if (!entry.status.ok() && !entry.answer_lost) return entry.status;
    epoch_ = broker().init(options_.id, life_.number());
    life_.open_id = options_.id;
    life_.open_epoch = epoch_;
    life_.trouble = false;
    return entry.status;
  }

  absl::Status begin() override {
    if (!ended_) return absl::FailedPreconditionError("begin: a transaction is open");
    failed_ = absl::OkStatus();
    ended_ = false;
    skip_ = 0;
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> produce(kafka::Outbox& outbox, size_t from) override {
    const auto entry = life_.enter("produce");
    if (!entry.status.ok() && !entry.answer_lost) fail(absl::DeadlineExceededError(entry.status.message()));
    if (life_.implied > 0) skip_ = std::exchange(life_.implied, 0);
    for (size_t at = from; at < outbox.messages().size(); ++at) {
      kafka::Outbox::Message& m = outbox.messages()[at];
      if (m.seen) continue;
      m.offset = -1;
      if (!failed_.ok()) continue;
      if (broker().fenced(options_.id, epoch_)) {
        fail(absl::AbortedError("fenced"));
        continue;
      }
      const TopicPartition place{*m.topic, partition_of(outbox, m)};
      if (broker().find(place) == nullptr) {
        fail(absl::NotFoundError("unknown topic " + place.topic));
        continue;
      }
      m.stored_in = place.partition;
      if (skip_ > 0) {
        --skip_;
        continue;
      }
      m.offset = broker().produce(options_.id, place, record_of(outbox, m));
      if (life_.midway == 1) life_.die_midway();
      life_.midway = std::max(life_.midway - 1, 0);
      if (m.offset < 0) {
        m.refused = true;
        fail(absl::ResourceExhaustedError("too large for " + place.topic));
      }
    }
    return outbox.messages().size();
  }

  absl::Status produce_key(const TopicPartition& place, std::string_view key) override {
    if (broker().fenced(options_.id, epoch_)) return absl::AbortedError("fenced");
    if (broker().find(place) == nullptr) return absl::NotFoundError("unknown topic");
    StoredRecord record{.timestamp_ms = life_.world().scheduler.unix_ms(), .key = std::string(key)};
    broker().produce(options_.id, place, std::move(record));
    return absl::OkStatus();
  }

  absl::Status send_offsets(const kafka::Committer&, const std::vector<LogProgress>& progress) override {
    const auto entry = life_.enter("send_offsets");
    RETURN_IF_ERROR(entry.status);
    if (broker().fenced(options_.id, epoch_)) return absl::AbortedError("fenced");
    offsets_ = progress;
    return absl::OkStatus();
  }

  absl::Status flush() override {
    const auto entry = life_.enter("flush");
    RETURN_IF_ERROR(entry.status);
    return failed_;
  }

  absl::Status commit() override { return end("commit", true); }
  absl::Status abort() override { return end("abort", false); }
  void know_topic(const std::string&) override {}
  bool take_trouble() override { return std::exchange(life_.trouble, false); }

 private:
  Broker& broker() { return life_.world().broker; }
  void fail(absl::Status status) {
    if (failed_.ok()) failed_ = std::move(status);
  }

  absl::Status end(const char* name, bool commit) {
    auto entry = life_.enter(name);
    if (commit && !ended_) life_.next_of_storm();
    const std::optional<uint32_t> lost = commit ? std::exchange(life_.lose_commit, {}) : std::nullopt;
    if (entry.status.ok() && lost) {
      entry = {.status = away(name), .answer_lost = (*lost & 1) != 0};
      if ((*lost & 2) != 0) life_.kill_within(1 + static_cast<int>((*lost >> 2) % 12));
      life_.trouble = life_.trouble || entry.answer_lost;
    }
    if (!entry.status.ok() && !entry.answer_lost) return entry.status;
    if (!ended_) {
      if (broker().fenced(options_.id, epoch_)) return absl::AbortedError("fenced");
      const uint32_t bits = commit ? std::exchange(life_.forget_bits, 0) : 0;
      const bool late = commit && std::exchange(life_.late, false);
      int n = 0;
      broker().end(options_.id, commit, [&](const TopicPartition&) {
        const bool forgotten = ((bits >> (n++ % 32)) & 1) != 0;
        return forgotten ? Marks::never : late ? Marks::late : Marks::at_once;
      });
      if (bits != 0) {
        // It died with the answer, and every connection breaks. The client may notice that a moment later.
        (life_.world().scheduler.below(2) == 0 ? life_.trouble : life_.trouble_next) = true;
        life_.world().away_until = life_.world().scheduler.now() + milliseconds(500);
      }
      ended_ = true;
      for (const LogProgress& p : std::exchange(offsets_, {})) {
        const auto topic = broker().topics.find(p.topic);
        if (!commit || topic == broker().topics.end()) continue;
        topic->second.group[p.partition] = {.offset = p.next, .note = kafka::group_note(p)};
      }
    }
    return entry.status;
  }

  int32_t partition_of(const kafka::Outbox& outbox, const kafka::Outbox::Message& m) {
    if (m.partition >= 0) return m.partition;
    const size_t n = broker().topics.at(*m.topic).partitions.size();
    const std::string_view key = m.key ? outbox.view(*m.key) : std::string_view("?");
    uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
    return static_cast<int32_t>(hash % n);
  }

  StoredRecord record_of(const kafka::Outbox& outbox, const kafka::Outbox::Message& m) {
    StoredRecord record{.timestamp_ms =
                            m.timestamp_ms != 0 ? m.timestamp_ms : life_.world().scheduler.unix_ms()};
    if (m.key) record.key = outbox.view(*m.key);
    if (m.value) record.value = outbox.view(*m.value);
    for (uint32_t h = m.headers_begin; h < m.headers_end; ++h) {
      const auto& header = outbox.all_headers()[h];
      auto& [name, value] = record.headers.emplace_back(outbox.view(header.name), std::nullopt);
      if (header.value) value = outbox.view(*header.value);
    }
    return record;
  }

  LifeCluster& life_;
  kafka::TransactionalOptions options_;
  int32_t epoch_ = -1;
  absl::Status failed_;
  bool ended_ = true;
  int skip_ = 0;
  std::vector<LogProgress> offsets_;  // of the open transaction
};

class Consumer final : public kafka::Consumer {
 public:
  Consumer(LifeCluster& life, kafka::ConsumerOptions options) : life_(life), options_(std::move(options)) {}

  absl::Status assign(const std::vector<Assignment>& more) override {
    for (const Assignment& a : more) assigned_.push_back({a.place, a.tag, a.from});
    return absl::OkStatus();
  }
  void unassign() override { assigned_.clear(); }

  absl::Status poll(size_t max, int wait_ms, std::vector<kafka::Incoming>& out,
                    std::optional<uint32_t> tag) override {
    Scheduler& scheduler = life_.world().scheduler;
    const auto deadline = scheduler.now() + milliseconds(wait_ms);
    const size_t before = out.size();
    while (true) {
      const auto entry = life_.enter("poll");
      RETURN_IF_ERROR(entry.status);
      absl::Status failed;  // of a partition; the others are read
      for (Part& part : assigned_) {
        if (out.size() - before >= max) break;
        if (tag && part.tag != *tag) continue;
        const absl::Status taken = take(part, max - (out.size() - before), out);
        // The library reports it only now and then.
        if (absl::IsNotFound(taken)) scheduler.sleep(milliseconds(wait_ms));
        failed.Update(taken);
      }
      RETURN_IF_ERROR(failed);
      if (out.size() != before || scheduler.now() >= deadline) return absl::OkStatus();
      scheduler.sleep(std::chrono::ceil<milliseconds>(deadline - scheduler.now()));
    }
  }

  void headers(const kafka::Incoming& incoming, std::vector<Header>& out) override {
    for (const auto& [name, value] : static_cast<StoredRecord*>(incoming.handle)->headers) {
      Header& header = out.emplace_back(Header{name, std::nullopt});
      if (value) header.value = *value;
    }
  }
  void release(std::span<const kafka::Incoming> records) override {
    for (const kafka::Incoming& r : records) delete static_cast<StoredRecord*>(r.handle);
  }
  int64_t known_end(const TopicPartition&) override { return -1; }
  absl::StatusOr<std::vector<kafka::GroupOffset>> group_offsets(const std::vector<TopicPartition>& places,
                                                                int) override {
    RETURN_IF_ERROR(life_.enter("group_offsets").status);
    std::vector<kafka::GroupOffset> out;
    for (const TopicPartition& place : places) {
      const auto topic = life_.world().broker.topics.find(place.topic);
      const bool known =
          topic != life_.world().broker.topics.end() && topic->second.group.contains(place.partition);
      out.push_back(known ? topic->second.group.at(place.partition) : kafka::GroupOffset());
    }
    return out;
  }
  // It answers whenever it can, so nothing is asked.
  void move_group(const std::vector<std::pair<kafka::TopicPartition, kafka::GroupOffset>>& to) override {
    for (const auto& [place, offset] : to) {
      const auto topic = life_.world().broker.topics.find(place.topic);
      if (topic != life_.world().broker.topics.end()) topic->second.group[place.partition] = offset;
    }
  }

 private:
  struct Part {
    TopicPartition place;
    uint32_t tag = 0;
    int64_t position = 0;
    int64_t end_said = -1;
  };

  absl::Status take(Part& part, size_t max, std::vector<kafka::Incoming>& out) {
    const Partition* partition = life_.world().broker.find(part.place);
    if (partition == nullptr) return absl::NotFoundError("unknown topic " + part.place.topic);
    World& world = life_.world();
    if (!options_.ends && part.place.topic == world.input && world.scheduler.now() < world.asked_again)
      return absl::OkStatus();
    if (part.position < partition->low || part.position > partition->end)
      return absl::OutOfRangeError(fmt::format("{}/{}", part.place.topic, part.place.partition));
    const bool committed = options_.isolation == Isolation::committed;
    const int64_t end = committed ? partition->stable_end() : partition->end;
    auto at = std::lower_bound(partition->records.begin(), partition->records.end(), part.position,
                               [](const StoredRecord& r, int64_t offset) { return r.offset < offset; });
    for (; at != partition->records.end() && at->offset < end && max > 0; ++at) {
      part.position = at->offset + 1;
      if (committed && at->state != StoredRecord::State::committed) continue;
      auto* copy = new StoredRecord(*at);
      kafka::Incoming& in = out.emplace_back(kafka::Incoming{.tag = part.tag, .offset = copy->offset});
      in.handle = copy;
      in.timestamp_ms = copy->timestamp_ms;
      in.null_value = !copy->value.has_value();
      if (copy->key) in.key = *copy->key;
      if (copy->value) in.value = *copy->value;
      --max;
    }
    if (max > 0 && part.position <= end) {
      part.position = std::max(part.position, end);
      if (options_.ends && part.end_said != part.position) {
        part.end_said = part.position;
        out.push_back({.tag = part.tag, .end = true, .offset = part.position});
      }
    }
    return absl::OkStatus();
  }

  LifeCluster& life_;
  kafka::ConsumerOptions options_;
  std::vector<Part> assigned_;
};

// Each look is a heartbeat; a member without one during a session counts as dead.
class Member final : public kafka::Membership {
 public:
  Member(LifeCluster& life, kafka::MembershipOptions options) : life_(life), options_(std::move(options)) {}

  absl::StatusOr<std::vector<kafka::TopicPartition>> ours(int wait_ms) override {
    if (!life_.enter("chosen").status.ok()) return places();
    Scheduler& scheduler = life_.world().scheduler;
    Broker::Seat& seat = life_.world().broker.seat;
    if (seat.member != options_.member &&
        scheduler.now() - seat.heard > milliseconds(options_.session_timeout_ms))
      seat.member = options_.member;
    std::vector<Broker::Seat>& all = life_.world().broker.members;
    const auto me =
        std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.member == options_.member; });
    (me != all.end() ? *me : all.emplace_back(Broker::Seat{.member = options_.member})).heard =
        scheduler.now();
    ours_ = seat.member == options_.member;
    if (ours_) seat.heard = scheduler.now();
    if (wait_ms > 0) scheduler.sleep(milliseconds(wait_ms));  // like the library, whatever the answer is
    return places();
  }
  absl::StatusOr<std::vector<std::string>> members() override {
    RETURN_IF_ERROR(life_.enter("members").status);
    std::vector<std::string> out;
    for (const Broker::Seat& m : life_.world().broker.members)
      if (life_.world().scheduler.now() - m.heard <= milliseconds(options_.session_timeout_ms))
        out.push_back(m.member);
    return out;
  }
  std::string credentials() override { return {}; }

 private:
  std::vector<kafka::TopicPartition> places() const {
    if (!ours_) return {};
    return {{options_.topics.front(), 0}};
  }

  LifeCluster& life_;
  kafka::MembershipOptions options_;
  bool ours_ = false;
};

}  // namespace

const char* fault_name(Fault fault) {
  constexpr const char* kNames[kFaults] = {"kill",         "kill_midway",    "pause",          "refuse",
                                           "lose_answer",  "lose_commit",    "storm",          "broker_away",
                                           "forget_marks", "late_marks",     "implied",        "hide_topic",
                                           "compact",      "smaller_events", "recreate_topic", "lose_tail"};
  return kNames[static_cast<int>(fault)];
}

std::string text_of(const Event& e) {
  return fmt::format("life {} call {}: {} ms={} bits={:x}", e.life, e.call, fault_name(e.fault), e.ms,
                     e.bits);
}

absl::StatusOr<std::unique_ptr<kafka::Membership>> LifeCluster::join(
    const kafka::MembershipOptions& options) {
  return std::make_unique<Member>(*this, options);
}

void LifeCluster::faults_due(bool& refuse, bool& lose) {
  ++calls_;
  Scheduler& scheduler = world_.scheduler;
  for (const Event& e : faults_) {
    if (e.call != calls_) continue;
    switch (e.fault) {
      case Fault::kill:
        scheduler.kill(task);
        break;
      case Fault::kill_midway:
        midway = 1 + static_cast<int>(e.bits % 12);
        break;
      case Fault::pause:
        scheduler.sleep(milliseconds(e.ms));
        if (e.ms > world_.transaction_timeout_ms && !open_id.empty() &&
            !world_.broker.fenced(open_id, open_epoch))
          world_.broker.time_out(open_id);
        break;
      case Fault::refuse:
        refuse = true;
        break;
      case Fault::lose_answer:
        lose = true;
        trouble = true;
        break;
      case Fault::lose_commit:
        lose_commit = e.bits;
        break;
      case Fault::storm:
        storm = e.bits;
        break;
      case Fault::broker_away:
        world_.away_until = scheduler.now() + milliseconds(e.ms);
        trouble = true;
        break;
      case Fault::forget_marks:
        forget_bits = e.bits;
        break;
      case Fault::late_marks:
        late = true;
        break;
      case Fault::implied:
        implied = 1 + static_cast<int>(e.bits % 3);
        break;
      case Fault::hide_topic:
        // A process that does not look in between would take two absences for one, and that for a deletion.
        if (scheduler.now() > world_.hidden_until + kSeen)
          world_.hidden_until = scheduler.now() + milliseconds(e.ms);
        break;
      case Fault::compact:
        if (world_.broker.topics.contains(world_.index_log)) world_.broker.compact(world_.index_log);
        break;
      case Fault::smaller_events:
        if (world_.broker.topics.contains(world_.events))
          world_.broker.topics[world_.events].configs["max.message.bytes"] =
              std::to_string(1'400 - e.bits % 300);
        break;
      case Fault::lose_tail:
        world_.away_until = scheduler.now() + milliseconds(2'000);
        trouble = true;
        world_.lose_tail(e.bits);
        break;
      case Fault::recreate_topic:
        world_.recreate_topic(e.bits);
        // A client with an open request is told so, and waits; the others ask as soon as the topic is there
        // again.
        world_.asked_again = scheduler.now() + (e.bits / 7 % 2 == 0 ? kFetchBackoff : kMakesAgain);
        break;
    }
  }
}

void LifeCluster::kill_within(int calls) {
  faults_.push_back({.life = life_, .call = calls_ + calls, .fault = Fault::kill});
}

void LifeCluster::next_of_storm() {
  const uint32_t what = storm & 3;
  storm >>= 2;
  if (what == 1) forget_bits = ~0U;
  if (what == 2) lose_commit = 0;
  if (what == 3) forget_bits = static_cast<uint32_t>(world_.scheduler.below(256));
}

// Sometimes the broker dies, too, and forgets to mark the following abort: then a part of a batch hangs. Not
// if the log has the whole batch, because then no start can know that it was not committed.
void LifeCluster::die_midway() {
  const std::vector<StoredRecord>& log = world_.broker.topics[world_.index_log].partitions[0].records;
  const bool in_log = !log.empty() && log.back().state == StoredRecord::State::open && log.back().value;
  const auto last = in_log ? parse_log_record(*log.back().key, *log.back().value, true)
                           : absl::StatusOr<LogRecord>(absl::NotFoundError(""));
  const bool whole = last.ok() && std::holds_alternative<LogBatch>(*last);
  if (world_.forgets_aborts && in_log && !whole && world_.scheduler.below(2) == 0)
    world_.broker.forget_abort(open_id);
  world_.scheduler.kill(task);
  world_.scheduler.step();
}

LifeCluster::Entry LifeCluster::enter(const char* call) {
  Entry out;
  Scheduler& scheduler = world_.scheduler;
  bool refuse = false;
  faults_due(refuse, out.answer_lost);
  trouble = std::exchange(trouble_next, false) || trouble;
  if (world_.tracing)
    fmt::print(stderr, "{} life {} call {} {}\n", scheduler.unix_ms() % 100'000'000, life_, calls_, call);
  if (++world_.calls > world_.calls_max || world_.broker.did.records > world_.records_max)
    world_.exhausted = true;
  if (world_.exhausted) scheduler.kill(task);
  scheduler.step();
  world_.broker.topics[world_.input].hidden = scheduler.now() < world_.hidden_until;
  if (scheduler.below(4) == 0) world_.broker.mark_late();
  if (scheduler.now() < world_.away_until) {
    trouble = true;
    scheduler.sleep(
        std::min(std::chrono::ceil<milliseconds>(world_.away_until - scheduler.now()), kCallTimeout));
    if (scheduler.now() < world_.away_until) {
      out.status = away(call);
      out.answer_lost = false;
      return out;
    }
  }
  if (refuse || out.answer_lost) out.status = away(call);
  return out;
}

void LifeCluster::at_kill_point() {
  bool refuse = false, lose = false;
  faults_due(refuse, lose);
  world_.scheduler.step();
}

absl::StatusOr<std::string> LifeCluster::id() {
  RETURN_IF_ERROR(enter("id").status);
  return world_.cluster;
}

absl::StatusOr<std::vector<kafka::TopicPartitions>> LifeCluster::topics() {
  RETURN_IF_ERROR(enter("topics").status);
  std::vector<kafka::TopicPartitions> out;
  for (const auto& [name, topic] : world_.broker.topics) {
    if (topic.hidden) continue;
    auto& found = out.emplace_back(kafka::TopicPartitions{.topic = name, .partitions = {}});
    for (size_t p = 0; p < topic.partitions.size(); ++p) found.partitions.push_back(static_cast<int32_t>(p));
  }
  return out;
}

absl::Status LifeCluster::create_topic(const kafka::TopicSpec& spec) {
  RETURN_IF_ERROR(enter("create_topic").status);
  const auto [topic, fresh] = world_.broker.topics.try_emplace(spec.name);
  if (!fresh) return absl::OkStatus();
  topic->second.partitions.resize(spec.partitions);
  for (const auto& [name, value] : spec.configs) topic->second.configs[name] = value;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> LifeCluster::topic_configs(const std::string& topic,
                                                                    const std::vector<std::string>& names) {
  RETURN_IF_ERROR(enter("topic_configs").status);
  const auto found = world_.broker.topics.find(topic);
  if (found == world_.broker.topics.end() || found->second.hidden)
    return absl::NotFoundError("unknown topic " + topic);
  static const std::map<std::string, std::string> defaults{{"cleanup.policy", "delete"},
                                                           {"max.message.bytes", "100000"},
                                                           {"delete.retention.ms", "86400000"},
                                                           {"message.timestamp.type", "CreateTime"},
                                                           {"retention.ms", "604800000"}};
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const auto set = found->second.configs.find(name);
    const auto usual = defaults.find(name);
    out.push_back(set != found->second.configs.end() ? set->second
                  : usual != defaults.end()          ? usual->second
                                                     : "");
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> LifeCluster::topic_ids(const std::vector<std::string>& topics) {
  RETURN_IF_ERROR(enter("topic_ids").status);
  std::vector<std::string> out;
  for (const std::string& name : topics) {
    const auto found = world_.broker.topics.find(name);
    const bool known = world_.reports_ids && found != world_.broker.topics.end() && !found->second.hidden;
    const bool stale = name == world_.input && world_.scheduler.now() < world_.stale_until;
    out.push_back(!known ? "" : stale ? world_.stale_id : world_.broker.id_of(found->second));
  }
  return out;
}

absl::StatusOr<kafka::Watermarks> LifeCluster::watermarks(const TopicPartition& place, Isolation isolation) {
  RETURN_IF_ERROR(enter("watermarks").status);
  const Partition* partition = world_.broker.find(place);
  if (partition == nullptr) return absl::NotFoundError("unknown partition of " + place.topic);
  return kafka::Watermarks{
      .low = partition->low,
      .high = isolation == Isolation::committed ? partition->stable_end() : partition->end};
}

absl::StatusOr<int64_t> LifeCluster::offset_at(const TopicPartition& place, int64_t timestamp_ms) {
  RETURN_IF_ERROR(enter("offset_at").status);
  const Partition* partition = world_.broker.find(place);
  if (partition == nullptr) return absl::NotFoundError("unknown partition of " + place.topic);
  for (const StoredRecord& r : partition->records)
    if (r.timestamp_ms >= timestamp_ms) return r.offset;
  return -1;
}

absl::StatusOr<std::unique_ptr<kafka::TransactionalProducer>> LifeCluster::producer(
    const kafka::TransactionalOptions& options) {
  return std::make_unique<Producer>(*this, options);
}

absl::StatusOr<std::unique_ptr<kafka::Consumer>> LifeCluster::consumer(
    const kafka::ConsumerOptions& options) {
  return std::make_unique<Consumer>(*this, options);
}

}  // namespace doppel::simulation
