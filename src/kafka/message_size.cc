#include "kafka/message_size.h"

#include <zstd.h>

namespace doppel::kafka {

size_t headers_size(std::span<const Header> headers) {
  size_t bytes = 0;
  for (const Header& h : headers) bytes += h.name.size() + (h.value ? h.value->size() : 0) + 8;
  return bytes;
}

size_t bytes_of(const Record& record) {
  return record.value.size() + (record.key ? record.key->size() : 0) + headers_size(record.headers);
}

bool fits(const OutputTopic& topic, size_t bytes) {
  return static_cast<int64_t>(bytes + kMessageOverhead) <= topic.message_bytes_max;
}

bool fits_compressed(const OutputTopic& topic, const Record& record, size_t more) {
  if (fits(topic, bytes_of(record) + more)) return true;
  if (!topic.compressed) return false;
  std::string all(record.key.value_or(std::string_view()));
  for (const Header& h : record.headers) all.append(h.name).append(h.value.value_or(std::string_view()));
  all.append(record.value);
  std::string packed(ZSTD_compressBound(all.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), all.data(), all.size(), ZSTD_CLEVEL_DEFAULT);
  return ZSTD_isError(size) == 0 && fits(topic, size + more + kMessageOverhead);
}

}  // namespace doppel::kafka
