#include "files/byte_stream.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kPackedBuffer = 256 << 10;
constexpr size_t kTried = 192 << 10;  // bytes tried as the start of a member; enough for one zstd block
constexpr std::string_view kGzMagic = "\x1f\x8b\x08";
constexpr std::string_view kZstMagic = "\x28\xb5\x2f\xfd";

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

 private:
  ssize_t read_part(char* out, size_t n) const {
    return ::pread(fd_.get(), out, std::min<uint64_t>(n, part_.size - taken_),
                   static_cast<off_t>(part_.begin + taken_));
  }

  Fd fd_;
  ByteCounter counter_;
  std::string head_;
  Part part_;
  size_t given_ = 0;  // bytes of head_ handed out so far
  uint64_t last_ = 0;
  uint64_t taken_ = 0;
};

// Buffers compressed bytes for a decompressor.
class Packed {
 public:
  Packed(Fd fd, ByteCounter counter, std::string head, Part part)
      : file_(std::move(fd), std::move(counter), std::move(head), part), buffer_(kPackedBuffer) {}

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
  const char* data() const { return buffer_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  void take(size_t n) { begin_ += n; }
  uint64_t disk_bytes() const { return file_.disk_bytes(); }
  uint64_t at() const { return file_.disk_bytes() - size(); }

 private:
  PlainStream file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

constexpr size_t kMostDictionary = 16 << 20;

// Reads gzip members one after the other. Zeros may follow the last one, as tar and tapes leave them.
class GzStream final : public ByteStream {
 public:
  GzStream(Fd fd, ByteCounter counter, std::string head, Part part)
      : packed_(std::move(fd), std::move(counter), std::move(head), part) {
    ready_ = inflateInit2(&z_, 15 + 16) == Z_OK;
  }
  ~GzStream() override {
    if (ready_) inflateEnd(&z_);
  }
  GzStream(const GzStream&) = delete;
  GzStream& operator=(const GzStream&) = delete;

  absl::StatusOr<size_t> read(char* out, size_t n) override {
    if (!ready_) return absl::ResourceExhaustedError("no memory to unpack gz data");
    if (!damage_.ok()) return damage_;
    stored_at_.reset();
    size_t done = 0;
    while (done == 0) {
      absl::StatusOr<bool> more = packed_.fill();
      if (!more.ok()) return damage_ = more.status();
      if (!*more) {
        if (between_) return 0;
        return damage_ = absl::DataLossError("the gz data ends too early");
      }
      if (between_) {
        if (next_member()) {
          stored_at_ = member_;
        } else if (!damage_.ok()) {
          return damage_;
        } else {
          continue;
        }
      }
      size_t room = std::min<size_t>(n, 1U << 30);
      z_.next_in = reinterpret_cast<const Bytef*>(packed_.data());
      z_.avail_in = static_cast<uInt>(packed_.size());
      z_.next_out = reinterpret_cast<Bytef*>(out);
      z_.avail_out = static_cast<uInt>(room);
      int result = inflate(&z_, Z_NO_FLUSH);
      packed_.take(packed_.size() - z_.avail_in);
      done = room - z_.avail_out;
      if (result == Z_STREAM_END) {
        between_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        damage_ = absl::DataLossError(std::string("damaged gz data: ") + (z_.msg ? z_.msg : zError(result)));
        if (done == 0) return damage_;
      }
    }
    return done;
  }
  std::optional<uint64_t> stored_at() const override { return stored_at_; }
  uint64_t disk_bytes() const override { return packed_.disk_bytes(); }

  std::optional<uint64_t> resume(const Begins& begins) override {
    if (!ready_ || damage_.ok()) return std::nullopt;
    // The damaged member may have unpacked to too many bytes, so the search starts just behind its first
    // byte.
    const uint64_t from = member_;
    packed_.seek(member_ + 1);
    for (; packed_.find(kGzMagic); packed_.take(1)) {
      char unpacked[64];
      inflateReset(&z_);
      z_.next_in = reinterpret_cast<const Bytef*>(packed_.data());
      z_.avail_in = static_cast<uInt>(packed_.size());
      z_.next_out = reinterpret_cast<Bytef*>(unpacked);
      z_.avail_out = sizeof unpacked;
      inflate(&z_, Z_SYNC_FLUSH);
      if (!begins({unpacked, sizeof unpacked - z_.avail_out})) continue;
      inflateReset(&z_);
      damage_ = absl::OkStatus();
      between_ = true;
      padded_ = false;
      members_ = 0;
      return packed_.at() - from;
    }
    return std::nullopt;
  }

 private:
  // Called at the start of the file and after each member. False: only padding was there, or damage_ is
  // set.
  bool next_member() {
    if (members_ > 0) {
      size_t zeros = 0;
      while (zeros < packed_.size() && packed_.data()[zeros] == 0) ++zeros;
      packed_.take(zeros);
      padded_ = padded_ || zeros > 0;
      if (packed_.size() == 0) return false;
      if (padded_ || static_cast<unsigned char>(packed_.data()[0]) != 0x1f) {
        damage_ = absl::DataLossError("something else follows the gz data");
        return false;
      }
      inflateReset(&z_);
    }
    ++members_;
    between_ = false;
    member_ = packed_.at();
    return true;
  }

  Packed packed_;
  z_stream z_ = {};
  absl::Status damage_;
  uint64_t members_ = 0;
  uint64_t member_ = 0;
  std::optional<uint64_t> stored_at_;
  bool ready_ = false;
  bool between_ = true;
  bool padded_ = false;
};

class ZstStream final : public ByteStream {
 public:
  ZstStream(Fd fd, ByteCounter counter, std::string head, Part part)
      : packed_(std::move(fd), std::move(counter), std::move(head), part),
        context_(ZSTD_createDCtx()),
        begins_inside_(part.begin > 0) {
    // Archives compressed with --long=31 exist. zstd takes the memory only for files that need it.
    if (context_) ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, sizeof(size_t) == 8 ? 31 : 30);
  }
  ~ZstStream() override { ZSTD_freeDCtx(context_); }
  ZstStream(const ZstStream&) = delete;
  ZstStream& operator=(const ZstStream&) = delete;

  absl::StatusOr<size_t> read(char* out, size_t n) override {
    if (!context_) return absl::ResourceExhaustedError("no memory to unpack zst data");
    if (!damage_.ok()) return damage_;
    if (!begun_) RETURN_IF_ERROR(begin());
    ZSTD_outBuffer output{out, n, 0};
    stored_at_.reset();
    while (output.pos == 0) {
      if (!pending_) {
        absl::StatusOr<bool> more = packed_.fill();
        if (!more.ok()) return damage_ = more.status();
        if (!*more) {
          if (between_) return 0;
          return damage_ = absl::DataLossError("the zst data ends too early");
        }
      }
      if (between_) stored_at_ = frame_ = packed_.at();
      // Decompresses one block per call, and none while output is pending: an error discards all that the
      // same call has unpacked.
      ZSTD_inBuffer input{packed_.data(), pending_ ? 0 : std::min(packed_.size(), std::max<size_t>(hint_, 1)),
                          0};
      size_t result = ZSTD_decompressStream(context_, &output, &input);
      packed_.take(input.pos);
      if (ZSTD_isError(result)) {
        damage_ = absl::DataLossError(std::string("damaged zst data: ") + ZSTD_getErrorName(result));
        if (output.pos == 0) return damage_;
        break;
      }
      between_ = result == 0;
      hint_ = result;
      pending_ = output.pos == n && !between_;
    }
    return output.pos;
  }
  std::optional<uint64_t> stored_at() const override { return stored_at_; }
  uint64_t disk_bytes() const override { return packed_.disk_bytes(); }

  std::optional<uint64_t> resume(const Begins& begins) override {
    if (!context_ || damage_.ok()) return std::nullopt;
    const uint64_t from = frame_;
    packed_.seek(frame_ + 1);
    for (; packed_.find(kZstMagic); packed_.take(1)) {
      char unpacked[64];
      ZSTD_outBuffer output{unpacked, sizeof unpacked, 0};
      ZSTD_inBuffer input{packed_.data(), packed_.size(), 0};
      ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
      while (output.pos < output.size && input.pos < input.size &&
             ZSTD_isError(ZSTD_decompressStream(context_, &output, &input)) == 0) {
      }
      ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
      if (!begins({unpacked, output.pos})) continue;
      damage_ = absl::OkStatus();
      between_ = true;
      pending_ = false;
      hint_ = 0;
      return packed_.at() - from;
    }
    return std::nullopt;
  }

 private:
  // A WARC file may begin with the zstd dictionary of its frames, in a skippable frame; the dictionary may
  // be compressed itself. A reader that starts in the middle of the file needs it, too.
  absl::Status begin() {
    begun_ = true;
    constexpr size_t kHead = 8;
    char head[kHead];
    std::string dictionary;
    if (begins_inside_) {
      if (::pread(packed_.fd(), head, kHead, 0) != kHead || !is_dictionary(head)) return absl::OkStatus();
      if (dictionary_size(head) > kMostDictionary) return damage_ = too_large();
      dictionary.resize(dictionary_size(head));
      const ssize_t got = ::pread(packed_.fd(), dictionary.data(), dictionary.size(), kHead);
      if (got != static_cast<ssize_t>(dictionary.size())) return absl::OkStatus();
    } else {
      RETURN_IF_ERROR(packed_.want(kHead));
      if (packed_.size() < kHead || !is_dictionary(packed_.data())) return absl::OkStatus();
      const size_t size = dictionary_size(packed_.data());
      if (size > kMostDictionary) return damage_ = too_large();
      RETURN_IF_ERROR(packed_.want(kHead + size));
      if (packed_.size() < kHead + size) return damage_ = absl::DataLossError("the zst data ends too early");
      dictionary.assign(packed_.data() + kHead, size);
      packed_.take(kHead + size);
    }
    if (std::string_view(dictionary).starts_with(kZstMagic)) {
      std::string unpacked(kMostDictionary, '\0');
      const size_t size =
          ZSTD_decompress(unpacked.data(), unpacked.size(), dictionary.data(), dictionary.size());
      if (ZSTD_isError(size) != 0) return damage_ = absl::DataLossError("the zst dictionary is damaged");
      unpacked.resize(size);
      dictionary = std::move(unpacked);
    }
    if (ZSTD_isError(ZSTD_DCtx_loadDictionary(context_, dictionary.data(), dictionary.size())) != 0)
      return damage_ = absl::DataLossError("the zst dictionary is damaged");
    return absl::OkStatus();
  }
  static absl::Status too_large() { return absl::DataLossError("the zst dictionary is too large"); }
  static bool is_dictionary(const char* head) { return std::string_view(head, 4) == kZstDictionary; }
  static size_t dictionary_size(const char* head) {
    size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(head[4 + i]);
    return size;
  }

  Packed packed_;
  ZSTD_DCtx* context_;
  bool begins_inside_;
  bool begun_ = false;
  uint64_t frame_ = 0;  // where the current frame begins
  std::optional<uint64_t> stored_at_;
  absl::Status damage_;
  size_t hint_ = 0;       // bytes that complete the next block
  bool between_ = true;   // no frame is open
  bool pending_ = false;  // more output may come without more input
};

}  // namespace

Packing packing_of(std::string_view& name) {
  if (name.ends_with(".gz")) {
    name.remove_suffix(3);
    return Packing::gz;
  }
  if (name.ends_with(".zst")) {
    name.remove_suffix(4);
    return Packing::zst;
  }
  return Packing::none;
}

std::unique_ptr<ByteStream> make_byte_stream(Fd fd, Packing packing, ByteCounter counter, std::string head,
                                             Part part) {
  switch (packing) {
    case Packing::gz:
      return std::make_unique<GzStream>(std::move(fd), std::move(counter), std::move(head), part);
    case Packing::zst:
      return std::make_unique<ZstStream>(std::move(fd), std::move(counter), std::move(head), part);
    case Packing::none:
      break;
  }
  return std::make_unique<PlainStream>(std::move(fd), std::move(counter), std::move(head), part);
}

}  // namespace doppel
