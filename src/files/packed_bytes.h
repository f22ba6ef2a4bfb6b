#pragma once
// The bytes of a file as they are stored, and a buffer of them for a decompressor.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "files/byte_stream.h"

namespace doppel {

class PlainStream final : public ByteStream {
 public:
  PlainStream(Fd fd, ByteCounter counter, std::string head, Part part)
      : fd_(std::move(fd)), counter_(std::move(counter)), head_(std::move(head)), part_(part) {}

  absl::StatusOr<size_t> read(char* out, size_t n) override {
    ssize_t got = 0;
    if (given_ < head_.size()) {
      got = static_cast<ssize_t>(head_.copy(out, n, given_));
      given_ += static_cast<size_t>(got);
    } else {
      do got = part_.is_all() ? ::read(fd_.get(), out, n) : read_part(out, n);
      while (got < 0 && errno == EINTR);
    }
    if (got < 0) return io_error("cannot be read");
    last_ = taken_;
    taken_ += static_cast<uint64_t>(got);
    counter_->fetch_add(static_cast<uint64_t>(got), std::memory_order_relaxed);
    return static_cast<size_t>(got);
  }
  std::optional<uint64_t> stored_at() const override { return last_; }
  uint64_t disk_bytes() const override { return taken_; }
  // Returns false for a pipe.
  bool seek(uint64_t at) {
    if (!head_.empty()) return false;
    if (part_.is_all() && ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_SET) < 0) return false;
    taken_ = last_ = at;
    return true;
  }
  int fd() const { return fd_.get(); }
  bool is_file() {
    struct stat about = {};
    if (!is_file_) is_file_ = ::fstat(fd_.get(), &about) == 0 && S_ISREG(about.st_mode);
    return *is_file_;
  }

 private:
  ssize_t read_part(char* out, size_t n) const {
    return ::pread(fd_.get(), out, std::min<uint64_t>(n, part_.size - taken_),
                   static_cast<off_t>(part_.begin + taken_));
  }

  Fd fd_;
  ByteCounter counter_;
  std::string head_;
  Part part_;
  std::optional<bool> is_file_;
  size_t given_ = 0;  // bytes of head_ handed out so far
  uint64_t last_ = 0;
  uint64_t taken_ = 0;
};

// Buffers compressed bytes for a decompressor.
class Packed {
 public:
  Packed(Fd fd, ByteCounter counter, std::string head, Part part)
      : file_(std::move(fd), std::move(counter), std::move(head), part), buffer_(kBuffer) {}

  // Ensures that at least one byte is available. Returns false at the end of the file.
  absl::StatusOr<bool> fill() {
    if (begin_ < end_) return true;
    ASSIGN_OR_RETURN(size_t got, file_.read(buffer_.data(), buffer_.size()));
    begin_ = 0;
    end_ = got;
    return got > 0;
  }
  // Makes `bytes` bytes available, or all that are left.
  absl::Status want(size_t bytes) {
    buffer_.resize(std::max(buffer_.size(), bytes));
    std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<ptrdiff_t>(end_), buffer_.begin());
    end_ -= std::exchange(begin_, 0);
    while (end_ < bytes) {
      ASSIGN_OR_RETURN(const size_t got, file_.read(buffer_.data() + end_, buffer_.size() - end_));
      if (got == 0) break;
      end_ += got;
    }
    return absl::OkStatus();
  }
  // Advances to the next occurrence of `magic`. Returns false if there is none.
  bool find(std::string_view magic) {
    while (want(kTried).ok() && size() >= magic.size()) {
      const size_t at = std::string_view(data(), size()).find(magic);
      if (at != std::string_view::npos) {
        take(at);
        return want(kTried).ok();
      }
      take(size() - magic.size() + 1);
    }
    return false;
  }
  // Returns false and stays where it is if the file is a pipe.
  bool seek(uint64_t at) {
    if (!file_.seek(at)) return false;
    begin_ = end_ = 0;
    return true;
  }
  int fd() const { return file_.fd(); }
  bool is_file() { return file_.is_file(); }  // not a pipe, whose bytes may be long in coming
  const char* data() const { return buffer_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  void take(size_t n) { begin_ += n; }
  uint64_t disk_bytes() const { return file_.disk_bytes(); }
  uint64_t at() const { return file_.disk_bytes() - size(); }

 private:
  static constexpr size_t kBuffer = 256 << 10;
  // Bytes that are tried as the start of a member; enough for one zstd block.
  static constexpr size_t kTried = 192 << 10;

  PlainStream file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// Read gzip members, or zstd frames, one after the other. `inside`: the bytes begin in the middle of the
// stored file.
std::unique_ptr<ByteStream> make_gz_stream(Packed packed);
std::unique_ptr<ByteStream> make_zst_stream(Packed packed, bool inside);

}  // namespace doppel
