#pragma once
// Reads a topic of events once, from its beginning to its current end.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "config/options.h"

namespace doppel {

// Visits every committed event in the order of the records' timestamps. `place` is topic/offset. Calls
// `progress` with the share of the topic that has been read, between 0 and 1. An error of `visit` ends the
// call.
absl::Status read_event_topic(
    const Options& options, const std::string& topic,
    const std::function<absl::Status(const std::string& place, const std::string& event)>& visit,
    const std::function<void(double)>& progress);

}  // namespace doppel
