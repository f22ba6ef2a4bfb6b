// zlib.h: input pointers are const
#define ZLIB_CONST
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "files/packed_bytes.h"

namespace doppel {
namespace {

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

}  // namespace

std::unique_ptr<ByteStream> make_gz_stream(Packed packed) {
  return std::make_unique<GzStream>(std::move(packed));
}

}  // namespace doppel
