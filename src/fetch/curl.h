#pragma once
// The common part of all requests through libcurl.

#include <curl/curl.h>

#include <atomic>
#include <string>
#include <string_view>

namespace doppel {

// Call this before any other function of libcurl, from any thread, as often as needed.
void start_curl();

// Sets the address, and restricts the request to HTTP without redirects, proxies and signals. If `cancel`
// becomes true, the request ends with an error; it may be nullptr, and must outlive the request.
void set_request(CURL* curl, const std::string& url, const std::atomic<bool>* cancel);

// A header of the answer; nullptr: it has none of this name. Valid until the next call.
const char* answer_header(CURL* curl, const char* name);

// Whether a server that answers with this status may answer otherwise later.
bool may_pass(long status);

// The text as one part of a path.
std::string path_part(std::string_view text);

}  // namespace doppel
