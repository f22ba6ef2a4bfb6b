#pragma once
// Small questions about simdjson's elements, and its errors in words.

#include <simdjson.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

using ScalarMemory = std::array<char, 512>;

// `json`: what it is about, so that the error names the field whose bytes are wrong.
absl::Status not_json(simdjson::error_code error, std::string_view json = {});
std::string_view name_of(simdjson::dom::element_type type);  // "an array"

// The text of a string, a number, true or false; `memory` holds it where the document does not.
bool scalar(simdjson::dom::element element, ScalarMemory& memory, std::string_view& out);

// Null or an empty array.
bool is_nothing(simdjson::dom::element element);

// ["x"] means "x", as search engines write it.
simdjson::dom::element unwrapped(simdjson::dom::element element);

// The strings of an array, sorted, a line each.
bool join_sorted(simdjson::dom::element array, std::string& out);

// A response's header in {"Name": ["value"]} or {"Name": "value"}, the name in any case; empty if not there.
std::string_view header_in(simdjson::dom::element headers, std::string_view name);

}  // namespace doppel
