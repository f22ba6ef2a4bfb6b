#pragma once
// The events that doppel publishes, as JSON. docs/events.md describes every member.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "engine/resolved.h"
#include "engine/sign.h"
#include "formats/record.h"
#include "records/metadata.h"

namespace doppel {

struct EventContext {
  std::string scheme;  // fingerprint of the data scheme
  std::string epoch;   // epoch of the index; "" if the run has none
};

// Appends one line without its line end: `document` is a duplicate of `original`.
void append_duplicate_of(std::string& out, const EventContext& context, const Metadata& document,
                         const Metadata& original, const Outcome& outcome);

// The `partial-copy-of` event of a unique document that is related to originals.
void append_partial_copy_of(std::string& out, const EventContext& context, const Metadata& document,
                            const Outcome& outcome);

// The cluster of `original` shows `document` from now on.
absl::Status append_better_copy(std::string& out, const EventContext& context, const Metadata& document,
                                const Metadata& original, const BetterCopy& better);
// The shortest form of the event: names documents by their event_id, and leaves out everything that may be
// long.
absl::Status append_better_copy_place(std::string& out, const EventContext& context, const Metadata& document,
                                      const Metadata& original, const BetterCopy& better);

// The index forgot `original`: its next copy will be unique.
void append_original_removed(std::string& out, const EventContext& context, const Metadata& original,
                             std::string_view reason);

// One line for each document, whatever its verdict. Duplicates and documents judged a second time need
// `original`.
void append_verdict(std::string& out, const Metadata& document, const Metadata& original,
                    const Outcome& outcome, std::string_view reason);

// The same for a topic of events, with type and version; for documents that are not duplicates.
void append_verdict_event(std::string& out, const Metadata& document, const Outcome& outcome,
                          std::string_view reason);

// One of these events for a document, whatever its verdict: what output.verdicts: all shows. A duplicate
// needs `original`.
void append_any_verdict(std::string& out, const EventContext& context, const Metadata& document,
                        const Metadata& original, const Outcome& outcome, std::string_view reason);

std::string_view kind_name(Kind kind);           // "exact", "near", "contained"
std::string_view verdict_name(Verdict verdict);  // "unique", ...

// The host of a URL in lower case, without user and port; "" if it has none.
std::string host_of(std::string_view url);

// The record of a document that the signer rejected, so that the reader of the signed record can write the
// same dead letter. It is SignedDocument::record: a byte of flags (1 key, 2 whole file, 4 from a WARC file, 8
// null, 16 row of a table), varint line, string key if present, varint number of headers (string name, u8
// whether it has a value, string value), string value.
void encode_rejected(const Record& record, std::string& out);
// InvalidArgument means that `bytes` are damaged. Views in `out` point into `bytes`, its headers into
// `headers`. Does not set the record's position.
absl::Status decode_rejected(std::string_view bytes, Record& out, std::vector<Header>& headers);

// Finds the record that the dead letter of a rejected document shows, and owns what it points to.
class RejectedRecord {
 public:
  // Returns `record`, unless `document` was signed elsewhere and contains its own.
  const Record* of(const Record* record, const SignedDocument& document);

 private:
  Record record_;
  std::vector<Header> headers_;
};

// Reads events that doppel wrote (docs/events.md).
struct ReadRelation {
  std::string_view relation, cluster_id, original_id, original_date;
  uint32_t of_document_ppm = 0, of_original_ppm = 0;
  uint64_t shared = 0;  // shingles; 0: not known
};

struct ReadEvent {  // views are valid until the next read()
  // A verdict of a document with related originals counts as a partial copy.
  enum class Type { duplicate_of, partial_copy_of, original_removed, other };
  Type type = Type::other;
  std::string_view event_id, cluster_id, id, original_id, kind, reason;
  std::string_view date, original_date;  // ISO 8601; empty: there is none
  uint32_t similarity_ppm = 0;
  std::vector<ReadRelation> relations;  // of a partial copy
};

class EventReader {
 public:
  EventReader();
  ~EventReader();
  // Reads one line. An error names the member that is missing or wrong. An unknown type of event is not an
  // error: it is `other`.
  absl::Status read(const std::string& line, ReadEvent& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Groups captures with the same payload, as events connect them, and finds the earliest one of each group.
// Events call the capture that was read first an original; the events of several runs need not agree.
class PayloadGroups {
 public:
  using Key = uint64_t;  // identifies a capture
  // The time of the capture, in milliseconds; nullopt if unknown.
  struct Capture {
    Key key = 0;
    std::optional<int64_t> time_ms;
  };

  void tie(const Capture& copy, const Capture& original);

  // Returns the earliest capture of the group of this one; among equals, the one that was an original first.
  // Unknown times are later than all others.
  Key earliest(Key capture);

 private:
  struct Node {
    size_t above;
    Capture earliest;  // the earliest of the group; valid in the root only
  };
  size_t node(const Capture& capture);
  size_t top(size_t node);

  absl::flat_hash_map<Key, size_t> by_key_;
  std::vector<Node> nodes_;
};

}  // namespace doppel
