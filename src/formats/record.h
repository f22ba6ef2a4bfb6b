#pragma once
// A record as it arrived from a source, before it is decoded into a Document.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

class RecordSchema;

// Reads a document that is too large for memory in pieces, once, from one thread.
class PieceReader {
 public:
  virtual ~PieceReader() = default;
  // Returns the next piece, valid until the next call; "" at the end.
  virtual absl::StatusOr<std::string_view> next() = 0;
};

// The remainder of a WARC record that is too large for memory; Record::value holds its beginning.
struct RecordRest {
  std::string payload_digest;          // computed if the record has no SHA-1; otherwise empty
  std::shared_ptr<PieceReader> bytes;  // up to the end of the block; null: not requested, or not available
  std::string missing;                 // why it is not available
};

// Every Record's value is followed by this many readable bytes of the same allocation, because parsers read
// in blocks. Their content is unspecified.
inline constexpr size_t kRecordPadding = 64;

// What the sender of a document says beside it, which takes precedence over the document; empty: nothing.
struct Sender {
  std::string_view id, url;
};

struct Header {
  std::string_view name;
  std::optional<std::string_view> value;  // nullopt: null
};

// The views are valid as long as the batch is.
struct Record {
  // The bytes of the record without the final line feed. A carriage return before it stays: bytes are passed
  // on unchanged, JSON ignores it as white space, and the text decoder drops it. kRecordPadding bytes follow.
  std::string_view value;
  bool null_value = false;              // Kafka's null value: asks to forget the originals with this key
  std::optional<std::string_view> key;  // Kafka's; nullopt if there is none
  std::span<const Header> headers;      // Kafka's
  std::string_view source;              // the file's path as given (or found), or the topic
  int32_t partition = -1;               // -1: a file
  uint32_t incarnation = 1;   // of the topic: how many topics of this name there were, including this one
  uint32_t moved = 0;         // how many incarnations before are the same topic (state/index_log.h)
  std::string_view topic_id;  // the brokers' id of the topic; empty: unknown
  uint64_t offset = 0;        // Kafka's offset, or the byte offset in the (decompressed) file
  uint64_t line = 0;          // line number in the file, from 1; 0 if the file has no lines
  int64_t timestamp_ms = -1;  // Kafka's; -1 if there is none
  bool whole_file = false;    // the record is a whole file, not a line
  const Sender* sender = nullptr;  // of a document that came by HTTP; its offset is its number in the index
  std::string_view media_type;     // of a whole file or a body, as its sender says; empty: unknown
  bool row = false;                // the record is a row of a table; offset is its number, from 0
  // Why the reader of a table knows that `value` is no document, such as too many fields; empty: it may be
  // one.
  std::string_view damage;
  bool mail = false;  // the record is a message of an mbox file
  bool warc = false;  // the record is from a WARC file: head and block, possibly truncated
  // Where the WARC record starts in the stored file (in a compressed file, its member).
  std::optional<uint64_t> warc_offset;
  std::shared_ptr<const RecordRest> rest;  // for a WARC record of which `value` is only the beginning
  // The WARC record that the value refers to, as FETCH read it (followed by kRecordPadding bytes), or the
  // reason why FETCH could not read it. If both are empty, FETCH did not try.
  std::optional<std::string_view> fetched;
  bool revisited = false;  // `fetched` is the record that a revisit record refers to
  std::string_view not_fetched;
  bool known_missing = false;            // an earlier run failed to read it, so FETCH did not retry
  const RecordSchema* schema = nullptr;  // from a schema registry, for formats that need one
  bool payload_known = false;            // FETCH did not try, because an original has the same payload
  std::shared_ptr<PieceReader> pieces;   // instead of `value`, for a whole file above the source's limit
};

// The position of a record, in words for a message: "crawl.jsonl:3 (byte 510)", "crawl.parquet: row 3",
// "crawl.warc.gz: byte 510 (http://a.example/)", or the source alone.
std::string place_in_words(const Record& record);

}  // namespace doppel
