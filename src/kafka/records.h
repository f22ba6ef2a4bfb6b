#pragma once
// Records on their way between Kafka and a batch: copies of those that came, and the sizes of those that go.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/record.h"
#include "kafka/cluster.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel::kafka {

struct Gathered {
  Incoming record;
  const std::string* topic;  // lives as long as the source
  int32_t partition;
  uint32_t incarnation = 1, moved = 0;    // of the topic, as in Record
  const std::string* topic_id = nullptr;  // the same; lives as long as the source
};

// The memory for a batch of this size, with padding, headers and the record that fills it.
constexpr size_t buffer_bytes(size_t batch_bytes) { return batch_bytes + batch_bytes / 4; }

// Appends copies of the records to batch.records in the given order: parsers read past the end of a value
// (kRecordPadding). The batch owns the memory. The caller still has to release the records.
void copy_records(Consumer& consumer, const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch);

// Which messages fit into an output topic. Topics limit a message together with the batch around it.

inline constexpr size_t kMessageOverhead = 512;  // bytes of a record and its batch besides our payload

struct OutputTopic {
  std::string name;                       // empty: none
  int64_t message_bytes_max = 1'000'000;  // of the topic
  bool compressed = false;                // the limit counts compressed bytes
};

size_t headers_size(std::span<const Header> headers);
size_t bytes_of(const Record& record);  // value, key and headers

bool fits(const OutputTopic& topic, size_t bytes);
// Whether the whole record and `more` bytes fit. A record that came compressed may fit only if it is
// compressed again, so this measures it that way.
bool fits_compressed(const OutputTopic& topic, const Record& record, size_t more);

}  // namespace doppel::kafka
