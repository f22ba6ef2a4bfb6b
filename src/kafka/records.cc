#include "kafka/records.h"

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

}  // namespace doppel::kafka
