#pragma once
// Revisit records (WARC 1.1), which an archive may store instead of duplicates. They are made from
// duplicate-of events.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/warc/warc.h"
#include "records/events.h"

namespace doppel {

// What an event says about a record of a WARC file.
struct NamedRecord {
  std::string file;      // its name in the run that judged it; "" if it read no files
  std::string filename;  // without folders
  std::optional<uint64_t> offset;
  std::string record_id, target_uri, date, digest;
  std::string written_digest = {};  // as the record writes it, if that differs from `digest`

  // Whether `record` is the named one.
  bool is(const WarcRecord& record) const;
  // Its key and time for PayloadGroups. The same record has the same key.
  PayloadGroups::Capture capture() const;
};

struct PayloadCopy {
  NamedRecord copy, original;
  std::string event_id = {};
};

// Parses an event, a line of JSON. Returns nullopt if the payloads are not known to be equal: playback then
// needs the copy itself. Fails if the line is not an event, or lacks what a revisit record must contain.
absl::StatusOr<std::optional<PayloadCopy>> payload_copy_of_event(std::string_view event);

// A copy whose payload is not known to be equal to its original's, as an event says.
struct OtherCopy {
  std::string url, content_type;
};

// Parses the event of such a copy; nullopt for all other lines.
std::optional<OtherCopy> other_copy_of_event(std::string_view event);

// Returns the revisit record of `copy`, which refers to `original` and has its digest as the original writes
// it. Its record id depends only on `name`, so that runs are reproducible.
std::string revisit_record(const NamedRecord& copy, const NamedRecord& original, std::string_view name);

// Whether the line is a verdict (scan --all), which does not say enough about a copy.
bool is_verdict_line(std::string_view line);

// Returns the complete revisit record that replaces a response record. `head` is the unchanged head of the
// response record, and `http_head` is the start of its block up to the payload. The revisit record keeps the
// id, the date and all other headers except the digests. Its payload digest is that of the original as the
// original writes it, because players look the original up by these letters; `digest` if the original has
// none. Fails if a value of the original contains a line end.
absl::StatusOr<std::string> revisit_of_record(std::string_view head, std::string_view http_head,
                                              const WarcRecord& original, std::string_view digest);

}  // namespace doppel
