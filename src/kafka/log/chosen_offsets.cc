#include "kafka/log/chosen_offsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/number.h"
#include "base/status.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

constexpr std::string_view kEndAt = "end@";

template <typename T>
bool parse_number(std::string_view text, T& out) {
  return whole_number(text, out) && out >= 0;
}

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
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
  std::set<kafka::Place> seen;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
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
  const std::string of = fmt::format("{}/{}=", place.topic, place.partition);
  switch (at) {
    case At::beginning:
      return of + "beginning";
    case At::end:
      return of + "end";
    case At::end_at:
      return fmt::format("{}{}{}", of, kEndAt, value);
    case At::time:
      return of + format_time(value);
    case At::offset:
      break;
  }
  return fmt::format("{}{}", of, value);
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
