// Reads an Arrow file from a stranger (read_table.h). Input that does not begin as one is turned into a
// stream.

#include <string>

#include "files/arrow/arrow_rows.h"
#include "fuzz/read_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.starts_with(doppel::arrow::kFileBegins) && !bytes.starts_with(doppel::arrow::kStreamBegins) &&
      !doppel::arrow::is_old_stream(bytes))
    bytes.insert(0, doppel::arrow::kStreamBegins);
  doppel::fuzz::read_as_anybody(bytes, [](doppel::Fd fd, const doppel::ByteCounter& counter) {
    return std::make_unique<doppel::arrow::ArrowRows>(std::move(fd), counter, uint64_t{1} << 20);
  });
  return 0;
}
