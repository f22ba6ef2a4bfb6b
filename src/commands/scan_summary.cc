#include "commands/scan_summary.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "commands/scan_report.h"
#include "files/places.h"
#include "formats/bytes/charset.h"
#include "insight/scan_page.h"
#include "insight/show.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {

void print_summary(const Counters& c, const Engine& engine, const Bodies& bodies, double seconds,
                   const Keeper::Cut& cut, ExtractPart extract, bool groups, bool keeps) {
  const OriginalsStats stats = engine.originals().stats();
  const uint64_t unique = c.unique - c.bytes_unique, copies = c.duplicates() - c.bytes_copies;
  const uint64_t bytes_only = c.bytes_unique + c.bytes_copies;
  const uint64_t documents = c.records - c.skipped - bytes_only;
  print_err("{}{}, {} in {} ({}/s, {:.1f} MB/s)\n", counted(documents, "document"),
            documents == c.records ? "" : fmt::format(" in {}", counted(c.records, "record")),
            human_bytes(c.bytes), human_seconds(seconds),
            with_commas(static_cast<uint64_t>(c.records / std::max(seconds, 1e-9))),
            c.bytes / 1e6 / std::max(seconds, 1e-9));
  print_err(
      "  {} unique, {} ({} exact, {} near){}\n", with_commas(unique), counted(copies, "duplicate"),
      with_commas(c.exact - c.bytes_copies), with_commas(c.near),
      unique + copies == 0 ? "" : fmt::format(", {:.1f} % of documents", 100.0 * copies / (unique + copies)));
  if (bytes_only != 0) {
    print_err("  {} other records compared by payload digest alone: {} unique, {}\n", with_commas(bytes_only),
              with_commas(c.bytes_unique), counted(c.bytes_copies, "duplicate"));
  }
  if (c.pages != 0) {
    print_err("  {} compared by {}\n", counted(c.pages, "page"),
              extract == ExtractPart::none      ? "their markup (input.extract)"
              : extract == ExtractPart::visible ? "their visible text"
                                                : "their main text");
  }
  if (!c.guessed_charsets.empty()) {
    std::string charsets;
    uint64_t texts = 0;
    for (const auto& [charset, count] : c.guessed_charsets) {
      charsets +=
          fmt::format("{}{} {}", charsets.empty() ? "" : ", ", shown_charset(charset), with_commas(count));
      texts += count;
    }
    print_err("  {} in a charset that was guessed: {}\n", counted(texts, "text"), charsets);
  }
  if (c.too_large != 0) {
    print_err("  {} of them because their texts are too large to be held (above 16 MiB)\n",
              with_commas(c.too_large));
  }
  if (c.again != 0) print_err("  {} of them were in the index already\n", with_commas(c.again));
  if (c.unscored != 0) {
    std::string why;
    for (const auto& [reason, count] : c.unscored_by)
      why += fmt::format("{}{} {}", why.empty() ? ": " : ", ", with_commas(count), reason);
    print_err("  {} without a text of their own (unscored{}){}\n", with_commas(c.unscored),
              keeps ? ", not kept" : "", why);
  }
  for (const auto& [reason, count] : c.skipped_by)
    print_err("  {} skipped: {}\n", with_commas(count), reason);
  if (c.rejected != 0) print_err("  {} rejected\n", with_commas(c.rejected));
  if (c.problems != 0) print_err("  {} could not be read as a whole\n", counted(c.problems, "input"));
  const Seq given = engine.originals().first_own();
  print_err("  index: {}{}, {} in memory, {} on disk\n", counted(stats.live - given, "original"),
            given == 0 ? "" : fmt::format(" in addition to {} of --against", with_commas(given)),
            human_bytes(stats.memory_bytes()), human_bytes(bodies.bytes()));
  if (c.match.checks_capped != 0) {
    print_err("  {} had more candidates than max_checks\n", counted(c.match.checks_capped, "document"));
  }
  if (c.related.sum() != 0) print_err("  of the unique ones, {}\n", related_in_words(c.related));
  if (cut.documents != 0) {
    print_err("  passages cut out of {} unique ones, {}{}\n", with_commas(cut.documents),
              human_bytes(cut.bytes),
              cut.emptied == 0 ? "" : fmt::format("; nothing is left of {}", with_commas(cut.emptied)));
  }
  if (c.partial != 0)
    print_err("  of the duplicates, {} are a part of their original\n", with_commas(c.partial));
  if (c.prints_capped != 0)
    print_err("  {} times a passage was in too many originals to be listed (max_listed)\n",
              with_commas(c.prints_capped));
  if (c.listings_capped != 0) {
    print_err("  {} times a band was full (max_listed)\n", with_commas(c.listings_capped));
  }
  if (groups && copies + c.bytes_copies != 0)
    print_err("  -o FILE writes an event for each duplicate, --keep FILE the unique documents\n");
}

void print_not_kept(std::string_view command, std::string_view documents, const Keeper& keeper,
                    const FilesSinkOptions& options, std::string_view copying) {
  const std::string place = options.keep + options.keep_directory;
  if (const Keeper::NotKept& records = keeper.records_not_kept(); records.count != 0) {
    print_err("doppel {}: {} {} not in {}; the first: {}\n", command,
              counted(records.count, fmt::format("{} record", documents)), records.count == 1 ? "is" : "are",
              place, one_line(records.first, 1000));
  }
  if (const Keeper::NotKept& files = keeper.files_not_kept(); files.count != 0) {
    print_err("doppel {}: {} and not in {}{}; the first: {}\n", command,
              counted(files.count, fmt::format("{} document", documents)) +
                  (files.count == 1 ? " is a whole file" : " are whole files"),
              place,
              options.keep.empty() ? ", because files behind URLs and pipes are not copied"
                                   : fmt::format(", which holds lines and records; {} copies them", copying),
              one_line(files.first, 1000));
  }
}

namespace {

constexpr size_t kCopiesShown = 3;

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

namespace {

namespace fs = std::filesystem;

std::string kind_of(const fs::path& file, const fs::path& below, uint64_t size) {
  for (const fs::path& part : file.lexically_relative(below))
    if (part.string().starts_with('.') && part != "." && part != "..") return "hidden";
  if (size == 0) return "empty";
  const std::string ending = file.extension().string();
  return ending.empty() ? "without an ending" : one_line(ending, 20);
}

}  // namespace

void LeftOut::add(const Decided& decided) {
  for (size_t i = 0; i < decided.batch.records.size(); ++i) {
    const Record& record = decided.batch.records[i];
    const Verdict verdict = decided.work.resolved.outcomes[i].verdict;
    struct stat info = {};
    if (record.whole_file && (verdict == Verdict::unique || verdict == Verdict::duplicate) &&
        ::stat(std::string(record.source).c_str(), &info) == 0)
      judged_.emplace(info.st_dev, info.st_ino);
  }
}

void LeftOut::find(const std::vector<std::string>& paths, const std::vector<std::string>& ours) {
  absl::flat_hash_set<Identity> seen;  // and what doppel writes
  struct stat info = {};
  for (const std::string& path : ours)
    if (!path.empty() && ::stat(path.c_str(), &info) == 0) seen.emplace(info.st_dev, info.st_ino);
  const auto add = [&](const fs::path& file, const fs::path& below) {
    if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    const Identity identity(info.st_dev, info.st_ino);
    if (judged_.contains(identity) || seen.contains(identity)) return;
    files_.push_back(file.string());
    ++kinds_[kind_of(file, below, static_cast<uint64_t>(info.st_size))];
  };
  for (const std::string& path : paths) {
    if (is_url(path)) continue;
    if (path == "-") continue;
    if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      add(path, fs::path(path).parent_path());
      continue;
    }
    if (!seen.emplace(info.st_dev, info.st_ino).second) continue;
    constexpr auto kOptions =
        fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
    std::error_code error;
    for (fs::recursive_directory_iterator at(path, kOptions, error), end; !error && at != end;
         at.increment(error)) {
      if (::stat(at->path().c_str(), &info) != 0) continue;
      if (!S_ISDIR(info.st_mode)) {
        add(at->path(), path);
      } else if (!seen.emplace(info.st_dev, info.st_ino).second) {
        at.disable_recursion_pending();  // a link to a directory that was seen, or one that doppel writes
      }
    }
  }
  std::sort(files_.begin(), files_.end());
  files_.erase(std::unique(files_.begin(), files_.end()), files_.end());
}

std::string LeftOut::kinds() const {
  std::vector<std::pair<uint64_t, std::string>> most;
  most.reserve(kinds_.size());
  for (const auto& [kind, count] : kinds_) most.emplace_back(count, kind);
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kShown = 6;
  std::string out;
  for (size_t i = 0; i < std::min(most.size(), kShown); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", with_commas(most[i].first), most[i].second);
  return most.size() > kShown ? out + ", ..." : out;
}

}  // namespace doppel
