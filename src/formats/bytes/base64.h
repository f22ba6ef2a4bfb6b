#pragma once
// Base64 as crawlers write it: the standard alphabet or the one for URLs, padded or not, line ends between.

#include <string>
#include <string_view>

namespace doppel {

// Replaces `out`. False: the text is not base64 (a character outside the alphabet, something after the
// padding, a length that cannot be); `out` is then unspecified.
bool decode_base64(std::string_view text, std::string& out);

// Whether a body that may be base64 or text is base64: it decodes, and what comes out looks like a document
// (no control characters) rather than noise. Cheap for text, which has a space or a bracket early.
bool is_base64_document(std::string_view text, std::string& decoded);

}  // namespace doppel
