#pragma once
// Base64 as crawlers write it: standard or URL-safe alphabet, with or without padding, with or without line
// ends.

#include <string>
#include <string_view>

namespace doppel {

// Replaces `out`. Returns false if the text is not base64 (a character outside the alphabet, text after the
// padding, an impossible length); then `out` is unspecified.
bool decode_base64(std::string_view text, std::string& out);

// Decides whether a body that may be base64 or text is base64: it decodes, and the result looks like a
// document (no control characters). Cheap for text, which has a space early.
bool is_base64_document(std::string_view text, std::string& decoded);

}  // namespace doppel
