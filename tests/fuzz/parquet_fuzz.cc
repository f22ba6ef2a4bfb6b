// A Parquet file of anybody (read_table.h).

#include "fuzz/read_table.h"
#include "stream/files/parquet/parquet_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppel::fuzz::read_as_anybody(
      {reinterpret_cast<const char*>(data), size}, [](doppel::Fd fd, const doppel::ByteCounter& counter) {
        return std::make_unique<doppel::parquet::ParquetRows>(std::move(fd), uint64_t{512} << 20, counter);
      });
  return 0;
}
