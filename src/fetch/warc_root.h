#pragma once
// Where WARC files are found: a directory, or a plain web server.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

struct RecordLocation {
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
  virtual absl::StatusOr<std::string> read(const RecordLocation& place, uint64_t round) = 0;
};

// `root` is "http://host/path", "https://...", or an existing directory.
absl::StatusOr<std::unique_ptr<WarcRoot>> open_warc_root(const std::string& root,
                                                         const WarcRootOptions& options);

std::unique_ptr<WarcRoot> make_http_root(std::string base, const WarcRootOptions& options);

// Whether a name from a message stays below its root.
bool is_safe_filename(std::string_view filename);

// Assembles the WARC record that begins at some offset of a file, while the file's bytes arrive.

// The first bytes tell whether the record is compressed: as a gzip member, as a zstd frame, or not at all.
class RecordAssembler {
 public:
  // Keeps only the beginning of a block above max_bytes.
  explicit RecordAssembler(uint64_t max_bytes);
  ~RecordAssembler();
  RecordAssembler(const RecordAssembler&) = delete;
  RecordAssembler& operator=(const RecordAssembler&) = delete;

  // Takes more bytes of the file. Returns true when the record is complete. It is an error if it is
  // damaged.
  absl::StatusOr<bool> feed(std::string_view bytes);
  // Call it at the end of the file. It is an error if the record is not complete.
  absl::Status end() const;
  // Returns the complete record; kRecordPadding more bytes are readable behind it.
  std::string take();

 private:
  enum class Kind : unsigned char { unknown, plain, gz, zst };
  struct Unpacker;

  absl::Status unpack(std::string_view bytes);
  absl::StatusOr<bool> look();

  uint64_t max_bytes_;
  Kind kind_ = Kind::unknown;
  std::unique_ptr<Unpacker> unpacker_;
  std::string first_;    // bytes that do not yet tell the compression
  std::string record_;   // decompressed
  uint64_t wanted_ = 0;  // 0: the head is not complete
};

}  // namespace doppel
