#include "files/byte_stream.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace doppel {
namespace {

// The bytes of a file as they are stored.
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
      if (fd_.arriving() != nullptr) RETURN_IF_ERROR(await(place() + n));
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
  // See Arriving.
  absl::Status await(uint64_t end) const {
    return fd_.arriving() != nullptr ? fd_.arriving()->await(end) : absl::OkStatus();
  }
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
  // Where the next byte lies in the file. A caller may have moved the offset of a whole file.
  uint64_t place() const {
    return part_.is_all() ? static_cast<uint64_t>(::lseek(fd_.get(), 0, SEEK_CUR)) : part_.begin + taken_;
  }
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
  // Goes on, behind damage in the member at `damaged`, at the first member from which `unpack` gets bytes
  // that `begins` accepts; a member begins with `magic`. Returns how many bytes are left out; nullopt: none
  // follows. The damaged member may have unpacked to too many bytes, so the search starts just behind its
  // first byte.
  template <typename Unpack>
  std::optional<uint64_t> resume(uint64_t damaged, std::string_view magic, const ByteStream::Begins& begins,
                                 const Unpack& unpack) {
    seek(damaged + 1);
    for (; find(magic); take(1)) {
      char unpacked[64];
      if (begins({unpacked, unpack(unpacked, sizeof unpacked)})) return at() - damaged;
    }
    return std::nullopt;
  }
  // Returns false and stays where it is if the file is a pipe.
  bool seek(uint64_t at) {
    if (!file_.seek(at)) return false;
    begin_ = end_ = 0;
    return true;
  }
  int fd() const { return file_.fd(); }
  absl::Status await(uint64_t end) const { return file_.await(end); }
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

constexpr std::string_view kGzMagic = "\x1f\x8b\x08";

// Unpacks members that are there as a whole and small, as the records of a WARC file are: three times as fast
// as zlib, which reads bytes as they come.
class WholeMembers {
 public:
  // Unpacks the member at the start of `packed`. Returns how many bytes it takes there; 0 if it is damaged,
  // or larger than `packed` or than kMost.
  size_t unpack(std::string_view packed) {
    begin_ = end_ = 0;
    if (decoder_ == nullptr) decoder_.reset(libdeflate_alloc_decompressor());
    if (decoder_ == nullptr) return 0;
    if (room_ == 0) grow(kFirst);
    for (;;) {
      size_t taken = 0;
      const libdeflate_result result = libdeflate_gzip_decompress_ex(
          decoder_.get(), packed.data(), packed.size(), bytes_.get(), room_, &taken, &end_);
      if (result == LIBDEFLATE_SUCCESS) return taken;
      end_ = 0;
      if (result != LIBDEFLATE_INSUFFICIENT_SPACE || room_ >= kMost) return 0;
      grow(room_ * 4);
    }
  }
  bool empty() const { return begin_ == end_; }
  size_t take(char* out, size_t n) {
    const size_t size = std::min(n, end_ - begin_);
    std::copy_n(bytes_.get() + begin_, size, out);
    begin_ += size;
    return size;
  }

 private:
  static constexpr size_t kFirst = 256 << 10, kMost = 4 << 20;
  struct Free {
    void operator()(libdeflate_decompressor* decoder) const { libdeflate_free_decompressor(decoder); }
  };

  void grow(size_t room) {
    bytes_ = std::make_unique_for_overwrite<char[]>(room);
    room_ = room;
  }

  std::unique_ptr<libdeflate_decompressor, Free> decoder_;
  std::unique_ptr<char[]> bytes_;
  size_t room_ = 0, begin_ = 0, end_ = 0;
};

// Reads members one after the other. Zeros may follow the last one, as tar and tapes leave them.
class GzStream final : public ByteStream {
 public:
  explicit GzStream(Packed packed) : packed_(std::move(packed)) {
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
    if (!whole_.empty()) return whole_.take(out, n);
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
          if (const size_t taken = unpack_whole(); taken > 0) {
            packed_.take(taken);
            between_ = true;
            done = whole_.take(out, n);
            continue;
          }
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
    const auto unpack = [&](char* out, size_t room) {
      inflateReset(&z_);
      z_.next_in = reinterpret_cast<const Bytef*>(packed_.data());
      z_.avail_in = static_cast<uInt>(packed_.size());
      z_.next_out = reinterpret_cast<Bytef*>(out);
      z_.avail_out = static_cast<uInt>(room);
      inflate(&z_, Z_SYNC_FLUSH);
      return room - z_.avail_out;
    };
    const std::optional<uint64_t> left_out = packed_.resume(member_, kGzMagic, begins, unpack);
    if (!left_out) return std::nullopt;
    inflateReset(&z_);
    damage_ = absl::OkStatus();
    between_ = true;
    padded_ = false;
    members_ = 0;
    return left_out;
  }

 private:
  // Unpacks the member that begins here, if it is small and undamaged, and returns how many packed bytes it
  // takes. zlib reads all others, which costs them at most a third more. A pipe is not waited for.
  size_t unpack_whole() {
    if (!packed_.is_file()) return 0;
    if (packed_.size() < kLookAhead && !packed_.want(kLookAhead).ok()) return 0;
    return whole_.unpack({packed_.data(), packed_.size()});
  }
  static constexpr size_t kLookAhead = 192 << 10;

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
  WholeMembers whole_;
  z_stream z_ = {};
  absl::Status damage_;
  uint64_t members_ = 0;
  uint64_t member_ = 0;
  std::optional<uint64_t> stored_at_;
  bool ready_ = false;
  bool between_ = true;
  bool padded_ = false;
};

constexpr std::string_view kZstMagic = "\x28\xb5\x2f\xfd";
constexpr size_t kMostDictionary = 16 << 20;

// Reads frames one after the other. `inside`: the bytes begin in the middle of the stored file.
class ZstStream final : public ByteStream {
 public:
  ZstStream(Packed packed, bool inside)
      : packed_(std::move(packed)), context_(ZSTD_createDCtx()), begins_inside_(inside) {
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
    const auto unpack = [&](char* out, size_t room) {
      ZSTD_outBuffer output{out, room, 0};
      ZSTD_inBuffer input{packed_.data(), packed_.size(), 0};
      ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
      while (output.pos < output.size && input.pos < input.size &&
             ZSTD_isError(ZSTD_decompressStream(context_, &output, &input)) == 0) {
      }
      ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
      return output.pos;
    };
    const std::optional<uint64_t> left_out = packed_.resume(frame_, kZstMagic, begins, unpack);
    if (!left_out) return std::nullopt;
    damage_ = absl::OkStatus();
    between_ = true;
    pending_ = false;
    hint_ = 0;
    return left_out;
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
      RETURN_IF_ERROR(packed_.await(kHead + kMostDictionary));
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
  if (packing == Packing::none)
    return std::make_unique<PlainStream>(std::move(fd), std::move(counter), std::move(head), part);
  Packed packed(std::move(fd), std::move(counter), std::move(head), part);
  if (packing == Packing::gz) return std::make_unique<GzStream>(std::move(packed));
  return std::make_unique<ZstStream>(std::move(packed), part.begin > 0);
}

}  // namespace doppel
