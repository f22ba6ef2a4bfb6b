#pragma once
// The data of a document, besides its set, that the index stores with an original and that events show.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "formats/best.h"
#include "formats/document.h"
#include "formats/record.h"
#include "text/hash_key.h"

namespace doppel {

struct Metadata {           // views into the encoded form, or into the source of the values
  std::string_view source;  // file or topic
  int32_t partition = -1;
  uint32_t incarnation = 1;  // of the topic; the same offset in another incarnation is another document
  uint32_t moved = 0;        // how many incarnations before are the same topic (state/index_log.h)
  uint64_t offset = 0;
  std::string_view id;  // stated by the format; may be empty
  std::string_view url;
  std::optional<int64_t> date_ms;     // stated by the document
  std::optional<int64_t> arrival_ms;  // Kafka's timestamp
  bool whole_file = false;
  std::string_view text_source;         // see Document::text_source
  std::optional<std::string_view> key;  // Kafka's record key
  std::string_view content_type;
  std::string_view payload_digest;
  Digest
      payload;  // digest of the payload digest and the scope, as the engine uses it; zeros if there is none
  std::optional<WarcOrigin> warc;
  std::string_view tags;
  std::string_view passthrough;
  std::optional<BestValue> best;  // if a setting chooses the best copy

  // source/offset for files, topic/partition/offset for Kafka. The second topic of a name is topic@2, and so
  // on. Unique for ever on Kafka.
  std::string event_id() const;
  // The document's name: the id that the format states, else the key (as "b64:..." if it is not UTF-8), else
  // the name of a whole file, else the event_id.
  std::string name() const;
};

// Whether a document is an earlier one that came again: both belong to the same Kafka record. Topic,
// incarnation, partition and offset identify a record. Where an earlier incarnation was the same topic, the
// offset may hold another record, so there the texts must also be equal. False for files, because a file that
// is read twice or replaced has the same positions.
bool is_same_record(std::string_view earlier, std::string_view now, bool same_text);

// The header of records that a daemon produced from a request (intake/to_topic.h), and its value in this
// record. A client that heard nothing sends a document again, so such records can come twice.
inline constexpr std::string_view kHttpHeader = "doppel.http";
std::optional<std::string_view> came_by_http(const Record& record);
// Whether two documents, as encoded, have the same id or key, and no different dates.
bool is_same_name(std::string_view earlier, std::string_view now);

Digest payload_of_metadata(std::string_view encoded);
std::optional<BestValue> best_of_metadata(std::string_view encoded);

Metadata metadata_of(const Record& record, const Document& document);

// A document whose encoded metadata is longer is rejected.
inline constexpr size_t kMaxMetadata = 64 << 10;

void encode_metadata(const Metadata& metadata, std::string& out);
absl::Status decode_metadata(std::string_view encoded, Metadata& out);

// What the index keeps of the copy that a cluster shows in place of its original, because it is better
// (output.best).
struct ShownCopy {  // views into the encoded form, or into the source of the values
  double value = 0;
  std::string_view event_id, id;
};

std::string encode_shown(const ShownCopy& copy);
absl::Status decode_shown(std::string_view encoded, ShownCopy& out);

}  // namespace doppel
