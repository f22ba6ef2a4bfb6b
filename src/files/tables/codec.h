#pragma once
// Unpacks a page of Parquet or a buffer of Arrow. Its head says how long it becomes, and may lie: no more
// memory is taken than that, and no more than the data fills.

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel::tables {

// Parquet's, by their numbers there, and that of Arrow.
enum class Codec : uint8_t { none, snappy, gzip, lzo, brotli, lz4_of_hadoop, zstd, lz4, lz4_frame };

// The error: `packed` bytes that become `size` are a bomb, which is small and takes much memory.
absl::Status check_room(size_t packed, size_t size);

class Unpacker {
 public:
  // `out` becomes exactly `size` bytes. The error says what is wrong with the data.
  absl::Status unpack(Codec codec, std::string_view in, size_t size, std::string& out);

 private:
  absl::Status zstd(std::string_view in, size_t size, std::string& out);

  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd_{nullptr, ZSTD_freeDCtx};
};

}  // namespace doppel::tables
