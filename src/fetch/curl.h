#pragma once
// What all requests through libcurl have in common.

#include <curl/curl.h>

#include <atomic>
#include <string>
#include <string_view>

namespace doppel {

// Call this before any other function of libcurl, from any thread, as often as needed.
void start_curl();

// Sets the address, and that the request uses neither another protocol than HTTP nor a redirect, a proxy or a
// signal. If `cancel` becomes true, the request ends with an error; it may be nullptr, and must outlive the
// request.
void set_request(CURL* curl, const std::string& url, const std::atomic<bool>* cancel);

// The text as one part of a path.
std::string path_part(std::string_view text);

}  // namespace doppel
