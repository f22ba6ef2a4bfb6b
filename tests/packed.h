#pragma once
// Compresses bytes as files and web servers do.

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

namespace doppel {

// window: 15 for what HTTP calls deflate, -15 for the same without zlib's head, 15 + 16 for gzip.
inline std::string deflated(std::string_view bytes, int window) {
  z_stream z = {};
  deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, bytes.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

inline std::string gz(std::string_view bytes) { return deflated(bytes, 15 + 16); }

inline std::string zst(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

}  // namespace doppel
