#include "kafka/log/offsets.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/status.h"

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

std::string OffsetChange::text() const {
  const std::string place = fmt::format("{}/{}", before.topic, before.partition);
  if (after.forgotten)
    return fmt::format("{}: {} -> forgotten; it begins at kafka.start if it is read again", place,
                       before.next);
  const int64_t moved = after.next - before.next;
  const char* plural = moved == 1 || moved == -1 ? "record is" : "records are";
  return fmt::format("{}: {} -> {} ({} {} {})", place, before.next, after.next, std::abs(moved), plural,
                     moved >= 0 ? "skipped" : "judged again");
}

absl::StatusOr<std::vector<OffsetChange>> plan_offsets(const OffsetsWanted& wanted,
                                                       const kafka::KafkaPosition& position,
                                                       kafka::Cluster& cluster) {
  std::vector<OffsetChange> out;
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
    const absl::StatusOr<int64_t> next = offset_of(chosen, cluster);
    if (absl::IsNotFound(next.status()))
      return invalid(fmt::format("{}/{} does not exist now", chosen.place.topic, chosen.place.partition));
    RETURN_IF_ERROR(next.status());
    change.after.next = *next;
    if (change.after.next != change.before.next) change.after.last_ms = -1;  // it was another record's
  }
  return out;
}

}  // namespace doppel
