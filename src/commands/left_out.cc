#include "commands/left_out.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "files/places.h"
#include "insight/show.h"

namespace doppel {
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
