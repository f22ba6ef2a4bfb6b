#include "kafka/records.h"

#include <zstd.h>

#include <cstring>

namespace doppel::kafka {

void copy_records(Consumer& consumer, const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch) {
  if (gathered.empty()) return;
  size_t bytes = 0;
  std::vector<Header> headers;      // of all records in order; at first views of the consumer's memory
  std::vector<size_t> headers_end;  // by record
  headers_end.reserve(gathered.size());
  for (const Gathered& g : gathered) {
    bytes += g.record.bytes() + kRecordPadding;
    const size_t first = headers.size();
    consumer.headers(g.record, headers);
    headers_end.push_back(headers.size());
    for (size_t h = first; h < headers.size(); ++h)
      bytes += headers[h].name.size() + (headers[h].value ? headers[h].value->size() : 0);
  }
  const std::shared_ptr<Buffer> buffer = pool.get(bytes);
  char* at = buffer->bytes.get();
  const auto copy = [&](std::string_view from) {
    if (!from.empty()) std::memcpy(at, from.data(), from.size());
    at += from.size();
    return std::string_view(at - from.size(), from.size());
  };
  for (Header& h : headers) {
    h.name = copy(h.name);
    if (h.value) h.value = copy(*h.value);
  }
  const auto all_headers = std::make_shared<const std::vector<Header>>(std::move(headers));
  batch.records.reserve(gathered.size());
  size_t header = 0;
  for (size_t i = 0; i < gathered.size(); ++i) {
    const Gathered& g = gathered[i];
    Record& record = batch.records.emplace_back();
    record.source = *g.topic;
    record.partition = g.partition;
    record.incarnation = g.incarnation;
    record.moved = g.moved;
    if (g.topic_id != nullptr) record.topic_id = *g.topic_id;
    record.offset = static_cast<uint64_t>(g.record.offset);
    record.timestamp_ms = g.record.timestamp_ms;
    record.null_value = g.record.null_value;
    record.value = copy(g.record.value);
    at += kRecordPadding;
    if (g.record.key) record.key = copy(*g.record.key);
    record.headers = std::span<const Header>(*all_headers).subspan(header, headers_end[i] - header);
    header = headers_end[i];
    batch.bytes += g.record.bytes();
  }
  batch.memory.push_back(buffer);
  if (!all_headers->empty()) batch.memory.push_back(all_headers);
}

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
