#pragma once
// Records of a consumer as records of a batch: copied, because parsers read past the end of a value, and
// because the consumer gets its memory back.

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
  uint32_t incarnation = 1;  // of the topic
};

// Appends to batch.records, in this order; the batch keeps the memory.
void copy_records(Consumer& consumer, const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch);

}  // namespace doppel::kafka
