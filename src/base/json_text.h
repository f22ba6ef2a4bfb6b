#pragma once
// Appenders that write JSON without building a tree.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel {

// Appends a quoted string with the necessary escapes; DEL is escaped too. Bytes that are not UTF-8 become
// U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// The same, faster. Bytes that are not UTF-8 stay as they are, so that the reader of the JSON sees them.
void append_json_bytes(std::string& out, std::string_view text);

// Appends `ppm` millionths as a decimal fraction without trailing zeros: 1, 0.8, 0.913043.
void append_json_ppm(std::string& out, uint32_t ppm);

}  // namespace doppel
