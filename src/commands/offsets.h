#pragma once
// What `doppel requests`, `doppel offsets` and `doppel forget` say of requests.

#include <string>
#include <vector>

#include "daemon/request_files.h"

namespace doppel {

inline constexpr const char* kRequestLasts = "10m";
inline constexpr const char* kExpiresHelp = "how long the request waits for a daemon that begins it";

// A line for each request; empty if there are none.
std::string list_of(const std::vector<RequestFile>& requests);

}  // namespace doppel
