#include "files/tables/codec.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <brotli/decode.h>
#include <fmt/format.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>

#include <algorithm>

#include "base/status.h"

namespace doppel::tables {
namespace {

constexpr size_t kStep = 64 << 10;
// The largest ratios: snappy copies 64 bytes with three, LZ4 255 with one.
constexpr size_t kMostOfSnappy = 32, kMostOfLz4 = 256;

absl::Status damaged_data(std::string_view codec) {
  return absl::DataLossError(fmt::format("damaged {} data", codec));
}

// Checked before taking memory. Texts shrink to a hundredth at best, but repeats of one text shrink much
// more.
constexpr size_t kAnySize = 64 << 20;
constexpr size_t kMostOfAny = 1000;

absl::Status wrong_size(size_t stated) {
  return absl::DataLossError(fmt::format("it does not unpack to the {} bytes that its head names", stated));
}

// Unpacks into memory that grows as it is filled. step(to, room) writes up to `room` bytes and returns how
// many; fewer than `room` only at the end of the data.
template <typename Step>
absl::Status unpack_in_steps(size_t packed, size_t size, std::string& out, const Step& step) {
  out.clear();
  out.reserve(size + 1);  // address space only; memory is used as it is filled
  // One byte more than stated, to notice if there is more.
  out.resize(std::min(size + 1, std::max(kStep, packed * 8)));
  for (size_t used = 0;;) {
    const size_t room = out.size() - used;
    absl::StatusOr<size_t> got = step(out.data() + used, room);
    RETURN_IF_ERROR(got.status());
    used += *got;
    if (*got == room && used <= size) {
      out.resize(std::min(size + 1, out.size() * 2));
      continue;
    }
    if (used != size) return wrong_size(size);
    out.resize(size);
    return absl::OkStatus();
  }
}

absl::Status gunzip(std::string_view in, size_t size, std::string& out) {
  constexpr int kGzipOrZlib = 15 + 32;
  z_stream z = {};
  if (inflateInit2(&z, kGzipOrZlib) != Z_OK) return absl::ResourceExhaustedError("no memory to unpack");
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  z.next_in = reinterpret_cast<const Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  bool ended = false;
  return unpack_in_steps(in.size(), size, out, [&](char* to, size_t room) -> absl::StatusOr<size_t> {
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = static_cast<uInt>(room);
    while (!ended && z.avail_out > 0) {
      const int result = inflate(&z, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) return damaged_data("gzip");
      // The data may consist of several members.
      ended = result == Z_STREAM_END && (z.avail_in == 0 || inflateReset(&z) != Z_OK);
    }
    return room - z.avail_out;
  });
}

absl::Status unbrotli(std::string_view in, size_t size, std::string& out) {
  const std::unique_ptr<BrotliDecoderState, void (*)(BrotliDecoderState*)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance);
  if (!state) return absl::ResourceExhaustedError("no memory to unpack");
  const auto* from = reinterpret_cast<const uint8_t*>(in.data());
  size_t left = in.size();
  return unpack_in_steps(in.size(), size, out, [&](char* to, size_t room) -> absl::StatusOr<size_t> {
    auto* next = reinterpret_cast<uint8_t*>(to);
    size_t free = room;
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state.get(), &left, &from, &free, &next, nullptr);
    if (result == BROTLI_DECODER_RESULT_ERROR || result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)
      return damaged_data("brotli");
    return room - free;
  });
}

absl::Status unpack_lz4_frame(std::string_view in, size_t size, std::string& out) {
  LZ4F_dctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0)
    return absl::ResourceExhaustedError("no memory to unpack");
  const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> end(context,
                                                                         LZ4F_freeDecompressionContext);
  return unpack_in_steps(in.size(), size, out, [&](char* to, size_t room) -> absl::StatusOr<size_t> {
    size_t filled = 0;
    while (filled < room && !in.empty()) {
      size_t got = room - filled, used = in.size();
      const size_t wants = LZ4F_decompress(context, to + filled, &got, in.data(), &used, nullptr);
      if (LZ4F_isError(wants) != 0 || (got == 0 && used == 0)) return damaged_data("LZ4");
      filled += got;
      in.remove_prefix(used);
    }
    return filled;
  });
}

absl::Status unsnappy(std::string_view in, size_t size, std::string& out) {
  size_t length = 0;
  if (!snappy::GetUncompressedLength(in.data(), in.size(), &length)) return damaged_data("snappy");
  if (length != size || size / kMostOfSnappy > in.size()) return wrong_size(size);
  out.resize(size);
  return snappy::RawUncompress(in.data(), in.size(), out.data()) ? absl::OkStatus() : damaged_data("snappy");
}

absl::Status unlz4(std::string_view in, size_t size, std::string& out) {
  if (size / kMostOfLz4 > in.size()) return wrong_size(size);
  out.resize(size);
  const int got =
      LZ4_decompress_safe(in.data(), out.data(), static_cast<int>(in.size()), static_cast<int>(size));
  if (got < 0) return damaged_data("LZ4");
  return static_cast<size_t>(got) == size ? absl::OkStatus() : wrong_size(size);
}

// Unpacks blocks in the format of Hadoop: each has its unpacked length, then one or more parts with their
// packed lengths. Returns false if the data has another form.
bool unpack_blocks(std::string_view in, size_t size, char* out) {
  constexpr size_t kLength = sizeof(uint32_t);
  const auto length = [&](uint32_t& to) {
    if (in.size() < kLength) return false;
    to = 0;
    for (size_t i = 0; i < kLength; ++i) to = to << 8 | static_cast<uint8_t>(in[i]);
    in.remove_prefix(kLength);
    return true;
  };
  size_t used = 0;
  while (!in.empty()) {
    uint32_t left = 0;
    if (!length(left) || left > size - used) return false;
    while (left > 0) {
      uint32_t packed = 0;
      if (!length(packed) || packed > in.size()) return false;
      const char* from = in.data();
      const int got = LZ4_decompress_safe(from, out + used, static_cast<int>(packed), static_cast<int>(left));
      if (got <= 0) return false;
      in.remove_prefix(packed);
      used += static_cast<size_t>(got);
      left -= static_cast<uint32_t>(got);
    }
  }
  return used == size;
}

// What old writers called LZ4: usually Hadoop's blocks, sometimes a single LZ4 block.
absl::Status unlz4_of_hadoop(std::string_view in, size_t size, std::string& out) {
  if (size / kMostOfLz4 > in.size()) return wrong_size(size);
  out.resize(size);
  return unpack_blocks(in, size, out.data()) ? absl::OkStatus() : unlz4(in, size, out);
}

}  // namespace

absl::Status check_room(size_t packed, size_t size) {
  if (size <= kAnySize || size / kMostOfAny <= packed) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "{} bytes unpack to {}, more than {} times as many, which is not read", packed, size, kMostOfAny));
}

absl::Status Unpacker::zstd(std::string_view in, size_t size, std::string& out) {
  if (!zstd_) zstd_.reset(ZSTD_createDCtx());
  if (!zstd_) return absl::ResourceExhaustedError("no memory to unpack");
  ZSTD_DCtx_reset(zstd_.get(), ZSTD_reset_session_only);
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  return unpack_in_steps(in.size(), size, out, [&](char* to, size_t room) -> absl::StatusOr<size_t> {
    ZSTD_outBuffer into{to, room, 0};
    while (into.pos < into.size) {
      const size_t before = from.pos + into.pos;
      const size_t result = ZSTD_decompressStream(zstd_.get(), &into, &from);
      if (ZSTD_isError(result)) return damaged_data("zstd");
      if (from.pos == from.size && result == 0) break;
      if (from.pos + into.pos == before) return damaged_data("zstd");
    }
    return into.pos;
  });
}

absl::Status Unpacker::unpack(Codec codec, std::string_view in, size_t size, std::string& out) {
  RETURN_IF_ERROR(check_room(in.size(), size));
  switch (codec) {
    case Codec::none:
      if (in.size() != size) return wrong_size(size);
      out.assign(in);
      return absl::OkStatus();
    case Codec::snappy:
      return unsnappy(in, size, out);
    case Codec::gzip:
      return gunzip(in, size, out);
    case Codec::brotli:
      return unbrotli(in, size, out);
    case Codec::zstd:
      return zstd(in, size, out);
    case Codec::lz4:
      return unlz4(in, size, out);
    case Codec::lz4_frame:
      return unpack_lz4_frame(in, size, out);
    case Codec::lz4_of_hadoop:
      return unlz4_of_hadoop(in, size, out);
    case Codec::lzo:
      break;
  }
  return absl::UnimplementedError("packed by a codec that is not read");
}

}  // namespace doppel::tables
