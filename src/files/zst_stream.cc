#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "files/packed_bytes.h"

namespace doppel {
namespace {

constexpr std::string_view kZstMagic = "\x28\xb5\x2f\xfd";
constexpr size_t kMostDictionary = 16 << 20;

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

std::unique_ptr<ByteStream> make_zst_stream(Packed packed, bool inside) {
  return std::make_unique<ZstStream>(std::move(packed), inside);
}

}  // namespace doppel
