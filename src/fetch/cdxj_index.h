#pragma once
// Finds the places of captures in sorted CDXJ files, by URL and time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fetch/warc_root.h"

namespace doppel {

// Up to `size` bytes at an offset; fewer only at the end.
using ReadAt = std::function<absl::StatusOr<std::string>(uint64_t offset, size_t size)>;

// Calls `visit` for the lines of a file sorted by bytes (LC_ALL=C) that begin with `prefix`, in order, until
// it says false.
absl::Status visit_sorted_lines(const ReadAt& read, uint64_t file_size, std::string_view prefix,
                                const std::function<bool(std::string_view line)>& visit);

// Called by many threads.
class CdxjIndex {
 public:
  // `paths`: files, or directories whose files *.cdxj count (looked at again at every question, as they
  // grow).
  static absl::StatusOr<std::unique_ptr<CdxjIndex>> open(std::vector<std::string> paths);

  // The capture of this URL at this time, to the second; else the nearest one within a minute; without a time
  // the last one. NotFound: there is none. Unavailable: a file cannot be read.
  absl::StatusOr<WarcPlace> find(std::string_view url, std::optional<int64_t> time_ms) const;

 private:
  explicit CdxjIndex(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  std::vector<std::string> files() const;

  const std::vector<std::string> paths_;
};

}  // namespace doppel
