#include "fetch/cdxj_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/status.h"
#include "files/byte_stream.h"
#include "formats/decoder.h"
#include "formats/warc/cdxj.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStep = 4096;
constexpr uint64_t kLongestLine = 1 << 20;  // lines are read up to this many bytes, and a step more
constexpr int64_t kToleranceMs = 60'000;

// The line that begins at `at`, without its line feed; truncated if it is too long. nullopt at the end of
// the file.
absl::StatusOr<std::optional<std::string>> line_at(const ReadAt& read, uint64_t at, uint64_t size) {
  if (at >= size) return std::nullopt;
  std::string line;
  while (at + line.size() < size && line.size() < kLongestLine) {
    ASSIGN_OR_RETURN(const std::string piece, read(at + line.size(), kStep));
    if (piece.empty()) break;
    const size_t end = piece.find('\n');
    line.append(piece, 0, end);
    if (end != std::string::npos) break;
  }
  return line;
}

// Where the first line begins at or after `at`.
absl::StatusOr<uint64_t> line_start(const ReadAt& read, uint64_t at, uint64_t size) {
  if (at == 0) return 0;
  for (--at; at < size;) {
    ASSIGN_OR_RETURN(const std::string piece, read(at, kStep));
    if (piece.empty()) break;
    const size_t end = piece.find('\n');
    if (end != std::string::npos) return at + end + 1;
    at += piece.size();
  }
  return size;
}

}  // namespace

absl::Status visit_sorted_lines(const ReadAt& read, uint64_t size, std::string_view prefix,
                                const std::function<bool(std::string_view)>& visit) {
  // Binary search over offsets, which need not be starts of lines. The first line that is not less than
  // `prefix` begins at or behind some offset in [low, high].
  uint64_t low = 0, high = size;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const uint64_t start, line_start(read, middle, size));
    ASSIGN_OR_RETURN(const std::optional<std::string> line, line_at(read, start, size));
    if (line && std::string_view(*line) < prefix) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  ASSIGN_OR_RETURN(uint64_t at, line_start(read, low, size));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string> line, line_at(read, at, size));
    if (!line || !line->starts_with(prefix) || !visit(*line)) return absl::OkStatus();
    at += line->size();
    if (line->size() < kLongestLine) {
      ++at;
    } else {
      ASSIGN_OR_RETURN(at, line_start(read, at + 1, size));
    }
  }
}

absl::StatusOr<std::unique_ptr<CdxjIndex>> CdxjIndex::open(std::vector<std::string> paths) {
  std::error_code error;
  for (const std::string& path : paths) {
    if (!fs::exists(path, error)) return invalid(fmt::format("warc.cdxj: {} does not exist", path));
  }
  return std::unique_ptr<CdxjIndex>(new CdxjIndex(std::move(paths)));
}

std::vector<std::string> CdxjIndex::files() const {
  std::vector<std::string> out;
  std::error_code error;
  for (const std::string& path : paths_) {
    if (!fs::is_directory(path, error)) {
      out.push_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".cdxj" || entry.path().extension() == ".cdx")
        out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

absl::StatusOr<RecordLocation> CdxjIndex::find(std::string_view url, std::optional<int64_t> time_ms) const {
  std::optional<CdxjLine> best;
  const auto distance = [&](const CdxjLine& line) {
    // Of two captures at the same distance the first one stays. Without a time, the latest capture wins.
    return time_ms ? std::abs(line.time_ms - *time_ms / 1000 * 1000)
                   : std::numeric_limits<int64_t>::max() - line.time_ms;
  };
  const std::string key = surt(url) + " ";
  for (const std::string& path : files()) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0)
      return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
    const ReadAt read = [&](uint64_t offset, size_t size) -> absl::StatusOr<std::string> {
      std::string piece(size, '\0');
      const ssize_t got = ::pread(fd.get(), piece.data(), size, static_cast<off_t>(offset));
      if (got < 0) return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
      piece.resize(static_cast<size_t>(got));
      return piece;
    };
    RETURN_IF_ERROR(
        visit_sorted_lines(read, static_cast<uint64_t>(info.st_size), key, [&](std::string_view text) {
          std::optional<CdxjLine> line = parse_cdxj_line(text);
          if (line && (line->url.empty() || line->url == url) &&
              (!best || distance(*line) < distance(*best))) {
            line->key = {};
            best = std::move(line);
          }
          return true;
        }));
  }
  const std::string when = time_ms ? " at " + format_time(*time_ms) : std::string();
  if (!best || (time_ms && distance(*best) > kToleranceMs))
    return absl::NotFoundError(fmt::format("no CDXJ file has a capture of {}{}", url.substr(0, 500), when));
  return RecordLocation{std::move(best->filename), best->offset};
}

}  // namespace doppel
