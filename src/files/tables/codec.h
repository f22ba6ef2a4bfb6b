#pragma once
// Unpacks a page of Parquet or a buffer of Arrow. The stated size may be wrong: the result never takes more
// memory than the stated size or the unpacked data.

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel::tables {

// Parquet's codecs by their numbers there, and Arrow's LZ4 frames.
enum class Codec : uint8_t { none, snappy, gzip, lzo, brotli, lz4_of_hadoop, zstd, lz4, lz4_frame };

// It is an error if `packed` bytes that unpack to `size` are a decompression bomb.
absl::Status check_room(size_t packed, size_t size);

class Unpacker {
 public:
  // Unpacks `in` to exactly `size` bytes. The error says what is wrong with the data.
  absl::Status unpack(Codec codec, std::string_view in, size_t size, std::string& out);

 private:
  absl::Status zstd(std::string_view in, size_t size, std::string& out);

  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd_{nullptr, ZSTD_freeDCtx};
};

}  // namespace doppel::tables
