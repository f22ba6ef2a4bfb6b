#include "commands/scan_groups.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "commands/progress.h"
#include "insight/show.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr size_t kCopiesShown = 3;

// How many bytes of its input a record takes. A large file is not in memory, but it has a size.
uint64_t bytes_of(const Record& record) {
  if (record.pieces == nullptr) return record.value.size();
  struct stat info = {};
  return ::stat(std::string(record.source).c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// The end of a name tells more than its beginning: paths share their first folders.
std::string fitting(std::string_view name, size_t columns) {
  constexpr std::string_view kCut = "...";
  std::string line = one_line(name, name.size());
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  auto characters = static_cast<size_t>(std::count_if(line.begin(), line.end(), begins));
  if (characters <= columns) return line;
  size_t at = 0;
  for (const size_t most = columns - std::min(columns, kCut.size()); at < line.size(); ++at) {
    if (!begins(line[at])) continue;
    if (characters == most) break;
    --characters;
  }
  return std::string(kCut) + line.substr(at);
}

// Rounded down, as in events.
std::string similarity_of(const Outcome& outcome) {
  if (outcome.kind == Kind::exact) return "exact";
  const uint32_t ppm = similarity_ppm(outcome.similarity);
  return fmt::format("{}.{:03}", ppm / 1'000'000, ppm % 1'000'000 / 1'000);
}

}  // namespace

absl::Status ScanGroups::add(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    if (outcome.verdict != Verdict::duplicate) continue;
    const auto [found, fresh] = group_of_.try_emplace(outcome.seq, groups_.size());
    Metadata metadata;
    if (fresh) {
      RETURN_IF_ERROR(decode_metadata(outcome.original, metadata));
      groups_.push_back({.original = metadata.name()});
    }
    Group& group = groups_[found->second];
    if (group.first.size() < kCopiesShown) {
      RETURN_IF_ERROR(decode_metadata(decided.work.sign.documents[i].metadata, metadata));
      group.first.push_back({metadata.name(), similarity_of(outcome)});
    }
    ++group.copies;
    group.bytes += bytes_of(decided.batch.records[i]);
  }
  return absl::OkStatus();
}

std::string ScanGroups::text(size_t rows, size_t columns) const {
  std::vector<size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return groups_[a].bytes > groups_[b].bytes; });
  std::string out;
  size_t shown = 0, used = 0;
  for (; shown < order.size(); ++shown) {
    const Group& group = groups_[order[shown]];
    const bool more = group.copies > group.first.size();
    const size_t lines = 1 + group.first.size() + (more ? 1 : 0);
    const size_t last = shown + 1 == order.size() ? 0 : 1;  // for the line that counts the others
    if (used + lines + last > rows) break;
    used += lines;
    const std::string size = fmt::format("  ({} could go)", human_bytes(group.bytes));
    out += fitting(group.original, columns - std::min(columns, size.size())) + size + '\n';
    for (const Copy& copy : group.first)
      out += fmt::format("  {:<5}  {}\n", copy.similarity, fitting(copy.name, columns - 9));
    if (more) out += fmt::format("  and {} more\n", with_commas(group.copies - group.first.size()));
  }
  if (shown == order.size()) return out;
  uint64_t copies = 0, bytes = 0;
  for (size_t i = shown; i < order.size(); ++i) {
    copies += groups_[order[i]].copies;
    bytes += groups_[order[i]].bytes;
  }
  const size_t left = order.size() - shown;
  return out + fmt::format("{}{} with {} ({} could go)\n", shown == 0 ? "" : "and ",
                           counted(left, shown == 0 ? "original" : "more original"),
                           copies == 1 ? "1 copy" : with_commas(copies) + " copies", human_bytes(bytes));
}

ScreenSize screen_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {.rows = size.ws_row, .columns = std::max<size_t>(size.ws_col, 20)};
}

}  // namespace doppel
