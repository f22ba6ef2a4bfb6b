#pragma once
// Finds captures in sorted CDXJ files by URL and time.

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

// Reads up to `size` bytes at an offset; returns fewer only at the end of the file.
using ReadAt = std::function<absl::StatusOr<std::string>(uint64_t offset, size_t size)>;

// Calls `visit` for the lines that begin with `prefix`, in order, until it returns false. The file must be
// sorted by bytes (LC_ALL=C).
absl::Status visit_sorted_lines(const ReadAt& read, uint64_t file_size, std::string_view prefix,
                                const std::function<bool(std::string_view line)>& visit);

// Thread-safe.
class CdxjIndex {
 public:
  // `paths` are files, or directories whose *.cdxj and *.cdx files are searched. Directories are listed for
  // each search, because they grow.
  static absl::StatusOr<std::unique_ptr<CdxjIndex>> open(std::vector<std::string> paths);

  // Returns the capture of this URL at this time, to the second, or else the nearest one within a minute;
  // without a time, the latest one. NotFound: there is none. Unavailable: a file cannot be read.
  absl::StatusOr<RecordLocation> find(std::string_view url, std::optional<int64_t> time_ms) const;

 private:
  explicit CdxjIndex(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  std::vector<std::string> files() const;

  const std::vector<std::string> paths_;
};

}  // namespace doppel
