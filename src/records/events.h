#pragma once
// The events that doppel publishes, as JSON. docs/events.md describes every member.

#include <string>

#include "engine/resolved.h"
#include "records/metadata.h"

namespace doppel {

struct EventContext {
  std::string scheme;  // fingerprint of the data scheme
  std::string epoch;   // of the index; empty: the run keeps none
};

// One line, without the line end: `document` repeats `original`.
void append_duplicate_of(std::string& out, const EventContext& context, const Metadata& document,
                         const Metadata& original, const Outcome& outcome);

// The `partial-copy-of` event of a unique document that is related to originals.
void append_partial_copy_of(std::string& out, const EventContext& context, const Metadata& document,
                            const Outcome& outcome);

// The original `original` is forgotten: its next copy will be new.
void append_original_removed(std::string& out, const EventContext& context, const Metadata& original,
                             std::string_view reason);

// A line per document, whatever was decided (`original` for duplicates, and for what is known again).
void append_verdict(std::string& out, const Metadata& document, const Metadata& original,
                    const Outcome& outcome, std::string_view reason);

// The same for a topic of events, for documents that are no duplicates: with type and version.
void append_verdict_event(std::string& out, const Metadata& document, const Outcome& outcome,
                          std::string_view reason);

std::string_view kind_name(Kind kind);           // "exact", "near"
std::string_view verdict_name(Verdict verdict);  // "unique", ...

// The host of a URL in lower case, without user and port; empty if there is none.
std::string host_of(std::string_view url);

}  // namespace doppel
