// A schema, a zero byte, and a record of Avro: whatever the bytes, the schema must be parsed or refused, and
// the record must become JSON of bounded size or be refused. Without a zero byte, the input is a registry's
// answer.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "formats/schema/avro.h"
#include "formats/schema/schema_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t zero = all.find('\0');
  if (zero == std::string_view::npos) {
    (void)doppel::parse_registry_answer(all);
    (void)doppel::parse_registry_error(all);
    return 0;
  }
  const auto schema = doppel::make_avro_schema(std::array{all.substr(0, zero)});
  if (!schema.ok()) return 0;
  // Memory of exactly this size, so that the sanitizer notices a byte too far.
  const size_t length = size - zero - 1;
  const std::unique_ptr<char[]> memory(new char[length]);
  std::copy(all.begin() + static_cast<ptrdiff_t>(zero) + 1, all.end(), memory.get());
  std::string once, twice;
  const bool read = (*schema)->to_json({memory.get(), length}, once).ok();
  if (read != (*schema)->to_json({memory.get(), length}, twice).ok() || once != twice) std::abort();
  if (read && !once.starts_with('{')) std::abort();
  if (read && once.size() > doppel::most_json(length)) std::abort();
  if (read && !doppel::utf8::valid(once)) std::abort();
  return 0;
}
