#pragma once
// Where WARC files are found: a directory, or a plain web server.

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
  uint64_t max_bytes = 16 << 20;                    // of a record's block; the rest is truncated
  int64_t timeout_ms = 30'000;                      // longest time without any byte
  std::shared_ptr<const std::atomic<bool>> cancel;  // true ends current reads; may be empty
};

// Thread-safe.
class WarcRoot {
 public:
  virtual ~WarcRoot() = default;
  // Returns the record; kRecordPadding more bytes are readable behind it. NotFound: it is not here; another
  // root may have it. Unavailable: try again later. All other errors are final. `round` grows from batch to
  // batch.
  virtual absl::StatusOr<std::string> read(const WarcPlace& place, uint64_t round) = 0;
};

// `root` is "http://host/path", "https://...", or an existing directory.
absl::StatusOr<std::unique_ptr<WarcRoot>> open_warc_root(const std::string& root,
                                                         const WarcRootOptions& options);

std::unique_ptr<WarcRoot> make_http_root(std::string base, const WarcRootOptions& options);

// Whether a name from a message stays below its root.
bool is_safe_filename(std::string_view filename);

}  // namespace doppel
