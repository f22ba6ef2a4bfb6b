#pragma once
// Bytes of a page -> UTF-8. Only for what arrived as bytes: a JSON string is Unicode already.

#include <memory>
#include <string>
#include <string_view>

namespace doppel {

// Part of the data scheme of formats that decode bytes: raise it when the same bytes give another text.
inline constexpr int kCharsetVersion = 2;

// Whether there are control characters in it that no text has (a byte order mark of UTF-16 or UTF-32 says
// that zeros are to be expected). Looks at the first 4 KiB.
bool looks_binary(std::string_view bytes);

// The parameter "charset" of a Content-Type, without quotes; empty if there is none.
std::string_view charset_parameter(std::string_view content_type);

// What a page says of itself: <meta charset>, <meta http-equiv content>, <?xml encoding?>, in its first 1,024
// bytes, as HTML prescribes it. Empty: nothing.
std::string_view charset_of_meta(std::string_view bytes);

// One for each thread.
class CharsetDecoder {
 public:
  CharsetDecoder();
  ~CharsetDecoder();
  CharsetDecoder(const CharsetDecoder&) = delete;
  CharsetDecoder& operator=(const CharsetDecoder&) = delete;

  // In this order: a byte order mark; UTF-8 where the bytes are valid UTF-8 and not just ASCII (no other text
  // is, by chance); the declared charset; that of the page's meta tags, if `html`; what the bytes look like;
  // and the first of these that has no errors counts (UTF-8 may have
  // a few). If all have, the one with the fewest, with U+FFFD in
  // place of what is wrong. Labels mean what browsers take them for (iso-8859-1 is windows-1252). The result
  // lives until the next call, or as long as `bytes`; it is always valid UTF-8.
  std::string_view decode(std::string_view bytes, std::string_view declared, bool html);

 private:
  struct Converters;
  std::unique_ptr<Converters> converters_;
  std::string out_, other_;
};

}  // namespace doppel
