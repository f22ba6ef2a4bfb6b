// Reads a Parquet file from a stranger (read_table.h). Input that does not begin as one is turned into one:
// its end becomes the footer.

#include <algorithm>
#include <string>

#include "files/parquet/parquet_rows.h"
#include "fuzz/read_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kMagic = doppel::parquet::kMagic;
  if (!bytes.starts_with(kMagic) && size > 2) {
    const uint32_t footer =
        std::min<uint32_t>(data[0] | uint32_t{data[1]} << 8, static_cast<uint32_t>(size) - 2);
    bytes.replace(0, 2, kMagic);
    bytes.append(reinterpret_cast<const char*>(&footer), sizeof footer).append(kMagic);
  }
  doppel::fuzz::read_as_anybody(bytes, [](doppel::Fd fd, const doppel::ByteCounter& counter) {
    return std::make_unique<doppel::parquet::ParquetRows>(std::move(fd), uint64_t{512} << 20,
                                                          uint64_t{1} << 20, counter);
  });
  return 0;
}
