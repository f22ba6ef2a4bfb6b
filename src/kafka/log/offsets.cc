#include "kafka/log/offsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "base/faults.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/decoder.h"
#include "kafka/same_topic.h"

namespace doppel {
namespace {

constexpr std::string_view kSet = "set ", kForget = "forget ";

}  // namespace

absl::StatusOr<OffsetsWanted> OffsetsWanted::parse(std::string_view line) {
  OffsetsWanted out;
  if (line.starts_with(kForget)) {
    out.forget = line.substr(kForget.size());
    return out;
  }
  if (!line.starts_with(kSet)) return invalid("a request for offsets must begin with set or forget");
  line.remove_prefix(kSet.size());
  while (!line.empty()) {
    const size_t space = std::min(line.find(' '), line.size());
    if (space != 0) {
      ASSIGN_OR_RETURN(ChosenOffset chosen, parse_chosen_offset(line.substr(0, space)));
      out.set.push_back(std::move(chosen));
    }
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return out;
}

std::string OffsetsWanted::line() const {
  if (!forget.empty()) return std::string(kForget) + forget;
  std::string out = "set";
  for (const ChosenOffset& chosen : set) out += " " + chosen.text();
  return out;
}

std::string OffsetChange::text() const {
  const std::string place = fmt::format("{}/{}", before.topic, before.partition);
  if (after.forgotten)
    return fmt::format("{}: {} -> forgotten; it begins at kafka.start if it is read again", place,
                       before.next);
  if (after.incarnation != before.incarnation && after.next == before.next) {
    return fmt::format("{}: {} -> {}, where the topic is another from now on (incarnation {})", place,
                       before.next, after.next, after.incarnation);
  }
  const int64_t moved = after.next - before.next;
  const char* plural = moved == 1 || moved == -1 ? "record is" : "records are";
  return fmt::format("{}: {} -> {} ({} {} {})", place, before.next, after.next, std::abs(moved), plural,
                     moved >= 0 ? "skipped" : "judged again");
}

namespace {

// The topics of which a partition that moves does not hold the record that was read last.
absl::StatusOr<std::set<std::string>> changed_topics(const std::vector<OffsetChange>& changes,
                                                     kafka::Cluster& cluster) {
  std::set<std::string> out;
  if (mutated(Mutation::lost_tails_keep_their_places)) return out;
  std::vector<kafka::LastRead> last;
  for (const OffsetChange& change : changes) {
    const LogProgress& p = change.before;
    const kafka::TopicPartition place{p.topic, p.partition};
    if (change.after.forgotten || (p.samples.empty() && p.last_ms < 0)) continue;
    if (p.samples.empty()) {
      last.push_back({.place = place, .offset = p.next - 1, .timestamp_ms = p.last_ms});
    } else {
      const LogProgress::Sample& sample = p.samples.back();
      last.push_back({place, sample.offset, sample.timestamp_ms, sample.checksum});
    }
  }
  if (last.empty()) return out;
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::TopicComparer> comparer, kafka::TopicComparer::open(cluster));
  ASSIGN_OR_RETURN(const std::vector<kafka::Found> found, comparer->compare(last));
  for (size_t i = 0; i < last.size(); ++i)
    if (found[i] != kafka::Found::same) out.insert(last[i].place.topic);
  return out;
}

// Gives all partitions of a changed topic the next incarnation, also those that stay where they are.
void raise(const std::string& topic, const kafka::KafkaPosition& position,
           std::vector<OffsetChange>& changes) {
  uint32_t incarnation = 1;
  for (const auto& [place, progress] : position.progress)
    if (place.first == topic) incarnation = std::max(incarnation, progress.incarnation);
  for (const auto& [place, progress] : position.progress) {
    if (place.first != topic || progress.incarnation != incarnation) continue;
    auto change = std::find_if(changes.begin(), changes.end(), [&, partition = place.second](const auto& c) {
      return c.before.topic == topic && c.before.partition == partition;
    });
    if (change == changes.end()) {
      change = changes.insert(changes.end(), {progress, progress});
    } else if (change->after.next >= change->before.next) {
      change->after.samples.clear();
    }
    change->after.last_ms = -1;
    ++change->after.incarnation;
    ++change->after.moved;
  }
}

}  // namespace

absl::StatusOr<std::vector<OffsetChange>> plan_offsets(const OffsetsWanted& wanted,
                                                       const kafka::KafkaPosition& position,
                                                       const kafka::Inputs& inputs, kafka::Cluster& cluster) {
  std::vector<OffsetChange> out;
  if (!wanted.forget.empty() && kafka::is_input(inputs, wanted.forget)) {
    return invalid(fmt::format(
        "{0} is read (kafka.topics), so all of it would be judged again. Take it from kafka.topics to forget "
        "it; to judge it again: doppel offsets set {0}/PARTITION=beginning",
        wanted.forget));
  }
  for (const auto& [place, progress] : position.progress) {
    if (wanted.forget != place.first) continue;
    OffsetChange& change = out.emplace_back(OffsetChange{progress, progress});
    change.after.forgotten = true;
  }
  if (!wanted.forget.empty() && out.empty())
    return invalid(fmt::format("the index has not read a topic {}", wanted.forget));
  for (const ChosenOffset& chosen : wanted.set) {
    const auto at = position.progress.find({chosen.place.topic, chosen.place.partition});
    if (at == position.progress.end()) {
      return invalid(fmt::format("the index has not read {}/{}: it begins at kafka.start", chosen.place.topic,
                                 chosen.place.partition));
    }
    OffsetChange& change = out.emplace_back(OffsetChange{at->second, at->second});
    const absl::StatusOr<int64_t> next = offset_of(chosen, cluster, at->second.next);
    if (absl::IsNotFound(next.status()))
      return invalid(fmt::format("{}/{} does not exist now", chosen.place.topic, chosen.place.partition));
    RETURN_IF_ERROR(next.status());
    change.after.next = *next;
    if (change.after.next == change.before.next) continue;
    change.after.last_ms = -1;  // it was another record's
    std::erase_if(change.after.samples, [&](const auto& sample) { return sample.offset >= *next; });
  }
  const absl::StatusOr<std::set<std::string>> changed = changed_topics(out, cluster);
  if (absl::IsNotFound(changed.status()))
    return invalid(fmt::format("a topic does not exist now ({})", std_sv(changed.status().message())));
  RETURN_IF_ERROR(changed.status());
  for (const std::string& topic : *changed) raise(topic, position, out);
  return out;
}

namespace {

constexpr std::string_view kEndAt = "end@";

template <typename T>
bool parse_number(std::string_view text, T& out) {
  return whole_number(text, out) && out >= 0;
}

}  // namespace

absl::StatusOr<ChosenOffset> parse_chosen_offset(std::string_view text) {
  ChosenOffset out;
  const size_t equals = text.find('=');
  const std::string_view place = text.substr(0, equals);
  const size_t slash = place.rfind('/');
  if (equals == std::string_view::npos || slash == std::string_view::npos || slash == 0 ||
      !parse_number(place.substr(slash + 1), out.place.partition)) {
    return invalid(
        fmt::format("\"{}\" is not of the form TOPIC/PARTITION=WHERE, such as documents/0=1200", text));
  }
  out.place.topic = place.substr(0, slash);
  const std::string_view where = text.substr(equals + 1);
  constexpr size_t kDigitsOfATime = 13;  // milliseconds since 1970; no partition has that many records
  if (where == "beginning") {
    out.at = ChosenOffset::At::beginning;
  } else if (where == "end") {
    out.at = ChosenOffset::At::end;
  } else if (where.starts_with(kEndAt) && parse_number(where.substr(kEndAt.size()), out.value)) {
    out.at = ChosenOffset::At::end_at;
  } else if (where.size() >= kDigitsOfATime || !parse_number(where, out.value)) {
    // parse_time() would take -1 for a second of 1969.
    const std::optional<int64_t> time = where.starts_with('-') ? std::nullopt : parse_time(where);
    if (!time) {
      return invalid(
          fmt::format("\"{}\": {} is not an offset, beginning, end, or a time such as 2026-01-31T12:00:00Z",
                      text, where.empty() ? "nothing" : where));
    }
    out.at = ChosenOffset::At::time;
    out.value = *time;
  }
  return out;
}

absl::StatusOr<std::vector<ChosenOffset>> read_chosen_offsets(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return invalid(path +
                   ": cannot be read; name a file with a line TOPIC/PARTITION=WHERE for each partition");
  std::vector<ChosenOffset> out;
  std::set<kafka::TopicPartition> seen;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line, " \t\r");
    if (text.empty() || text.starts_with('#')) continue;
    absl::StatusOr<ChosenOffset> chosen = parse_chosen_offset(text);
    if (!chosen.ok())
      return invalid(fmt::format("{}:{}: {}", path, number, std_sv(chosen.status().message())));
    if (!seen.insert(chosen->place).second) {
      return invalid(fmt::format("{}:{}: {}/{} has a line already", path, number, chosen->place.topic,
                                 chosen->place.partition));
    }
    out.push_back(*std::move(chosen));
  }
  return out;
}

std::string ChosenOffset::text() const {
  const std::string partition = fmt::format("{}/{}=", place.topic, place.partition);
  switch (at) {
    case At::beginning:
      return partition + "beginning";
    case At::end:
      return partition + "end";
    case At::end_at:
      return fmt::format("{}{}{}", partition, kEndAt, value);
    case At::time:
      return partition + format_time(value);
    case At::offset:
      break;
  }
  return fmt::format("{}{}", partition, value);
}

absl::StatusOr<ChosenOffset> fixed(const ChosenOffset& chosen, kafka::Cluster& cluster) {
  ChosenOffset out = chosen;
  if (chosen.at == ChosenOffset::At::time) {
    ASSIGN_OR_RETURN(out.value, cluster.offset_at(chosen.place, chosen.value));
    out.at = out.value < 0 ? ChosenOffset::At::end : ChosenOffset::At::offset;
  }
  if (out.at == ChosenOffset::At::end) {
    out.at = ChosenOffset::At::end_at;
    ASSIGN_OR_RETURN(const kafka::Watermarks marks,
                     cluster.watermarks(chosen.place, kafka::Isolation::committed));
    out.value = marks.high;
  }
  return out;
}

absl::StatusOr<int64_t> offset_of(const ChosenOffset& chosen, kafka::Cluster& cluster, int64_t next) {
  ASSIGN_OR_RETURN(const kafka::Watermarks marks,
                   cluster.watermarks(chosen.place, kafka::Isolation::committed));
  switch (chosen.at) {
    case ChosenOffset::At::beginning:
      return marks.low;
    case ChosenOffset::At::end:
      return marks.high;
    case ChosenOffset::At::end_at:
      return std::min(std::max(chosen.value, next), marks.high);
    case ChosenOffset::At::time: {
      ASSIGN_OR_RETURN(const int64_t offset, cluster.offset_at(chosen.place, chosen.value));
      return offset < 0 ? marks.high : offset;
    }
    case ChosenOffset::At::offset:
      break;
  }
  if (chosen.value < marks.low || chosen.value > marks.high) {
    return invalid(fmt::format("{}/{} has the offsets {} to {} (its end), not {}", chosen.place.topic,
                               chosen.place.partition, marks.low, marks.high, chosen.value));
  }
  return chosen.value;
}

}  // namespace doppel
