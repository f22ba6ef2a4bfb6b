#include "signing/sign_topic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/status.h"
#include "kafka/log_reader.h"
#include "kafka/same_topic.h"
#include "kafka/topics.h"
#include "kafka/topics/named_topics.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr std::chrono::milliseconds kPause(500);
constexpr int kAskGroupMs = 10'000;
constexpr std::chrono::seconds kLookAgain(1);
// Brokers look every ten seconds for transactions that took too long.
constexpr std::chrono::seconds kEnding(15);
// The transactional id of the signer, in the first record of each transaction.
constexpr std::string_view kSignerHeader = "doppel.signer";

struct SignedBy {
  uint64_t fingerprint = 0;  // of the scheme
  SignedOrigin origin;       // its source points into the record
};

// Nullopt: it is not a signed record.
std::optional<SignedBy> read_origin(std::string_view record, int num_perm) {
  const absl::StatusOr<uint64_t> fingerprint = fingerprint_of_signed_record(record);
  if (!fingerprint.ok()) return std::nullopt;
  SignedBy out{.fingerprint = *fingerprint, .origin = {}};
  SignedDocument document;
  std::vector<uint8_t> slices(static_cast<size_t>(num_perm));
  if (!decode_signed_record(record, *fingerprint, num_perm, out.origin, document, slices.data()).ok())
    return std::nullopt;
  return out;
}

// A signed record of no document: its commit makes earlier records of its transactional id visible.
std::string nothing_behind(uint64_t fingerprint, const SignedOrigin& origin) {
  SignedDocument document;
  document.content = Content::skipped;
  document.reason = message_of(Reason::repeated);
  encode_metadata({}, document.metadata);
  std::string out;
  encode_signed_record(
      fingerprint,
      {.source = origin.source, .partition = origin.partition, .begin = origin.end, .end = origin.end},
      document, {}, out);
  return out;
}

// Checks that the topic has one partition and accepts the largest record; creates it if it is missing.
// Returns its max.message.bytes.
absl::StatusOr<int64_t> look_at_topic(const Options& o, kafka::Cluster& cluster, const std::string& topic) {
  const kafka::TopicSpec spec = signed_topic(o, topic);
  const int64_t needed = static_cast<int64_t>(o.max_record) + kBesidesSet;
  ASSIGN_OR_RETURN(std::vector<kafka::TopicPartitions> found, kafka::find_topics(cluster, {{topic}, {}}));
  if (found.empty()) {
    if (!o.kafka.create_topics) {
      return absl::NotFoundError(
          fmt::format("the topic {} (signed records) does not exist, or is not visible to this user; set "
                      "kafka.create_topics: true, or "
                      "run:\n  {}",
                      topic, kafka::command_to_make(spec, o.kafka.brokers)));
    }
    RETURN_IF_ERROR(kafka::make_topic(cluster, spec));
    ASSIGN_OR_RETURN(found, kafka::find_topics(cluster, {{topic}, {}}));
    if (found.empty())
      return absl::UnavailableError(fmt::format("the topic {} was only just created", topic));
  }
  if (found.front().partitions.size() != 1)
    return invalid(one_partition(topic, found.front().partitions.size()));
  ASSIGN_OR_RETURN(const std::vector<std::string> configs,
                   cluster.topic_configs(topic, {"max.message.bytes"}));
  int64_t most = 0;
  std::from_chars(configs[0].data(), configs[0].data() + configs[0].size(), most);
  if (most >= needed) return most;
  return invalid(fmt::format(
      "the topic {} (signed records): max.message.bytes is {}, and max_record ({}) needs {}; run:\n  "
      "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {} --add-config "
      "max.message.bytes={}",
      topic, most, o.max_record, needed, o.kafka.brokers, topic, needed));
}

}  // namespace

absl::Status patiently(const std::function<bool()>& stop, const std::function<absl::Status()>& call) {
  bool warned = false;
  while (true) {
    absl::Status status = call();
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    if (stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!std::exchange(warned, true)) log::warn("waiting for Kafka", {{"says", std_sv(status.message())}});
    Clock::sleep(kPause);
  }
}

SignedTopic::SignedTopic(kafka::Cluster& cluster, To to, int64_t most, std::function<bool()> stop)
    : cluster_(cluster),
      to_(std::move(to)),
      most_(most),
      stop_(std::move(stop)),
      order_{to_.topic, 0},
      visibility_(cluster),
      producer_(cluster,
                {.transactions = {.id = to_.transactional_id,
                                  .transaction_timeout_ms = to_.transaction_timeout_ms,
                                  .batch_bytes_max = most}},
                stop_) {}

absl::StatusOr<std::unique_ptr<SignedTopic>> SignedTopic::open(const Options& o, kafka::Cluster& cluster,
                                                               To to, const std::function<bool()>& stop) {
  if (std::find(o.kafka.topics.begin(), o.kafka.topics.end(), to.topic) != o.kafka.topics.end())
    return invalid(fmt::format(
        "{} is one of kafka.topics, which are read; name another topic for signed records", to.topic));
  int64_t most = 0;
  RETURN_IF_ERROR(patiently(stop, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(most, look_at_topic(o, cluster, to.topic));
    return absl::OkStatus();
  }));
  std::unique_ptr<SignedTopic> out(new SignedTopic(cluster, std::move(to), most, stop));
  RETURN_IF_ERROR(out->producer_.reopen());
  out->producer_.know_topic(out->to_.topic);
  if (out->to_.group.empty()) return out;
  out->commit_as({});
  ASSIGN_OR_RETURN(out->decided_, cluster.consumer({.group = out->to_.group}));
  ASSIGN_OR_RETURN(out->committed_,
                   cluster.consumer({.group = out->to_.group, .isolation = kafka::Isolation::uncommitted}));
  return out;
}

void SignedTopic::commit_as(std::string credentials) {
  credentials_ = std::move(credentials);
  producer_.send_offsets_as({to_.group, credentials_});
}

absl::StatusOr<std::vector<LogProgress>> SignedTopic::progress(
    const std::vector<kafka::TopicPartition>& places) {
  std::vector<LogProgress> out;
  RETURN_IF_ERROR(patiently(stop_, [&]() -> absl::Status {
    // The brokers do not tell offsets of a partition while a transaction with some of it is open.
    look_after();
    ASSIGN_OR_RETURN(out, progress_by(*decided_, places));
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<std::vector<LogProgress>> SignedTopic::progress_by(
    kafka::Consumer& reader, const std::vector<kafka::TopicPartition>& places) {
  std::vector<LogProgress> out;
  if (places.empty()) return out;
  ASSIGN_OR_RETURN(const std::vector<kafka::GroupOffset> offsets, reader.group_offsets(places, kAskGroupMs));
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [offset, note] = offsets[i];
    if (offset < 0) continue;
    LogProgress p{.topic = places[i].topic, .partition = places[i].partition, .next = offset};
    if (const std::optional<LogProgress> noted = kafka::parse_group_note(note)) {
      p.written_ms = Clock::unix_ms();  // the note is there now
      p.incarnation = noted->incarnation;
      if (noted->next == offset) p.last_ms = noted->last_ms;  // otherwise someone moved the group's offset
    }
    out.push_back(std::move(p));
  }
  return out;
}

absl::Status SignedTopic::begin(const std::vector<LogProgress>& beginnings) {
  outbox_.clear();
  if (beginnings.empty()) return absl::OkStatus();
  outbox_.progress = beginnings;
  return send();
}

size_t SignedTopic::bytes_max() const { return static_cast<size_t>(most_ - kBesidesSet / 2); }

absl::Status SignedTopic::write(const SignedBatchOut& out) {
  outbox_.clear();
  for (size_t i = 0; i < out.signed_records.size(); ++i) add(out.batch.records[i], out.signed_records[i]);
  if (!to_.group.empty()) advance(out.batch);
  const auto begun = Clock::now();
  const auto throttled = producer_.throttled();
  RETURN_IF_ERROR(send());
  const auto now = Clock::now();
  if (to_.pace != nullptr)
    to_.pace->settled(out.batch.records.size(), out.batch.bytes, now - begun,
                      producer_.throttled() - throttled, now);
  return absl::OkStatus();
}

void SignedTopic::add(const Record& record, const std::string& bytes) {
  const size_t key = record.key ? record.key->size() : 0;
  const bool with_key = static_cast<int64_t>(bytes.size() + key) + kBesidesSet / 2 <= most_;
  outbox_.header(kSchemeHeader, to_.scheme);
  if (!to_.group.empty() && outbox_.messages().empty()) outbox_.header(kSignerHeader, to_.transactional_id);
  std::optional<kafka::Outbox::Span> key_at;
  if (record.key && with_key) key_at = outbox_.put(*record.key);
  outbox_.add(to_.topic, key_at, outbox_.put(bytes)).partition = 0;
}

void SignedTopic::advance(const Batch& batch) {
  for (const Record& record : batch.records) {
    std::vector<LogProgress>& moved = outbox_.progress;
    auto at = std::find_if(moved.begin(), moved.end(), [&](const LogProgress& p) {
      return p.partition == record.partition && p.topic == record.source;
    });
    if (at == moved.end())
      at = moved.insert(moved.end(), {.topic = std::string(record.source), .partition = record.partition});
    at->next = static_cast<int64_t>(record.offset) + 1;
    at->incarnation = record.incarnation;
    at->last_ms = record.timestamp_ms;
  }
}

absl::Status SignedTopic::send() {
  const absl::Status status = try_send();
  refused_ = absl::IsFailedPrecondition(status);
  return status;
}

// Sends one transaction, and repeats it until its outcome is known.
absl::Status SignedTopic::try_send() {
  kafka::Outbox* const all[] = {&outbox_};
  while (true) {
    absl::Status status = producer_.send(all);
    bool committed = status.ok();
    if (committed && !producer_.troubled()) return status;
    if (!committed) {
      // The transactional id of a group member is unique, so Aborted means that the broker ended its
      // transaction after the timeout.
      const bool replaced = absl::IsAborted(status) && to_.group.empty();
      const bool refused = absl::IsFailedPrecondition(status);
      if (replaced || (!kafka::may_pass(status) && !refused)) return explained(status);
      if (stop_()) return absl::CancelledError("stopped while waiting for Kafka");
      if (!refused) log::warn("repeating a transaction", {{"says", std_sv(status.message())}});
      RETURN_IF_ERROR(explained(producer_.reopen()));
      if (refused) return status;
      ASSIGN_OR_RETURN(committed, is_committed());
    }
    if (committed) {
      ASSIGN_OR_RETURN(const bool seen, await_readers());
      if (seen) return absl::OkStatus();
    }
    for (kafka::Outbox::Message& message : outbox_.messages()) message.offset = -1;
  }
}

// If the broker forgot the mark of the batch, the next abort of our transactional id would discard it,
// although the group's offsets are behind it. False: it was discarded.
absl::StatusOr<bool> SignedTopic::await_readers() {
  std::vector<int64_t> offsets;
  for (const kafka::Outbox::Message& m : outbox_.messages()) offsets.push_back(m.offset);
  if (to_.group.empty() || offsets.empty()) return true;
  std::sort(offsets.begin(), offsets.end());
  const auto deadline = Clock::now() + kafka::kMarking;
  bool seen = false;
  const auto look = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int64_t end, visibility_.seen_to(order_));
    if (end > offsets.back()) {
      ASSIGN_OR_RETURN(seen, visibility_.sees(order_, offsets));
      return absl::OkStatus();
    }
    const bool ours = std::binary_search(offsets.begin(), offsets.end(), end);
    if (Clock::now() <= deadline || !ours) return absl::CancelledError();
    RETURN_IF_ERROR(settle(end));
    RETURN_IF_ERROR(producer_.reopen());
    return absl::CancelledError();
  };
  while (true) {
    absl::Status status = look();
    if (status.ok()) break;
    if (!absl::IsCancelled(status) && !kafka::may_pass(status)) return status;
    if (stop_()) return absl::CancelledError("stopped while readers did not see the last batch");
    look_after();
    Clock::sleep(kafka::kStep);
  }
  producer_.forget_trouble();
  return seen;
}

void SignedTopic::look_after() {
  const auto now = Clock::now();
  if (to_.group.empty() || now < next_look_) return;
  next_look_ = now + kLookAgain;
  const absl::StatusOr<int64_t> seen = visibility_.seen_to(order_);
  const absl::StatusOr<int64_t> stored = visibility_.stored_to(order_);
  if (!seen.ok() || !stored.ok()) return;
  const int64_t hidden = *seen < *stored ? *seen : -1;
  if (hidden != hidden_.from) hidden_ = {.from = hidden, .since = now};
  const auto patience = std::chrono::milliseconds(to_.transaction_timeout_ms) + kEnding;
  if (hidden < 0 || now - hidden_.since < patience) return;
  hidden_.since = now;  // another signer may be doing the same, or the group may change: then once more
  if (const absl::Status status = settle(hidden); !status.ok())
    log::warn("a transaction that hides later signed records could not be ended; trying again",
              {{"topic", to_.topic}, {"offset", hidden}, {"says", std_sv(status.message())}});
}

absl::Status SignedTopic::settle(int64_t offset) {
  std::string signer, bytes;
  ASSIGN_OR_RETURN(kafka::LogReader reader,
                   kafka::LogReader::open(cluster_, order_, kafka::Isolation::uncommitted));
  RETURN_IF_ERROR(reader.read(
      offset, offset + 1,
      [&](const kafka::LogMessage& m) {
        if (m.offset != offset) return absl::OkStatus();
        bytes = m.value;
        for (const Header& header : m.headers)
          if (header.name == kSignerHeader && header.value) signer = *header.value;
        return absl::OkStatus();
      },
      /*with_headers=*/true));
  const std::optional<SignedBy> first = read_origin(bytes, to_.num_perm);
  if (signer.empty() || !first) return absl::OkStatus();  // not a signer's, or one of an earlier version
  log::warn("a transaction of a signer hides later signed records; ending it",
            {{"topic", to_.topic}, {"offset", offset}, {"transactional_id", signer}});
  kafka::Producer instead(cluster_,
                          {.transactions = {.id = signer,
                                            .transaction_timeout_ms = to_.transaction_timeout_ms,
                                            .batch_bytes_max = most_}},
                          stop_);
  RETURN_IF_ERROR(instead.reopen());  // ends it if it is open
  for (const auto deadline = Clock::now() + kafka::kMarking; Clock::now() < deadline;) {
    ASSIGN_OR_RETURN(const int64_t seen, visibility_.seen_to(order_));
    if (seen > offset) return absl::OkStatus();
    Clock::sleep(kafka::kStep);
  }
  const kafka::TopicPartition input{std::string(first->origin.source), first->origin.partition};
  ASSIGN_OR_RETURN(const std::vector<LogProgress> group, progress_by(*committed_, {input}));
  ASSIGN_OR_RETURN(const bool committed, was_committed(offset, first->origin, group));
  log::warn("the broker has ended the transaction without marking its records",
            {{"outcome", committed ? "committed" : "aborted"}});
  if (!committed) {
    instead.send_offsets_as({to_.group, credentials_});
    return instead.drop_hanging(
        {order_},
        group.empty() ? std::vector{LogProgress{.topic = input.topic, .partition = input.partition}} : group);
  }
  kafka::Outbox outbox;
  outbox.header(kSchemeHeader, to_.scheme);
  outbox.header(kSignerHeader, signer);
  outbox.add(to_.topic, std::nullopt, outbox.put(nothing_behind(first->fingerprint, first->origin)))
      .partition = 0;
  kafka::Outbox* const all[] = {&outbox};
  return instead.send(all);
}

// The group's offsets are part of the transaction. If both hang, nobody has seen either, and both are
// dropped. If the offsets are behind the record because another signer signed the document again, its record
// follows.
absl::StatusOr<bool> SignedTopic::was_committed(int64_t offset, const SignedOrigin& origin,
                                                const std::vector<LogProgress>& group) {
  if (group.empty() || static_cast<uint64_t>(group.front().next) < origin.end) return false;
  ASSIGN_OR_RETURN(const int64_t end, visibility_.stored_to(order_));
  ASSIGN_OR_RETURN(kafka::LogReader reader,
                   kafka::LogReader::open(cluster_, order_, kafka::Isolation::uncommitted));
  bool again = false;
  RETURN_IF_ERROR(reader.read(offset + 1, end, [&](const kafka::LogMessage& m) {
    const std::optional<SignedBy> other = read_origin(m.value, to_.num_perm);
    again = again ||
            (other && other->origin.source == origin.source && other->origin.partition == origin.partition &&
             other->origin.begin < origin.end && other->origin.end >= origin.end);
    return absl::OkStatus();
  }));
  return !again;
}

absl::Status SignedTopic::explained(const absl::Status& status) const {
  if (!absl::IsAborted(status)) return status;
  return absl::AbortedError(fmt::format(
      "another doppel sign writes to {}, or a transaction took too long: {}; restart it to continue",
      to_.topic, std_sv(status.message())));
}

// Decides by the offsets of the transaction. If another member owns some of the partitions now, the result is
// unknown: that member continues at the group's offsets.
absl::StatusOr<bool> SignedTopic::is_committed() {
  if (to_.group.empty() || outbox_.progress.empty()) return false;
  std::vector<kafka::TopicPartition> places;
  places.reserve(outbox_.progress.size());
  for (const LogProgress& p : outbox_.progress) places.push_back({p.topic, p.partition});
  ASSIGN_OR_RETURN(const std::vector<LogProgress> now, progress(places));
  const auto reached = std::count_if(now.begin(), now.end(), [&](const LogProgress& p) {
    return std::any_of(outbox_.progress.begin(), outbox_.progress.end(), [&](const LogProgress& ours) {
      return ours.topic == p.topic && ours.partition == p.partition &&
             std::pair(p.incarnation, p.next) >= std::pair(ours.incarnation, ours.next);
    });
  });
  if (reached == 0) return false;
  if (static_cast<size_t>(reached) == places.size()) return true;
  return absl::FailedPreconditionError("another signer owns some of these partitions");
}

}  // namespace doppel
