// Any bytes with any label must become UTF-8. The label ends at the first line feed.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "formats/bytes/charset.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Makes a new decoder now and then, because it remembers labels.
  static doppel::CharsetDecoder decoder;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return 0;
  std::string_view label = bytes.substr(0, line);
  for (bool html : {false, true}) {
    if (!doppel::utf8::valid(decoder.decode(bytes.substr(line + 1), label, html))) std::abort();
  }
  (void)doppel::charset_parameter(bytes);
  return 0;
}
