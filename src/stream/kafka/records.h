#pragma once
// Messages of the library as records of a batch: copied, because parsers read past the end of a value, and
// because the library gets its memory back.

#include <librdkafka/rdkafka.h>

#include <string>
#include <vector>

#include "stream/buffers.h"
#include "stream/stream.h"

namespace doppel::kafka {

struct Gathered {
  rd_kafka_message_t* message;
  const std::string* topic;  // lives as long as the source
};

inline size_t size_of(const rd_kafka_message_t* m) { return m->len + m->key_len; }

// Appends to batch.records, in this order; the batch keeps the memory.
void copy_records(const std::vector<Gathered>& gathered, BufferPool& pool, Batch& batch);

}  // namespace doppel::kafka
