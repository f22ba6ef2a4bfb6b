#pragma once
// Undoes the Content-Encoding of a request: gzip or zstd. Unlike archives, a request must be what it says:
// damaged data, data that ends early, and bytes behind the end are errors.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace doppel::http {

enum class Unpacked { whole, unknown_coding, damaged, too_large, no_room };

// Appends at most `max` bytes to `out`. `room` is asked before the text grows by that many bytes; false ends
// with no_room. `coding` is the value of the header; "identity" is unknown here.
Unpacked unpack(std::string_view coding, std::string_view packed, uint64_t max,
                const std::function<bool(uint64_t)>& room, std::string& out);

}  // namespace doppel::http
