#pragma once
// One record as it arrived from a source: what a decoder makes a Document of.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// A document too large to be held: read piece by piece, by one thread, once.
class PieceReader {
 public:
  virtual ~PieceReader() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual absl::StatusOr<std::string_view> next() = 0;
};

// What follows the beginning of a WARC record that is too large to be held.
struct RecordRest {
  std::string payload_digest;          // computed where the record has no SHA-1 of its own; else empty
  std::shared_ptr<PieceReader> bytes;  // up to the end of the block; null: not wanted, or it cannot be had
  std::string missing;                 // why it cannot be had
};

// Parsers read in blocks: every Record's value is followed by this many readable bytes of the same
// allocation. What they hold is unspecified.
inline constexpr size_t kRecordPadding = 64;

struct Header {
  std::string_view name;
  std::optional<std::string_view> value;  // nullopt: null
};

// One record as it arrived. Views are valid as long as the batch is.
struct Record {
  // The bytes of the document's record without the line feed that ended it. A carriage return before it is
  // left in: bytes are handed on unchanged, JSON takes it for white space and the text decoder drops it.
  // Followed by kRecordPadding bytes.
  std::string_view value;
  bool null_value = false;              // Kafka's null: a request to forget the originals under the key
  std::optional<std::string_view> key;  // Kafka's; nullopt: none
  std::span<const Header> headers;      // Kafka's
  std::string_view source;              // the file's path as given (or found), or the topic
  int32_t partition = -1;               // -1: a file
  uint32_t incarnation = 1;             // of the topic: how often one of this name was made
  uint64_t offset = 0;                  // Kafka's offset, or the byte offset in the (decompressed) file
  uint64_t line = 0;                    // 1-based line in the file; 0 where there are no lines
  int64_t timestamp_ms = -1;            // Kafka's; -1: none
  bool whole_file = false;              // the record is a file, not a line of one
  bool row = false;                     // the record is a row of a table, and offset its number, from 0 on
  bool warc = false;                    // the record is one of a WARC file: head and block, perhaps cut off
  // Where a WARC record begins in its file as it is stored (packed files: the member that begins with it).
  std::optional<uint64_t> warc_offset;
  std::shared_ptr<const RecordRest> rest;  // of a WARC record of which `value` is the beginning only
  // The WARC record that the value points to, as read by FETCH (followed by kRecordPadding bytes), or why it
  // could not be. Neither: nobody looked.
  std::optional<std::string_view> fetched;
  bool revisited = false;  // a revisit record was read, and this is what it refers to
  std::string_view not_fetched;
  bool known_missing = false;           // an earlier run could not read it, and it was not tried again
  bool payload_known = false;           // nobody looked, because an original of the same payload is known
  std::shared_ptr<PieceReader> pieces;  // set instead of `value` for a whole file above the source's limit
};

}  // namespace doppel
