#include "stream/files/byte_stream.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kPackedBuffer = 256 << 10;

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

 private:
  ssize_t read_part(char* out, size_t n) const {
    return ::pread(fd_.get(), out, std::min<uint64_t>(n, part_.size - taken_),
                   static_cast<off_t>(part_.begin + taken_));
  }

  Fd fd_;
  ByteCounter counter_;
  std::string head_;
  Part part_;
  size_t given_ = 0;  // of it
  uint64_t last_ = 0;
  uint64_t taken_ = 0;
};

// The packed bytes on their way into a decompressor.
class Packed {
 public:
  Packed(Fd fd, ByteCounter counter, std::string head, Part part)
      : file_(std::move(fd), std::move(counter), std::move(head), part), buffer_(kPackedBuffer) {}

  // There is at least one byte to take. False: the file has ended.
  absl::StatusOr<bool> fill() {
    if (begin_ < end_) return true;
    ASSIGN_OR_RETURN(size_t got, file_.read(buffer_.data(), buffer_.size()));
    begin_ = 0;
    end_ = got;
    return got > 0;
  }
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

// Any number of gzip members one after the other; zeros may pad the end, as tar and tapes leave them.
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

 private:
  // At the start of the file or after a member. False: only padding was there, or damage_ is set.
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
      : packed_(std::move(fd), std::move(counter), std::move(head), part), context_(ZSTD_createDCtx()) {
    // Archives packed with --long=31 exist; memory is taken only for files that need it.
    if (context_) ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, sizeof(size_t) == 8 ? 31 : 30);
  }
  ~ZstStream() override { ZSTD_freeDCtx(context_); }
  ZstStream(const ZstStream&) = delete;
  ZstStream& operator=(const ZstStream&) = delete;

  absl::StatusOr<size_t> read(char* out, size_t n) override {
    if (!context_) return absl::ResourceExhaustedError("no memory to unpack zst data");
    if (!damage_.ok()) return damage_;
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
      if (between_) stored_at_ = packed_.at();
      // One block per call, and none while output is pending: an error loses what the same call has unpacked.
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

 private:
  Packed packed_;
  ZSTD_DCtx* context_;
  std::optional<uint64_t> stored_at_;
  absl::Status damage_;
  size_t hint_ = 0;       // how many bytes complete the next block
  bool between_ = true;   // no frame is open
  bool pending_ = false;  // there may be output without more input
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
