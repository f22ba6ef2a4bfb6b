#pragma once
// One record of a WARC file (ISO 28500): its head and its block.

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

enum class WarcType : unsigned char {
  response,
  resource,
  conversion,
  revisit,
  request,
  metadata,
  warcinfo,
  continuation,
  other
};

struct WarcRecord {
  WarcType type = WarcType::other;
  std::string_view type_name;
  std::string_view record_id;  // without the brackets around it; so are the URIs
  std::string_view target_uri;
  std::string_view date;
  std::string_view content_type;
  std::string_view payload_digest;
  std::string_view refers_to;  // of a revisit: the record that has the payload
  std::string_view refers_to_uri;
  std::string_view refers_to_date;
  std::string_view profile;
  std::string_view truncated;
  uint64_t content_length = 0;
  size_t head_bytes = 0;   // with the empty line
  std::string_view block;  // what there is of content_length bytes
};

// The longest head that is read.
inline constexpr size_t kMaxWarcHead = 256 << 10;

// Whether a record may begin here: "WARC/", which some tools write in small letters.
bool begins_warc(std::string_view bytes);

// Views point into `bytes`, which begin with a record; what follows it is ignored, and a block that is cut
// off is as long as it is. The error: no record begins here, its head has no end or no length.
absl::StatusOr<WarcRecord> parse_warc_record(std::string_view bytes);

// Whether the record is of this URL; the error is a reason for a dead letter.
absl::Status check_target(const WarcRecord& record, std::string_view url);

// Whether there is the whole head of a record, so that parse_warc_record() can say something final.
bool has_warc_head(std::string_view bytes);

}  // namespace doppel
