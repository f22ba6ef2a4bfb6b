#pragma once
// Decodes the bytes of a page to UTF-8. Not for JSON strings, which are Unicode already.

#include <memory>
#include <string>
#include <string_view>

namespace doppel {

// Part of the data scheme of formats that decode bytes. Increment it when the same bytes give another text.
inline constexpr int kCharsetVersion = 2;

// Whether the bytes contain control characters that text does not have. Checks the first 4 KiB. Zeros are
// allowed after a byte order mark of UTF-16 or UTF-32.
bool looks_binary(std::string_view bytes);

// The parameter "charset" of a Content-Type, without quotes; "" if there is none.
std::string_view charset_parameter(std::string_view content_type);

// The charset that a page declares in its first 1,024 bytes, as HTML defines it: <meta charset>, <meta
// http-equiv content>, <?xml encoding?>. "" if there is none.
std::string_view charset_of_meta(std::string_view bytes);

// One for each thread.
class CharsetDecoder {
 public:
  CharsetDecoder();
  ~CharsetDecoder();
  CharsetDecoder(const CharsetDecoder&) = delete;
  CharsetDecoder& operator=(const CharsetDecoder&) = delete;

  // Tries in this order: a byte order mark; UTF-8, if the bytes are valid UTF-8 and not only ASCII (other
  // text is almost never valid UTF-8); the declared charset; the charset of the page's meta tags, if `html`;
  // a guess from the bytes. The first one without errors counts (UTF-8 may have a few). If all have errors,
  // the one with the fewest counts, with U+FFFD in place of the errors. Labels have the meaning that browsers
  // give them (iso-8859-1 is windows-1252). The result is valid UTF-8, and valid memory until the next call,
  // or as long as `bytes` is.
  std::string_view decode(std::string_view bytes, std::string_view declared, bool html);

 private:
  struct Converters;
  std::unique_ptr<Converters> converters_;
  std::string out_, other_;
};

}  // namespace doppel
