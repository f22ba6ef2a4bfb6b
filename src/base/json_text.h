#pragma once
// Writing JSON: small appenders, no tree.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel {

// "..." with what must be escaped escaped, and DEL. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// The same, fast; bytes that are not UTF-8 stay, so that the reader of the JSON sees them.
void append_json_bytes(std::string& out, std::string_view text);

// Millionths as a decimal fraction without trailing zeros: 1, 0.8, 0.913043.
void append_json_ppm(std::string& out, uint32_t ppm);

}  // namespace doppel
