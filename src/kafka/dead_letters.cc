#include "kafka/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/strings.h"
#include "kafka/log_reader.h"
#include "kafka/visibility.h"

namespace doppel::kafka {
namespace {

constexpr std::string_view kTopic = "__connect.errors.topic", kPartition = "__connect.errors.partition",
                           kConnector = "__connect.errors.connector.name", kStage = "__connect.errors.stage",
                           kReason = "__connect.errors.exception.message";
constexpr size_t kLettersMost = 500, kBytesMost = 4 << 20;  // of a transaction
constexpr std::chrono::seconds kUndecided(60);              // wait for open transactions

std::string name_of(const TopicPartition& place, int64_t offset) {
  return fmt::format("{}/{}/{}", place.topic, place.partition, offset);
}

std::optional<int64_t> number(std::string_view text) {
  int64_t out = 0;
  return whole_number(text, out) ? std::optional(out) : std::nullopt;
}

// doppel's headers come after the record's own headers, and begin with the topic. False: doppel did not
// write this record.
bool parse(const LogMessage& m, Letter& out) {
  size_t first = m.headers.size();
  while (first > 0 && m.headers[first - 1].name != kTopic) --first;
  if (first == 0) return false;
  out.headers = m.headers.first(first - 1);
  bool ours = false;
  for (const Header& h : m.headers.subspan(first - 1)) {
    const std::string_view value = h.value.value_or(std::string_view());
    if (h.name == kTopic) out.origin.topic = value;
    if (h.name == kPartition) out.origin.partition = static_cast<int32_t>(number(value).value_or(-1));
    if (h.name == kStage) out.stage = value;
    if (h.name == kReason) out.reason = value;
    if (h.name == kConnector) ours = value == "doppel";
    if (h.name.starts_with("doppel.left_out_")) out.whole = false;
  }
  if (m.has_key) out.key = m.key;
  if (m.has_value) out.value = m.value;
  out.offset = m.offset;
  out.timestamp_ms = m.timestamp_ms;
  return ours;
}

// The letter of this partition that a note says was republished.
std::optional<int64_t> noted(const TopicPartition& place, const LogMessage& m) {
  const std::string prefix = fmt::format("{}/{}/", place.topic, place.partition);
  if (m.headers.size() != 1 || m.headers[0].name != kRepublishedHeader) return std::nullopt;
  const std::string_view value = m.headers[0].value.value_or(std::string_view());
  return value.starts_with(prefix) ? number(value.substr(prefix.size())) : std::nullopt;
}

// One transaction of copies and notes.
class Parcel {
 public:
  explicit Parcel(const std::map<std::string, int>& partitions) : partitions_(partitions) {}

  void add(const Letter& letter) {
    const std::string name = name_of(letter.place, letter.offset);
    for (const Header& h : letter.headers)
      if (h.name != kRepublishedHeader) outbox_.header(h.name, h.value);
    outbox_.header(kRepublishedHeader, name);
    std::optional<Outbox::Span> key, value;
    if (letter.key) key = outbox_.put(*letter.key);
    if (letter.value) value = outbox_.put(*letter.value);
    Outbox::Message& copy = outbox_.add(letter.origin.topic, key, value);
    copy.timestamp_ms = std::max<int64_t>(0, letter.timestamp_ms);
    // A topic that was created again may have fewer partitions.
    if (letter.origin.partition < partitions_.at(letter.origin.topic))
      copy.partition = letter.origin.partition;
    outbox_.header(kRepublishedHeader, name);
    // Compacted topics take no record without a key.
    const Outbox::Span note = outbox_.put(name);
    outbox_.add(letter.place.topic, note, outbox_.put("{\"republished\":true}")).partition =
        letter.place.partition;
    letters_.push_back(name);
  }

  bool full() { return letters_.size() >= kLettersMost || outbox_.bytes().size() >= kBytesMost; }
  size_t size() const { return letters_.size(); }
  Outbox& outbox() { return outbox_; }
  // The letters whose copy was refused.
  std::vector<std::string> refused() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < letters_.size(); ++i)
      if (outbox_.messages()[2 * i].refused) out.push_back(letters_[i]);
    return out;
  }
  void clear() {
    outbox_.clear();
    letters_.clear();
  }

 private:
  const std::map<std::string, int>& partitions_;
  Outbox outbox_;
  std::vector<std::string> letters_;  // each has a copy and a note
};

}  // namespace

absl::StatusOr<std::vector<DeadLetters::Extent>> DeadLetters::extents() {
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> topics, cluster_.topics());
  const auto found =
      std::find_if(topics.begin(), topics.end(), [&](const auto& t) { return t.topic == topic_; });
  if (found == topics.end())
    return absl::NotFoundError(
        fmt::format("the topic {} (dead letters) does not exist, or may not be seen", topic_));
  std::vector<Extent> out;
  for (const int32_t partition : found->partitions) {
    Extent& extent = out.emplace_back(Extent{.place = {topic_, partition}, .bounds = {}});
    ASSIGN_OR_RETURN(extent.bounds, cluster_.watermarks(extent.place, Isolation::committed));
  }
  return out;
}

absl::StatusOr<DeadLetters::Notes> DeadLetters::read_notes(const std::vector<Extent>& all) {
  Notes out;
  for (const auto& [place, bounds] : all) {
    ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, place));
    RETURN_IF_ERROR(reader.read(
        bounds.low, bounds.high,
        [&, where = &place](const LogMessage& m) {
          if (const std::optional<int64_t> letter = noted(*where, m)) out[*where].insert(*letter);
          return absl::OkStatus();
        },
        true));
  }
  return out;
}

absl::StatusOr<DeadLetters::Counts> DeadLetters::read(const Visit& visit) {
  ASSIGN_OR_RETURN(const std::vector<Extent> all, extents());
  ASSIGN_OR_RETURN(const Notes notes, read_notes(all));
  return read(all, notes, visit);
}

absl::StatusOr<DeadLetters::Counts> DeadLetters::read(const std::vector<Extent>& all, const Notes& notes,
                                                      const Visit& visit) {
  Counts counts;
  for (const auto& [place, bounds] : all) {
    const auto republished = notes.find(place);
    ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, place));
    RETURN_IF_ERROR(reader.read(
        bounds.low, bounds.high,
        [&, where = &place](const LogMessage& m) -> absl::Status {
          Letter letter{.place = *where};
          if (noted(*where, m)) return absl::OkStatus();
          if (!parse(m, letter)) {
            ++counts.others;
          } else if (republished != notes.end() && republished->second.contains(m.offset)) {
            ++counts.republished;
          } else {
            ++counts.letters;
            return visit(letter);
          }
          return absl::OkStatus();
        },
        true));
  }
  return counts;
}

// Waits until no transaction is open, so that every note of earlier calls can be read.
absl::Status DeadLetters::await_decided() {
  Visibility visibility(cluster_);
  ASSIGN_OR_RETURN(const std::vector<TopicPartition> hanging, visibility.hanging({topic_}, kUndecided));
  if (hanging.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "a transaction has been open in {} for {} s: what was republished before is not known; start again "
      "when it has ended",
      text_of(hanging), kUndecided.count()));
}

absl::StatusOr<DeadLetters::Done> DeadLetters::republish(const Wanted& wanted) {
  TransactionalOptions transactions{.id = "doppel-deadletters-" + topic_};
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> topics, cluster_.topics());
  if (wanted.compress)
    for (const TopicPartitions& t : topics) transactions.compressed_topics.insert(t.topic);
  ASSIGN_OR_RETURN(const std::vector<std::string> configs,
                   cluster_.topic_configs(topic_, {"max.message.bytes"}));
  transactions.batch_bytes_max = number(configs[0]).value_or(transactions.batch_bytes_max);
  Producer producer(cluster_, {.transactions = transactions}, wanted.stop);
  Done done;
  std::optional<uint64_t> noted_at_first;
  while (true) {
    // This fences other processes: only we add copies and notes from now on.
    absl::Status status = producer.reopen();
    if (status.ok()) status = await_decided();
    if (status.ok()) status = send_all(wanted, producer, done, noted_at_first);
    if (status.ok()) return done;
    if (wanted.stop()) return absl::CancelledError("stopped; the same command continues");
    if (absl::IsAborted(status)) {
      return absl::AbortedError(fmt::format(
          "another process republishes letters of {}, or a transaction took too long; start again to go "
          "on: {}",
          topic_, std_sv(status.message())));
    }
    if (absl::IsResourceExhausted(status)) continue;  // without the letters that were too large
    if (!may_pass(status)) return status;
    log::warn("a transaction is made again", {{"says", std_sv(status.message())}});
    Clock::sleep(kAskAgain);
  }
}

absl::Status DeadLetters::send_all(const Wanted& wanted, Producer& producer, Done& done,
                                   std::optional<uint64_t>& noted_at_first) {
  ASSIGN_OR_RETURN(const std::vector<Extent> all, extents());
  ASSIGN_OR_RETURN(const Notes notes, read_notes(all));
  uint64_t noted = 0;
  for (const auto& [place, letters] : notes) noted += letters.size();
  if (!noted_at_first) noted_at_first = noted;
  done.republished = noted - *noted_at_first;  // by our earlier transactions

  std::map<std::string, int> partitions;
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> topics, cluster_.topics());
  for (const TopicPartitions& t : topics) partitions[t.topic] = static_cast<int>(t.partitions.size());
  Parcel parcel(partitions);
  const auto send = [&]() -> absl::Status {
    if (parcel.size() == 0) return absl::OkStatus();
    Outbox* const outboxes[] = {&parcel.outbox()};
    const absl::Status status = producer.send(outboxes);
    if (absl::IsResourceExhausted(status)) {
      const std::vector<std::string> refused = parcel.refused();
      if (refused.empty()) return absl::InternalError(status.message());
      done.too_large.insert(refused.begin(), refused.end());
    }
    RETURN_IF_ERROR(status);
    done.republished += parcel.size();
    parcel.clear();
    return absl::OkStatus();
  };
  const auto take = [&](const Letter& letter) -> absl::Status {
    if (wanted.stop()) return absl::CancelledError("stopped");
    if (!letter.whole || !partitions.contains(letter.origin.topic) || !wanted.chosen(letter) ||
        done.too_large.contains(name_of(letter.place, letter.offset)))
      return absl::OkStatus();
    parcel.add(letter);
    return parcel.full() ? send() : absl::OkStatus();
  };
  RETURN_IF_ERROR(read(all, notes, take).status());
  return send();
}

}  // namespace doppel::kafka
