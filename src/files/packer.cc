#include "files/packer.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace doppel {
namespace {

constexpr size_t kMost = 1U << 30;  // zlib counts in 32 bits

class GzPacker final : public Packer {
 public:
  GzPacker() { ready_ = deflateInit2(&z_, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK; }
  ~GzPacker() override {
    if (ready_) deflateEnd(&z_);
  }
  GzPacker(const GzPacker&) = delete;
  GzPacker& operator=(const GzPacker&) = delete;

  absl::Status pack(std::string_view bytes, std::string& out) override { return put(bytes, true, out); }
  absl::Status begin(std::string_view bytes, std::string& out) override { return put(bytes, false, out); }

 private:
  absl::Status put(std::string_view bytes, bool ends, std::string& out) {
    if (!ready_ || (!open_ && deflateReset(&z_) != Z_OK))
      return absl::ResourceExhaustedError("no memory to pack gz data");
    open_ = !ends;
    size_t end = out.size();
    do {
      const std::string_view part = bytes.substr(0, kMost);
      bytes.remove_prefix(part.size());
      z_.next_in = reinterpret_cast<const Bytef*>(part.data());
      z_.avail_in = static_cast<uInt>(part.size());
      do {
        const size_t room = std::clamp<size_t>(part.size() / 2, 4096, kMost);
        out.resize(end + room);
        z_.next_out = reinterpret_cast<Bytef*>(out.data() + end);
        z_.avail_out = static_cast<uInt>(room);
        deflate(&z_, ends && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        end += room - z_.avail_out;
      } while (z_.avail_out == 0);
    } while (!bytes.empty());
    out.resize(end);
    return absl::OkStatus();
  }

  z_stream z_ = {};
  bool ready_ = false;
  bool open_ = false;  // a member has begun and not ended
};

class ZstPacker final : public Packer {
 public:
  absl::Status pack(std::string_view bytes, std::string& out) override {
    if (context_ == nullptr) return absl::ResourceExhaustedError("no memory to pack zst data");
    if (open_) return put(bytes, ZSTD_e_end, out);
    const size_t at = out.size();
    out.resize(at + ZSTD_compressBound(bytes.size()));
    const size_t size = ZSTD_compressCCtx(context_.get(), out.data() + at, out.size() - at, bytes.data(),
                                          bytes.size(), ZSTD_CLEVEL_DEFAULT);
    out.resize(at + (ZSTD_isError(size) != 0 ? 0 : size));
    return ZSTD_isError(size) != 0 ? absl::ResourceExhaustedError(ZSTD_getErrorName(size)) : absl::OkStatus();
  }
  absl::Status begin(std::string_view bytes, std::string& out) override {
    if (context_ == nullptr) return absl::ResourceExhaustedError("no memory to pack zst data");
    return put(bytes, ZSTD_e_continue, out);
  }

 private:
  absl::Status put(std::string_view bytes, ZSTD_EndDirective how, std::string& out) {
    // The last complete frame left its size in the context, and this frame has another.
    if (!open_) ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
    open_ = how != ZSTD_e_end;
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
      const size_t at = out.size();
      out.resize(at + ZSTD_CStreamOutSize());
      ZSTD_outBuffer packed{out.data() + at, out.size() - at, 0};
      const size_t left = ZSTD_compressStream2(context_.get(), &packed, &in, how);
      out.resize(at + packed.pos);
      if (ZSTD_isError(left) != 0) return absl::ResourceExhaustedError(ZSTD_getErrorName(left));
      more = how == ZSTD_e_end ? left != 0 : in.pos < in.size;
    }
    return absl::OkStatus();
  }

  bool open_ = false;  // a frame has begun and not ended
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

}  // namespace

std::unique_ptr<Packer> make_packer(Packing packing) {
  switch (packing) {
    case Packing::gz:
      return std::make_unique<GzPacker>();
    case Packing::zst:
      return std::make_unique<ZstPacker>();
    case Packing::none:
      break;
  }
  return nullptr;
}

}  // namespace doppel
