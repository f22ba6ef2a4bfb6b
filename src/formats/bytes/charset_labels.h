#pragma once
// What labels of charsets mean: as browsers take them, by the Encoding standard.

#include <string>
#include <string_view>

namespace doppel {

// ICU's name of the charset with this label, in any case and with space or quotes around it; kIso8859_16Name
// for what ICU lacks. A label that the standard does not know is returned in lower case: ICU may know it.
std::string charset_of_label(std::string_view label);

inline constexpr std::string_view kIso8859_16Name = "iso-8859-16";
// ISO-8859-16 as UTF-8, in place of what `out` holds.
void convert_iso8859_16(std::string_view bytes, std::string& out);

}  // namespace doppel
