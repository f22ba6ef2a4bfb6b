#pragma once
// What is noted with a group's offset: of which record behind which it stands, and of which topic.

#include <optional>
#include <string>
#include <string_view>

#include "state/index_log.h"

namespace doppel::kafka {

// Of next, incarnation and last_ms.
std::string group_note(const LogProgress& progress);
// Nullopt: another program wrote it.
std::optional<LogProgress> parse_group_note(std::string_view note);

}  // namespace doppel::kafka
