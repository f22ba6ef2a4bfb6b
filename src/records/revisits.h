#pragma once
// What an archive may keep in place of a copy: a revisit record (WARC 1.1), made of a duplicate-of event.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/warc/warc.h"
#include "records/payload_groups.h"

namespace doppel {

// What an event says of a record in a WARC file.
struct NamedRecord {
  std::string file;      // as the run that judged it called it; empty: it read no files
  std::string filename;  // without folders
  std::optional<uint64_t> offset;
  std::string record_id, target_uri, date, digest;

  // Whether this is that record.
  bool is(const WarcRecord& record) const;
  // As a member of PayloadGroups: the same for the same record.
  PayloadGroups::Capture capture() const;
};

struct PayloadCopy {
  NamedRecord copy, original;
  std::string event_id = {};
};

// Of an event, a line of JSON. Nothing: the payloads are not known to be the same, so playback must have the
// copy itself, whatever else is equal. The error: this is no event, or one that lacks what a revisit record
// must say.
absl::StatusOr<std::optional<PayloadCopy>> payload_copy_of_event(std::string_view event);

// The revisit record of `copy`, which refers to `original`. It has an id of its own: the same for the same
// `name`, so that a run can be repeated.
std::string revisit_record(const NamedRecord& copy, const NamedRecord& original, std::string_view name);

// Whether the line is a verdict (scan --all), which says too little of a copy.
bool is_verdict_line(std::string_view line);

// The whole revisit record in place of a response record: `head` is that record's, as it is, and `http_head`
// the beginning of its block up to the payload. The record keeps its id, its date and all else that its head
// says, except for the digest of its block; without a payload digest it gets this one. The error: a value of
// the original has a line end in it.
absl::StatusOr<std::string> revisit_of_record(std::string_view head, std::string_view http_head,
                                              const WarcRecord& original, std::string_view digest = {});

}  // namespace doppel
