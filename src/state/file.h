#pragma once
// A file descriptor that knows its path, so each error names file and offset. It retries interrupted and
// short reads and writes, which nothing else needs to do.

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

  // Adds O_CLOEXEC.
  static absl::StatusOr<File> open(const std::string& path, int flags, mode_t mode = 0600);

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  absl::StatusOr<uint64_t> size() const;

  // Reads exactly `bytes` bytes. DataLoss: the file ends before.
  absl::Status read_at(uint64_t offset, void* out, size_t bytes) const;
  // Tells the page cache that [from, to) will not be read again soon.
  void forget(uint64_t from, uint64_t to) const;
  absl::Status write_at(uint64_t offset, std::string_view bytes) const;
  absl::Status sync() const;  // fdatasync
  absl::Status cut(uint64_t length) const;
  // Frees the space of [from, to), which reads as zeros afterwards. Best effort: not all file systems can.
  void punch(uint64_t from, uint64_t to) const;
  // rename(2). Later errors name the new path.
  absl::Status rename_to(const std::string& path);

 private:
  int fd_ = -1;
  std::string path_;
};

// Replaces a file atomically and durably: when this returns OK, the file holds exactly `text`, even after a
// power loss. Until then, and after an error, it has its old content. Writes PATH.tmp, syncs and renames
// it, and syncs the directory.
absl::Status write_durably(const std::string& path, std::string_view text, mode_t mode = 0600);
// Makes the entries of a directory durable.
absl::Status sync_directory(const std::string& path);
// mkdir -p; new directories have mode 0700.
absl::Status make_directories(const std::string& path);
bool exists(const std::string& path);
std::string join(const std::string& directory, std::string_view name);
// Where temporary files go: `configured`, or without it $TMPDIR, or /tmp.
std::string temporary_place(const std::string& configured);
// Cryptographically random bytes.
absl::Status random_bytes(void* out, size_t bytes);

// The CRC32C of [from, to), which must be inside the file. Reads in large blocks.
absl::StatusOr<uint32_t> crc_of_range(const File& file, uint64_t from, uint64_t to);

// The file "LOCK": a process holds flock(2) on it while it uses the directory, and writes its pid into it
// for the message to the next process. The lock ends with the process in any case, but some time after the
// kill if the process was writing. So both functions that take the lock wait for it, up to a second.

// Holds the lock as long as the result lives.
absl::StatusOr<File> lock_directory(const std::string& directory);
// Takes the lock for reading: any number of readers can hold it, but no writer in the meantime.
absl::StatusOr<File> lock_to_read(const std::string& directory);
// Whether a process holds the lock now. Writes nothing, so root can ask without leaving files of its own.
bool directory_in_use(const std::string& directory);

}  // namespace doppel
