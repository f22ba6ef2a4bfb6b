#pragma once
// Helpers for simdjson's elements, and its errors in words.

#include <simdjson.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

using ScalarMemory = std::array<char, 512>;

// `json` is the text that failed to parse, so that the error can name the field with the bad bytes.
absl::Status not_json(simdjson::error_code error, std::string_view json = {});
std::string_view name_of(simdjson::dom::element_type type);  // "an array"

// Returns the text of a string, number or boolean. `memory` holds it if the document does not.
bool scalar(simdjson::dom::element element, ScalarMemory& memory, std::string_view& out);

// Whether the element is null or an empty array.
bool is_nothing(simdjson::dom::element element);

// Returns "x" for ["x"], which search engines write.
simdjson::dom::element unwrapped(simdjson::dom::element element);

// Joins the strings of an array, sorted, one in each line. Returns false if `array` is not an array of
// strings.
bool join_sorted(simdjson::dom::element array, std::string& out);

// The value of a header in {"Name": ["value"]} or {"Name": "value"}, ignoring the case of the name; "" if it
// is missing.
std::string_view header_in(simdjson::dom::element headers, std::string_view name);

}  // namespace doppel
