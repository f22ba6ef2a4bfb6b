#pragma once
// The meaning of charset labels in browsers, as the Encoding standard defines it.

#include <string>
#include <string_view>

namespace doppel {

// Returns ICU's name of the charset with this label; kIso8859_16Name for the charset that ICU lacks. Ignores
// case and surrounding spaces and quotes. A label that the standard does not define is returned in lower
// case: ICU may know it.
std::string charset_of_label(std::string_view label);

inline constexpr std::string_view kIso8859_16Name = "iso-8859-16";
// Replaces `out` with `bytes`, converted from ISO-8859-16 to UTF-8.
void convert_iso8859_16(std::string_view bytes, std::string& out);

}  // namespace doppel
