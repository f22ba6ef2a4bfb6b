#include "kafka/rescue.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/faults.h"
#include "base/status.h"
#include "base/strings.h"
#include "kafka/log_reader.h"
#include "state/index_log.h"

namespace doppel::kafka {
namespace {

constexpr std::string_view kBetter = "/better";  // behind the event_id of a better copy

using Read = std::function<void(const LogMessage&)>;

// Reads the records that are stored but that readers do not see.
absl::Status read_unseen(Cluster& cluster, const TopicPartition& place, const Read& read) {
  ASSIGN_OR_RETURN(const Watermarks seen, cluster.watermarks(place, Isolation::committed));
  ASSIGN_OR_RETURN(const Watermarks stored, cluster.watermarks(place, Isolation::uncommitted));
  ASSIGN_OR_RETURN(LogReader reader, LogReader::open(cluster, place, Isolation::uncommitted));
  return reader.read(
      seen.high, stored.high,
      [&](const LogMessage& m) {
        read(m);
        return absl::OkStatus();
      },
      true);
}

// The part of the log that hangs. Each batch ends with the number of its records.
struct HangingLog {
  bool whole = true;                // all its batches are complete
  std::vector<std::string> owners;  // from the owner records in complete batches
  int64_t followed_to = 0;          // behind the last complete batch that a record follows
};
absl::StatusOr<HangingLog> read_hanging_log(Cluster& cluster, const TopicPartition& log) {
  HangingLog out;
  std::vector<std::string> owners;  // of the current batch
  uint64_t records = 0;
  int64_t batch_end = 0;
  RETURN_IF_ERROR(read_unseen(cluster, log, [&](const LogMessage& m) {
    if (records++ == 0 && out.whole) out.followed_to = batch_end;
    const absl::StatusOr<LogRecord> record = parse_log_record(m.key, m.value, m.has_value);
    if (!record.ok()) {
      out.whole = false;
      return;
    }
    if (const auto* o = std::get_if<LogOwner>(&*record)) owners.push_back(o->owner);
    const auto* batch = std::get_if<LogBatch>(&*record);
    if (batch == nullptr) return;
    if (batch->records == records) {
      out.owners.insert(out.owners.end(), owners.begin(), owners.end());
    } else {
      out.whole = false;
    }
    owners.clear();
    records = 0;
    batch_end = m.offset + 1;
  }));
  out.whole = (out.whole && records == 0) || mutated(Mutation::any_part_is_whole);
  return out;
}

void keep(const TopicPartition& place, const LogMessage& m, Outbox& out) {
  std::optional<Outbox::Span> key, value;
  out.headers(m.headers);
  if (m.key.data() != nullptr) key = out.put(m.key);
  if (m.has_value) value = out.put(m.value);
  Outbox::Message& message = out.add(place.topic, key, value);
  message.partition = message.stored_in = place.partition;
  message.timestamp_ms = m.timestamp_ms;
  message.offset = m.offset;
}

}  // namespace

std::optional<InputPlace> document_of(std::span<const Header> headers) {
  InputPlace out;
  bool partition = false, offset = false;
  for (const Header& h : headers) {
    const std::string_view value = h.value.value_or(std::string_view());
    if (h.name == "__connect.errors.topic") out.topic = value;
    if (h.name == "__connect.errors.partition") partition = whole_number(value, out.partition);
    if (h.name == "__connect.errors.offset") offset = whole_number(value, out.offset);
    if (h.name == kIncarnationHeader) whole_number(value, out.incarnation);
    if (h.name != "ce_id") continue;
    std::string_view id = value;
    if (id.ends_with(kBetter)) id.remove_suffix(kBetter.size());
    const size_t last = id.rfind('/'), middle = last == 0 ? 0 : id.rfind('/', last - 1);
    if (last == std::string_view::npos || middle == std::string_view::npos) continue;
    const std::string_view topic = id.substr(0, middle);
    const size_t at = topic.find('@');
    out.topic = topic.substr(0, at);
    if (at != std::string_view::npos) whole_number(topic.substr(at + 1), out.incarnation);
    partition = whole_number(id.substr(middle + 1, last - middle - 1), out.partition);
    offset = whole_number(id.substr(last + 1), out.offset);
  }
  if (out.topic.empty() || !partition || !offset) return std::nullopt;
  return out;
}

absl::StatusOr<Hanging> read_hanging(Cluster& cluster, const TopicPartition& log,
                                     const std::vector<TopicPartition>& places, const Covers& covers,
                                     Outbox& committed) {
  Hanging out;
  const bool log_hangs = std::find(places.begin(), places.end(), log) != places.end();
  if (log_hangs) {
    ASSIGN_OR_RETURN(const HangingLog hanging, read_hanging_log(cluster, log));
    out.log_is_whole = hanging.whole;
  }
  for (const TopicPartition& place : places) {
    if (place != log || !out.log_is_whole) out.drop.push_back(place);
    if (log_hangs && !out.log_is_whole) continue;
    RETURN_IF_ERROR(read_unseen(cluster, place, [&](const LogMessage& m) {
      const std::optional<InputPlace> about = log_hangs ? std::nullopt : document_of(m.headers);
      if (!about || covers(*about)) keep(place, m, committed);
    }));
  }
  return out;
}

absl::Status read_hanging_batches(Cluster& cluster, const TopicPartition& log, Outbox& committed,
                                  std::map<TopicPartition, LogProgress>& progress) {
  ASSIGN_OR_RETURN(const HangingLog hanging, read_hanging_log(cluster, log));
  if (hanging.followed_to == 0) return absl::OkStatus();
  return read_unseen(cluster, log, [&](const LogMessage& m) {
    if (m.offset >= hanging.followed_to) return;
    keep(log, m, committed);
    const absl::StatusOr<LogRecord> record = parse_log_record(m.key, m.value, m.has_value);
    const auto* p = record.ok() ? std::get_if<LogProgress>(&*record) : nullptr;
    if (p != nullptr) progress[{p->topic, p->partition}] = *p;
  });
}

absl::StatusOr<bool> read_covered(Cluster& cluster, const std::vector<TopicPartition>& places,
                                  const Covers& covers, Outbox& committed) {
  bool named = true;
  for (const TopicPartition& place : places) {
    RETURN_IF_ERROR(read_unseen(cluster, place, [&](const LogMessage& m) {
      const std::optional<InputPlace> about = document_of(m.headers);
      named = named && about;
      if (about && covers(*about)) keep(place, m, committed);
    }));
  }
  return named;
}

absl::StatusOr<std::optional<std::string>> hanging_claim(Cluster& cluster, const TopicPartition& log,
                                                         const std::string& us) {
  ASSIGN_OR_RETURN(const HangingLog hanging, read_hanging_log(cluster, log));
  for (const std::string& owner : hanging.owners)
    if (owner != us) return owner;
  return std::nullopt;
}

}  // namespace doppel::kafka
