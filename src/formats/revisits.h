#pragma once
// What an archive may keep in place of a copy: a revisit record (WARC 1.1), made of a duplicate-of event.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// The record for this event, a line of JSON. Empty: the payloads are not known to be the same, so playback
// must have the copy itself; whatever else is equal. The error: this is no event, or one that lacks what a
// record must say.
absl::StatusOr<std::string> revisit_of_event(std::string_view event);

}  // namespace doppel
