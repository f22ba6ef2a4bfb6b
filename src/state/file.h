#pragma once
// A file descriptor that knows its path, so that every error names file and offset. Interrupted and
// short reads and writes are carried on here and nowhere else.

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

class File {
 public:
  File() = default;
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // O_CLOEXEC is added.
  static absl::StatusOr<File> open(const std::string& path, int flags, mode_t mode = 0600);

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  absl::StatusOr<uint64_t> size() const;

  // All of `bytes` bytes, or an error: DataLoss where the file ends before.
  absl::Status read_at(uint64_t offset, void* out, size_t bytes) const;
  // [from, to) is not read again soon: the page cache may use its memory for something else.
  void forget(uint64_t from, uint64_t to) const;
  absl::Status write_at(uint64_t offset, std::string_view bytes) const;
  absl::Status sync() const;  // fdatasync
  absl::Status cut(uint64_t length) const;
  // Gives the space of [from, to) back; reads as zeros afterwards. Best effort: some file systems cannot.
  void punch(uint64_t from, uint64_t to) const;
  // rename(2); errors name the new path from now on.
  absl::Status rename_to(const std::string& path);

 private:
  int fd_ = -1;
  std::string path_;
};

// The file holds exactly `text` when this returns OK, also after a power loss; before, and after an error, it
// is as it was. Written beside it (PATH.tmp), synced, renamed, and the directory synced.
absl::Status write_durably(const std::string& path, std::string_view text, mode_t mode = 0600);
// Makes the entries of a directory durable.
absl::Status sync_directory(const std::string& path);
// mkdir -p, mode 0700 for what is made.
absl::Status make_directories(const std::string& path);
bool exists(const std::string& path);
std::string join(const std::string& directory, std::string_view name);
// Cryptographically random bytes.
absl::Status random_bytes(void* out, size_t bytes);

// The CRC32C of [from, to), which must lie in the file; read in large blocks.
absl::StatusOr<uint32_t> crc_of_range(const File& file, uint64_t from, uint64_t to);

}  // namespace doppel
