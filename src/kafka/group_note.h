#pragma once
// The note that doppel stores with a group's offset. It contains next, incarnation and last_ms of the
// progress, so that the offset can be attributed to a record and to one incarnation of the topic.

#include <optional>
#include <string>
#include <string_view>

#include "state/index_log.h"

namespace doppel::kafka {

std::string group_note(const LogProgress& progress);
// Nullopt: another program wrote the note.
std::optional<LogProgress> parse_group_note(std::string_view note);

}  // namespace doppel::kafka
