#include "kafka/same_topic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/faults.h"
#include "base/status.h"

namespace doppel::kafka {

SameTopic is_same_topic(IdIs id, Found found, Left left, Note note) {
  switch (id) {
    case IdIs::other:
      return SameTopic::read_again;
    case IdIs::former:
      return SameTopic::wait;
    case IdIs::same:
      if (!differs(found)) return SameTopic::go_on;
      if (found == Found::gone) return SameTopic::wait;
      return mutated(Mutation::a_lost_tail_is_a_new_topic) ? SameTopic::read_again : SameTopic::lost;
    case IdIs::unknown:
      break;
  }
  if (found == Found::same) return SameTopic::go_on;
  if (found == Found::removed) {
    const bool known = left == Left::some || note == Note::kept || note == Note::never;
    return known ? SameTopic::go_on : SameTopic::unclear;
  }
  if (found == Found::gone) return left == Left::some ? SameTopic::wait : SameTopic::read_again;
  if (note == Note::kept) {
    if (mutated(Mutation::a_lost_tail_is_a_new_topic)) return SameTopic::read_again;
    return left == Left::none ? SameTopic::read_all : SameTopic::lost;
  }
  return note == Note::gone && left != Left::some ? SameTopic::read_again : SameTopic::unclear;
}

namespace {

constexpr std::chrono::seconds kPatience(3);
constexpr int kWaitMs = 50;

Found found(const LastRead& last, const Incoming& record) {
  if (record.end && record.offset <= last.offset) return Found::ended;
  if (record.offset > last.offset) return Found::hole;
  const bool equal =
      record.timestamp_ms == last.timestamp_ms && (!last.checksum || *last.checksum == checksum_of(record));
  return equal ? Found::same : Found::another;
}

}  // namespace

uint32_t checksum_of(std::string_view key, std::string_view value) { return crc32c(value, crc32c(key)); }

absl::StatusOr<std::unique_ptr<TopicComparer>> TopicComparer::open(Cluster& cluster) {
  ASSIGN_OR_RETURN(std::unique_ptr<Consumer> consumer,
                   cluster.consumer({.group = "doppel-witness", .ends = true, .single_records = true}));
  return std::unique_ptr<TopicComparer>(new TopicComparer(cluster, std::move(consumer)));
}

absl::StatusOr<std::vector<Found>> TopicComparer::compare(std::span<const LastRead> records) {
  std::vector<std::optional<Found>> answers(records.size());
  std::vector<Consumer::Assignment> assigned;
  assigned.reserve(records.size());
  for (size_t i = 0; i < records.size(); ++i)
    assigned.push_back(
        {.place = records[i].place, .from = records[i].offset, .tag = static_cast<uint32_t>(i)});
  RETURN_IF_ERROR(consumer_->assign(assigned));
  const absl::Status status = read(records, answers);
  consumer_->unassign();
  RETURN_IF_ERROR(status);
  std::vector<Found> out;
  out.reserve(answers.size());
  for (size_t i = 0; i < records.size(); ++i) {
    out.push_back(*answers[i]);
    if (out.back() != Found::hole) continue;
    ASSIGN_OR_RETURN(const bool compacted, is_compacted(records[i].place.topic));
    if (compacted) out.back() = Found::removed;
  }
  return out;
}

absl::Status TopicComparer::read(std::span<const LastRead> records, std::vector<std::optional<Found>>& out) {
  const auto deadline = Clock::now() + kPatience;
  std::vector<Incoming> incoming;
  while (std::any_of(out.begin(), out.end(), [](const auto& answer) { return !answer; })) {
    incoming.clear();
    const absl::Status polled = consumer_->poll(records.size(), kWaitMs, incoming);
    for (const Incoming& r : incoming) {
      if (!out[r.tag]) out[r.tag] = found(records[r.tag], r);
    }
    consumer_->release(incoming);
    if (absl::IsOutOfRange(polled)) {  // the error does not say which partition
      RETURN_IF_ERROR(find_outside(records, out));
    } else if (!absl::IsUnavailable(polled)) {
      RETURN_IF_ERROR(polled);
    }
    if (Clock::now() > deadline) {
      return absl::UnavailableError(
          fmt::format("the last record read from {} could not be read again", records.front().place.topic));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TopicComparer::is_compacted(const std::string& topic) {
  if (mutated(Mutation::holes_are_compacted)) return true;
  const absl::StatusOr<std::vector<std::string>> policy = cluster_.topic_configs(topic, {"cleanup.policy"});
  if (absl::IsPermissionDenied(policy.status())) return false;
  RETURN_IF_ERROR(policy.status());
  return policy->front().find("compact") != std::string::npos;
}

// Answers for partitions that end before the record or begin behind it.
absl::Status TopicComparer::find_outside(std::span<const LastRead> records,
                                         std::vector<std::optional<Found>>& out) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (out[i]) continue;
    ASSIGN_OR_RETURN(const Watermarks marks, cluster_.watermarks(records[i].place, Isolation::committed));
    if (marks.high <= records[i].offset) out[i] = Found::ended;
    if (marks.low > records[i].offset) out[i] = Found::removed;
  }
  return absl::OkStatus();
}

std::string group_note(const LogProgress& progress) {
  return fmt::format("doppel {} {} {}", progress.next, progress.incarnation, progress.last_ms);
}

std::optional<LogProgress> parse_group_note(std::string_view note) {
  constexpr std::string_view kOurs = "doppel ";
  if (!note.starts_with(kOurs)) return std::nullopt;
  note.remove_prefix(kOurs.size());
  std::array<int64_t, 3> numbers{};
  for (int64_t& number : numbers) {
    const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), number);
    if (error != std::errc()) return std::nullopt;
    note.remove_prefix(static_cast<size_t>(end - note.data()));
    if (note.starts_with(' ')) note.remove_prefix(1);
  }
  if (!note.empty() || numbers[0] < 0 || numbers[1] < 1 || numbers[1] > UINT32_MAX) return std::nullopt;
  return LogProgress{
      .next = numbers[0], .incarnation = static_cast<uint32_t>(numbers[1]), .last_ms = numbers[2]};
}

}  // namespace doppel::kafka
