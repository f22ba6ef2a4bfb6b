#pragma once
// What is kept on disk of an original besides its set, and what an event says of a document.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "formats/document.h"
#include "formats/record.h"
#include "text/digest.h"

namespace doppel {

struct Metadata {           // views into the encoded form, or into what it was made from
  std::string_view source;  // file or topic
  int32_t partition = -1;
  uint32_t incarnation = 1;  // of the topic; the same offset of another one is another document
  uint64_t offset = 0;
  std::string_view id;  // what the format says; may be empty
  std::string_view url;
  std::optional<int64_t> date_ms;     // what the document says
  std::optional<int64_t> arrival_ms;  // Kafka's timestamp
  bool whole_file = false;
  std::string_view text_source;         // Document::text_source
  std::optional<std::string_view> key;  // Kafka's
  std::string_view content_type;
  std::string_view payload_digest;
  Digest payload;  // the same with the scope, as the engine knows it; zeros: none
  std::optional<WarcOrigin> warc;
  std::string_view tags;
  std::string_view passthrough;

  // source/offset for files, topic/partition/offset for Kafka, with topic@2 for the second topic of its name
  // and so on: unique for ever.
  std::string event_id() const;
  // What the document is called: what the format says, else the key (as "b64:..." if it is not UTF-8), else
  // the name of a whole file, else the event_id.
  std::string name() const;
};

// Whether both are of one record of Kafka: topic, its incarnation, partition and offset are given once. Of
// files it is false: one that is read twice, or replaced, has the same places again.
bool is_same_record(std::string_view encoded, std::string_view other);

Digest payload_of_metadata(std::string_view encoded);

Metadata metadata_of(const Record& record, const Document& document);

// A document whose metadata is longer when encoded is refused (rejected).
inline constexpr size_t kMaxMetadata = 64 << 10;

void encode_metadata(const Metadata& metadata, std::string& out);
absl::Status decode_metadata(std::string_view encoded, Metadata& out);

}  // namespace doppel
