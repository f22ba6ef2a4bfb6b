#include "stream/kafka/records.h"

#include <cstring>

namespace doppel::kafka {
namespace {

// Headers of a message; the views live as long as the message does.
size_t count_headers(const rd_kafka_message_t* m, rd_kafka_headers_t** headers) {
  *headers = nullptr;
  return rd_kafka_message_headers(m, headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? rd_kafka_header_cnt(*headers)
                                                                            : 0;
}

}  // namespace

void copy_records(const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch) {
  size_t bytes = 0, headers_total = 0;
  rd_kafka_headers_t* headers = nullptr;
  for (const auto& [m, topic] : gathered) {
    bytes += size_of(m) + kRecordPadding;
    const size_t n = count_headers(m, &headers);
    headers_total += n;
    for (size_t h = 0; h < n; ++h) {
      const char* name = nullptr;
      const void* value = nullptr;
      size_t size = 0;
      rd_kafka_header_get_all(headers, h, &name, &value, &size);
      bytes += std::strlen(name) + size;
    }
  }
  const std::shared_ptr<Buffer> buffer = pool.get(bytes);
  auto all_headers = headers_total == 0 ? nullptr : std::make_shared<std::vector<Header>>();
  if (all_headers) all_headers->reserve(headers_total);
  char* at = buffer->bytes.get();
  const auto copy = [&](const void* from, size_t size) {
    if (from != nullptr && size != 0) std::memcpy(at, from, size);
    at += size;
    return std::string_view(at - size, size);
  };
  batch.records.reserve(gathered.size());
  for (const auto& [m, topic] : gathered) {
    Record& record = batch.records.emplace_back();
    record.source = *topic;
    record.partition = m->partition;
    record.offset = static_cast<uint64_t>(m->offset);
    record.timestamp_ms = rd_kafka_message_timestamp(m, nullptr);
    record.null_value = m->payload == nullptr;
    record.value = copy(m->payload, m->len);
    at += kRecordPadding;
    if (m->key != nullptr) record.key = copy(m->key, m->key_len);
    const size_t n = count_headers(m, &headers);
    const size_t first = n == 0 ? 0 : all_headers->size();
    for (size_t h = 0; h < n; ++h) {
      const char* name = nullptr;
      const void* value = nullptr;
      size_t size = 0;
      rd_kafka_header_get_all(headers, h, &name, &value, &size);
      Header& header = all_headers->emplace_back(Header{copy(name, std::strlen(name)), std::nullopt});
      if (value != nullptr) header.value = copy(value, size);
    }
    if (n != 0) record.headers = std::span<const Header>(*all_headers).subspan(first, n);
    batch.bytes += size_of(m);
  }
  if (gathered.empty()) return;
  batch.memory.push_back(buffer);
  if (all_headers) batch.memory.push_back(all_headers);
}

}  // namespace doppel::kafka
