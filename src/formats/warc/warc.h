#pragma once
// One record of a WARC file (ISO 28500): its head and its block, and the document that it holds.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/checksums.h"
#include "formats/body.h"
#include "formats/decoder.h"
#include "formats/fields.h"
#include "formats/record.h"

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
  std::string_view record_id;  // without the surrounding brackets, like the URIs
  std::string_view target_uri;
  std::string_view date;
  std::string_view content_type;
  std::string_view payload_digest;
  std::string_view refers_to;  // for a revisit: the record with the payload
  std::string_view refers_to_uri;
  std::string_view refers_to_date;
  std::string_view profile;
  std::string_view truncated;
  uint64_t content_length = 0;
  size_t head_bytes = 0;   // includes the empty line
  std::string_view block;  // the available part of content_length bytes
};

// Longer heads are an error.
inline constexpr size_t kMaxWarcHead = 256 << 10;

// Whether the bytes start like a record: "WARC/". Some tools write it in lower case.
bool begins_warc(std::string_view bytes);

// Parses the record at the start of `bytes` and ignores what follows it. Views point into `bytes`; a
// truncated block is shorter than content_length. Fails if no record starts here, or if its head has no end
// or no length.
absl::StatusOr<WarcRecord> parse_warc_record(std::string_view bytes);

// Checks that the record is of this URL. The error is a reason for a dead letter.
absl::Status check_target(const WarcRecord& record, std::string_view url);

// The ids of the records that a head names as parts of the same exchange (WARC-Concurrent-To), without
// brackets.
std::vector<std::string_view> concurrent_to(std::string_view head);

// Whether the head of the record is complete, so that parse_warc_record() gives a final answer.
bool has_warc_head(std::string_view bytes);

// The digests by which archives identify payloads. Crawlers differ in the algorithm and its spelling, or omit
// it, so digests are compared in one form: "sha1:" and 32 letters of Base32.
std::string payload_digest(Sha1& payload);

// Converts a SHA-1 in hex digits to Base32, and leaves other spellings of the value. "" if there is no SHA-1.
std::string sha1_of_header(std::string_view digest);

// The same for a digest alone, without or with "sha1:". "" if it is no SHA-1.
std::string sha1_digest(std::string_view digest);

// Where the payload starts in the block: after the head of an HTTP response. Returns nullopt if the available
// part of the block does not contain the whole head, or if the record has no payload.
std::optional<size_t> payload_begin(const WarcRecord& record);

// Returns the record's own SHA-1, or the computed SHA-1 of its payload. If only the beginning of the block is
// available, `rest` holds the computed one. "" if there is neither.
std::string payload_digest_of(const WarcRecord& record, const RecordRest* rest);

// Decodes a WARC record into a document: a response, the text of a page, or a conversion.
class WarcDecoder final : public Decoder {
 public:
  explicit WarcDecoder(const FormatOptions& options);

  absl::Status decode(const Record& record, Document& out) override;

  // Completes a message that only points to the record `bytes`: adds the text, and what the message lacks.
  // The record must be of the same URL, or, if `revisited`, the one that its revisit record refers to.
  absl::Status complete(std::string_view bytes, bool revisited, Document& out);

 private:
  absl::Status take(const WarcRecord& record, Document& out);
  absl::Status take_response(const WarcRecord& record, Document& out);
  absl::Status too_large(const WarcRecord& record, Document& out) const;
  void take_digest(const WarcRecord& record, const RecordRest* rest, Document& out);
  absl::Status take_block(BodyBytes body, const WarcRecord& record, Document& out);
  absl::Status take_body(BodyBytes body, Document& out);

  Rules rules_;
  BodyReader bodies_;
  size_t max_bytes_;
  std::vector<WantedField> fields_;
  Gathered gathered_;
  std::string chunks_, content_, digest_;
};

}  // namespace doppel
