#pragma once
// A place where WARC files lie: a directory, or a plain web server.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

struct WarcPlace {
  std::string filename;
  uint64_t offset = 0;
};

struct WarcRootOptions {
  uint64_t max_bytes = 16 << 20;                    // of a record's block; more is cut off
  int64_t timeout_ms = 30'000;                      // without any byte
  std::shared_ptr<const std::atomic<bool>> cancel;  // set: reads that are under way end; may be empty
};

// Called by many threads.
class WarcRoot {
 public:
  virtual ~WarcRoot() = default;
  // The record (with kRecordPadding readable bytes behind it). NotFound: not here, another root may have it.
  // Unavailable: later perhaps. Any other error is final. `round` grows from batch to batch.
  virtual absl::StatusOr<std::string> read(const WarcPlace& place, uint64_t round) = 0;
};

// "http://host/path" or "https://...", or a directory, which must exist.
absl::StatusOr<std::unique_ptr<WarcRoot>> open_warc_root(const std::string& root,
                                                         const WarcRootOptions& options);

std::unique_ptr<WarcRoot> make_http_root(std::string base, const WarcRootOptions& options);

// Whether a name from a message may be looked for: it stays below its root.
bool is_safe_filename(std::string_view filename);

}  // namespace doppel
