#pragma once
// Reads the bytes of a file from start to end, decompressing gzip and zstd.

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace doppel {

// The bytes of a file that is still being downloaded. The file has its final size from the beginning.
class Arriving {
 public:
  virtual ~Arriving() = default;
  // Waits until all bytes before `end` are there, or as many as the file has.
  virtual absl::Status await(uint64_t end) = 0;
};

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd, std::shared_ptr<Arriving> arriving = nullptr)
      : fd_(fd), arriving_(std::move(arriving)) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), arriving_(std::move(other.arriving_)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(arriving_, other.arriving_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Null if all bytes are there, as in every local file.
  const std::shared_ptr<Arriving>& arriving() const { return arriving_; }

 private:
  int fd_ = -1;
  std::shared_ptr<Arriving> arriving_;
};

enum class Packing { none, gz, zst };

// A byte range of a file that is read like a file. Size 0 means the whole file.
struct Part {
  uint64_t begin = 0;
  uint64_t size = 0;
  bool is_all() const { return size == 0; }
};

// Magic of the skippable frame with which a zstd file begins if it contains its own dictionary (WARC files
// of some crawlers).
inline constexpr std::string_view kZstDictionary = "\x5d\x2a\x4d\x18";

// Tells the compression from the end of the name, and removes that end from `name`.
Packing packing_of(std::string_view& name);

// Counts the bytes that all streams of a source read from disk. Any thread may read it.
using ByteCounter = std::shared_ptr<std::atomic<uint64_t>>;

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to n (> 0) bytes; returns 0 at the end. An error says what is wrong with the data, not where.
  // All bytes before the damage have been returned by then.
  virtual absl::StatusOr<size_t> read(char* out, size_t n) = 0;
  // The offset in the stored file where the bytes of the last read() begin, if known: always in a plain file;
  // in a compressed one only at the start of a member (gzip) or frame (zstd), which no read crosses.
  virtual std::optional<uint64_t> stored_at() const = 0;
  // After an error of read(): continues at the next member (frame) whose first unpacked bytes `begins`
  // accepts. Returns how many bytes of the file are skipped, counted from the start of the damaged member,
  // or nullopt if no such member follows.
  using Begins = std::function<bool(std::string_view)>;
  virtual std::optional<uint64_t> resume(const Begins& /*begins*/) { return std::nullopt; }
  // Bytes of the stored file that were used so far.
  virtual uint64_t disk_bytes() const = 0;
};

// `head` holds bytes that were already read from `fd`; they come first. Offsets count from the start of
// `part`.
std::unique_ptr<ByteStream> make_byte_stream(Fd fd, Packing packing, ByteCounter counter,
                                             std::string head = {}, Part part = {});

}  // namespace doppel
