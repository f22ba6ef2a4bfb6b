#include "http/unpack.h"

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "http/message.h"

namespace doppel::http {
namespace {

constexpr size_t kPiece = 64 << 10;
// zstd's own default for decoders is 128 MiB for each; RFC 8878 recommends to support 8 MiB.
constexpr int kWindowLog = 23;

// Where unpacked bytes go, piece by piece.
class Out {
 public:
  Out(uint64_t max, const std::function<bool(uint64_t)>& room, std::string& text)
      : max_(max), room_(room), text_(text) {}
  Unpacked add(const char* bytes, size_t size) {
    if (text_.size() + size > max_) return Unpacked::too_large;
    if (size > 0 && !room_(size)) return Unpacked::no_room;
    text_.append(bytes, size);
    return Unpacked::whole;
  }

 private:
  const uint64_t max_;
  const std::function<bool(uint64_t)>& room_;
  std::string& text_;
};

Unpacked gunzip(std::string_view in, Out& out) {
  z_stream z = {};
  if (inflateInit2(&z, 15 + 16) != Z_OK) return Unpacked::no_room;
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  z.next_in = reinterpret_cast<const Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());  // a body has at most 1 GiB
  std::vector<char> piece(kPiece);
  for (;;) {
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = kPiece;
    const int result = inflate(&z, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return Unpacked::damaged;
    if (const Unpacked added = out.add(piece.data(), kPiece - z.avail_out); added != Unpacked::whole)
      return added;
    if (result == Z_OK) continue;
    if (z.avail_in == 0) return Unpacked::whole;
    if (inflateReset(&z) != Z_OK) return Unpacked::damaged;  // another member follows
  }
}

Unpacked unzstd(std::string_view in, Out& out) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return Unpacked::no_room;
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog);
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  std::vector<char> piece(kPiece);
  for (;;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    const size_t left = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(left) != 0) return Unpacked::damaged;
    if (const Unpacked added = out.add(piece.data(), to.pos); added != Unpacked::whole) return added;
    if (from.pos == from.size && left == 0) return Unpacked::whole;  // also when the piece is exactly full
    if (from.pos == from.size && to.pos < to.size) return Unpacked::damaged;
  }
}

}  // namespace

Unpacked unpack(std::string_view coding, std::string_view packed, uint64_t max,
                const std::function<bool(uint64_t)>& room, std::string& out) {
  Out to(max, room, out);
  if (same_word(coding, "gzip") || same_word(coding, "x-gzip")) return gunzip(packed, to);
  if (same_word(coding, "zstd")) return unzstd(packed, to);
  return Unpacked::unknown_coding;
}

}  // namespace doppel::http
