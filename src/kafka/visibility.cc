#include "kafka/visibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/faults.h"
#include "base/status.h"
#include "kafka/log_reader.h"

namespace doppel::kafka {
namespace {

// Makes NotFound transient: a partition that we wrote to comes back, or a person restores it.
absl::Status may_come(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace

std::string text_of(const std::vector<Place>& places) {
  std::string out;
  for (const Place& p : places) out += fmt::format("{}{}/{}", out.empty() ? "" : " ", p.topic, p.partition);
  return out;
}

absl::StatusOr<int64_t> Visibility::end_of(const Place& where, Isolation isolation) {
  const absl::StatusOr<Watermarks> bounds = cluster_.watermarks(where, isolation);
  if (!bounds.ok()) return may_come(bounds.status());
  return bounds->high;
}
absl::StatusOr<int64_t> Visibility::seen_to(const Place& where) {
  return end_of(where, Isolation::committed);
}
absl::StatusOr<int64_t> Visibility::stored_to(const Place& where) {
  return end_of(where, Isolation::uncommitted);
}

absl::StatusOr<std::vector<Place>> Visibility::hanging(const std::set<std::string>& topics,
                                                       std::chrono::milliseconds patience) {
  struct Suspect {
    Place where;
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
  std::vector<Place> out;
  out.reserve(suspects.size());
  for (Suspect& s : suspects) out.push_back(std::move(s.where));
  return out;
}

absl::StatusOr<bool> Visibility::sees(const Place& where, const std::vector<int64_t>& offsets,
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
  std::map<Place, std::vector<Outbox::Message*>> parts;
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

}  // namespace doppel::kafka
