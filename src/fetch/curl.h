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

// The text as one part of a path.
std::string path_part(std::string_view text);

}  // namespace doppel
