#include "kafka/visibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/faults.h"
#include "base/status.h"
#include "formats/decoder.h"
#include "kafka/log_reader.h"

namespace doppel::kafka {
namespace {

// Makes NotFound transient: a partition that we wrote to comes back, or a person restores it.
absl::Status may_come(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace

std::string text_of(const std::vector<TopicPartition>& places) {
  std::string out;
  for (const TopicPartition& p : places)
    out += fmt::format("{}{}/{}", out.empty() ? "" : " ", p.topic, p.partition);
  return out;
}

absl::StatusOr<int64_t> Visibility::end_of(const TopicPartition& where, Isolation isolation) {
  const absl::StatusOr<Watermarks> bounds = cluster_.watermarks(where, isolation);
  if (!bounds.ok()) return may_come(bounds.status());
  return bounds->high;
}
absl::StatusOr<int64_t> Visibility::seen_to(const TopicPartition& where) {
  return end_of(where, Isolation::committed);
}
absl::StatusOr<int64_t> Visibility::stored_to(const TopicPartition& where) {
  return end_of(where, Isolation::uncommitted);
}

absl::StatusOr<std::vector<TopicPartition>> Visibility::hanging(const std::set<std::string>& topics,
                                                                std::chrono::milliseconds patience) {
  struct Suspect {
    TopicPartition where;
    int64_t stored = 0;
  };
  std::vector<Suspect> suspects;
  std::set<std::string> unknown = topics;
  ASSIGN_OR_RETURN(const std::vector<TopicPartitions> found, cluster_.topics());
  for (const TopicPartitions& t : found) {
    if (unknown.erase(t.topic) == 0) continue;
    for (const int32_t partition : t.partitions) {
      Suspect suspect{.where = {t.topic, partition}};
      ASSIGN_OR_RETURN(suspect.stored, stored_to(suspect.where));
      suspects.push_back(std::move(suspect));
    }
  }
  if (!unknown.empty())
    return absl::UnavailableError("kafka: the broker does not know the topic " + *unknown.begin());
  for (const auto deadline = Clock::now() + patience;; Clock::sleep(kStep)) {
    std::vector<Suspect> left;
    for (Suspect& s : suspects) {
      ASSIGN_OR_RETURN(const int64_t seen, seen_to(s.where));
      if (seen < s.stored) left.push_back(std::move(s));
    }
    suspects = std::move(left);
    if (suspects.empty() || Clock::now() >= deadline) break;
  }
  std::vector<TopicPartition> out;
  out.reserve(suspects.size());
  for (Suspect& s : suspects) out.push_back(std::move(s.where));
  return out;
}

absl::StatusOr<bool> Visibility::sees(const TopicPartition& where, const std::vector<int64_t>& offsets,
                                      const LastOfKeys& keys) {
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster_, where));
  const absl::StatusOr<Watermarks> found = reader.bounds();
  if (!found.ok()) return may_come(found.status());
  const Watermarks& bounds = *found;
  if (offsets.front() < bounds.low) return true;  // deleted by retention, which only deletes decided records
  const int64_t end = keys.empty() ? std::min(offsets.back() + 1, bounds.high) : bounds.high;
  bool seen = false;
  absl::Status read = reader.read(offsets.front(), end, [&](const LogMessage& m) -> absl::Status {
    const auto replaced = keys.find(m.key);
    seen = std::binary_search(offsets.begin(), offsets.end(), m.offset) ||
           (replaced != keys.end() && replaced->second < m.offset);
    return seen ? absl::CancelledError() : absl::OkStatus();
  });
  if (!read.ok() && !seen) return may_come(read);
  return seen;
}

// Within one partition readers see all of a transaction or nothing, so one record answers for all.
absl::StatusOr<bool> Visibility::look_up(Outbox& outbox) {
  bool all = true;
  std::map<TopicPartition, std::vector<Outbox::Message*>> parts;
  for (Outbox::Message& m : outbox.messages()) {
    if (m.seen) continue;
    if (m.offset >= 0) {
      parts[{*m.topic, m.stored_in}].push_back(&m);
    } else {
      all = false;
    }
  }
  for (const auto& [where, messages] : parts) {
    std::vector<int64_t> offsets;
    for (const Outbox::Message* m : messages) offsets.push_back(m->offset);
    std::sort(offsets.begin(), offsets.end());
    LastOfKeys keys;
    if (where.topic == compacted_) {
      for (const Outbox::Message* m : messages) {
        if (!m->key) continue;
        int64_t& last = keys[std::string(outbox.view(*m->key))];
        last = std::max(last, m->offset);
      }
    }
    ASSIGN_OR_RETURN(const bool seen, sees(where, offsets, keys));
    if (mutated(Mutation::nothing_is_looked_up)) all = false;
    if (mutated(Mutation::nothing_is_looked_up)) continue;
    for (Outbox::Message* m : messages) m->seen = seen;
    all = all && seen;
  }
  return all;
}

namespace {

constexpr std::chrono::seconds kLong(30);
constexpr std::chrono::minutes kSayAgain(10);
constexpr std::chrono::seconds kPatience(3);  // for the record that begins it
constexpr int kWaitMs = 50;

// -1: not known in time.
absl::StatusOr<int64_t> timestamp_at(Cluster& cluster, const TopicPartition& place, int64_t offset) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Consumer> consumer,
      cluster.consumer(
          {.group = "doppel-witness", .isolation = Isolation::uncommitted, .single_records = true}));
  RETURN_IF_ERROR(consumer->assign({{.place = place, .from = offset}}));
  std::vector<Incoming> incoming;
  for (const auto deadline = Clock::now() + kPatience; Clock::now() < deadline;) {
    const absl::Status polled = consumer->poll(1, kWaitMs, incoming);
    const int64_t out = incoming.empty() ? -1 : incoming.front().timestamp_ms;
    const bool found = !incoming.empty();
    consumer->release(incoming);
    incoming.clear();
    if (found) return out;
    if (!absl::IsUnavailable(polled)) RETURN_IF_ERROR(polled);
  }
  return -1;
}

}  // namespace

std::string OpenTransaction::text() const {
  return fmt::format(
      "a transaction of a producer is open since {} at {}/{} offset {}; {} records wait behind its beginning "
      "until it is committed, aborted, or older than the producer's transaction.timeout.ms",
      since_ms < 0 ? "an unknown time" : format_time(since_ms), place.topic, place.partition, offset, behind);
}

absl::StatusOr<std::optional<OpenTransaction>> open_transaction(Cluster& cluster,
                                                                const TopicPartition& place) {
  ASSIGN_OR_RETURN(const Watermarks committed, cluster.watermarks(place, Isolation::committed));
  ASSIGN_OR_RETURN(const Watermarks all, cluster.watermarks(place, Isolation::uncommitted));
  if (committed.high >= all.high) return std::nullopt;
  OpenTransaction out{.place = place, .offset = committed.high, .behind = all.high - committed.high};
  ASSIGN_OR_RETURN(out.since_ms, timestamp_at(cluster, place, out.offset));
  return out;
}

std::vector<TopicPartition> HeldUp::look(const ConsumerStatistics& now, Clock::time_point at) {
  std::map<TopicPartition, Since> still;
  std::vector<TopicPartition> out;
  for (const ConsumerStatistics::Partition& p : now.partitions) {
    if (p.stable < 0 || p.written <= p.stable || p.queued != 0 || p.fetched < p.stable) continue;
    TopicPartition place{p.topic, p.partition};
    const auto before = held_.find(place);
    const bool same = before != held_.end() && before->second.offset == p.stable;
    Since& since = still[place] = same ? before->second : Since{.offset = p.stable, .since = at};
    if (at - since.since < kLong || (since.named && at - *since.named < kSayAgain)) continue;
    since.named = at;
    out.push_back(std::move(place));
  }
  held_.swap(still);
  return out;
}

}  // namespace doppel::kafka
