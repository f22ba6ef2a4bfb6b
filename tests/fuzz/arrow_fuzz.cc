// An Arrow file of anybody (read_table.h).

#include "fuzz/read_table.h"
#include "stream/files/arrow/arrow_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppel::fuzz::read_as_anybody({reinterpret_cast<const char*>(data), size},
                                [](doppel::Fd fd, const doppel::ByteCounter& counter) {
                                  return std::make_unique<doppel::arrow::ArrowRows>(std::move(fd), counter);
                                });
  return 0;
}
