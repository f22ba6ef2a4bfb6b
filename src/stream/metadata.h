#pragma once
// What is kept on disk of a representative besides its set, and what an event says of a document.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "doppel/document.h"
#include "stream/stream.h"

namespace doppel {

struct Metadata {           // views into the encoded form, or into what it was made from
  std::string_view source;  // file or topic
  int32_t partition = -1;
  uint64_t offset = 0;
  std::string_view id;  // what the format says; may be empty
  std::string_view url;
  std::optional<int64_t> timestamp_ms;

  // source/offset for files, topic/partition/offset for Kafka: unique for ever.
  std::string event_id() const;
  // What the document is called: what the format says, else the name of a whole file, else the event_id.
  std::string name() const;
  bool whole_file = false;
};

Metadata metadata_of(const Record& record, const Document& document);

// Longer ids and urls are refused (the document is rejected).
inline constexpr size_t kMaxMetadata = 64 << 10;

void encode_metadata(const Metadata& metadata, std::string& out);
absl::Status decode_metadata(std::string_view encoded, Metadata& out);

}  // namespace doppel
