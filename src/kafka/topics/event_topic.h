#pragma once
// Reads a topic of events once, from its beginning to its current end.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "config/options.h"

namespace doppel {

// Every committed event, in the order of the time at which it was written. `place` is topic/partition/offset.
// `progress` is called with the share of the topic that has been read, between 0 and 1. `visit` may end it
// with an error.
absl::Status read_event_topic(
    const Options& options, const std::string& topic,
    const std::function<absl::Status(const std::string& place, const std::string& event)>& visit,
    const std::function<void(double)>& progress);

}  // namespace doppel
