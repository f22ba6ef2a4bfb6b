#pragma once
// Unpacks a page. Its head says how long it becomes, and may lie: no more memory is taken than that, and no
// more than the data fills.

#include <zstd.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "stream/files/parquet/footer.h"

namespace doppel::parquet {

class Unpacker {
 public:
  // `out` becomes exactly `size` bytes. The error says what is wrong with the data.
  absl::Status unpack(Codec codec, std::string_view in, size_t size, std::string& out);

 private:
  absl::Status zstd(std::string_view in, size_t size, std::string& out);

  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd_{nullptr, ZSTD_freeDCtx};
};

}  // namespace doppel::parquet
