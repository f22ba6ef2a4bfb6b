#pragma once
// Copies a consumer's records into a batch. A copy is needed because parsers read past the end of a value
// (kRecordPadding) and because the consumer's memory is released.

#include <string>
#include <vector>

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

// Appends the records to batch.records in the given order. The batch owns the memory. The caller still has to
// release the records.
void copy_records(Consumer& consumer, const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch);

}  // namespace doppel::kafka
