#pragma once
// Decodes the bytes of a page or a text to UTF-8. Not for JSON strings, which are Unicode already.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace doppel {

// Part of the data scheme of formats that decode bytes. Increment it when the same bytes give another text.
inline constexpr int kCharsetVersion = 3;

// Whether the bytes contain control characters that text does not have. Checks the first 4 KiB. Zeros are
// allowed after a byte order mark of UTF-16 or UTF-32.
bool looks_binary(std::string_view bytes);

// "utf-16le", "utf-16be", "utf-32le" or "utf-32be" if the bytes are a text in this form without a byte order
// mark; otherwise "". Checks the first 4 KiB. Only texts with a zero byte are recognised; nearly all have
// one.
std::string_view unmarked_unicode(std::string_view bytes);

// Whether the bytes begin with a byte order mark of UTF-16 or UTF-32, but are no text in it.
bool wrongly_marked(std::string_view bytes);

// Whether the bytes are valid UTF-8.
bool is_utf8(std::string_view bytes);

// The name by which people know a charset of ICU: "shift_jis" for "ibm-943_P15A-2003".
std::string shown_charset(const std::string& name);

// The parameter "charset" of a Content-Type, without quotes; "" if there is none.
std::string_view charset_parameter(std::string_view content_type);

// The charset that a page declares in its first 1,024 bytes, as HTML defines it: <meta charset>, <meta
// http-equiv content>, <?xml encoding?>. "" if there is none.
std::string_view charset_of_meta(std::string_view bytes);

// From which charset a text was decoded.
struct Decoding {
  std::string charset;   // empty: the bytes are UTF-8
  bool guessed = false;  // nothing but the bytes named it
};

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

  // The same for a text of unknown origin. An error says that no charset fits: to go on with a wrong one
  // would compare only the few words that are ASCII.
  absl::StatusOr<std::string_view> decode_text(std::string_view bytes, std::string_view declared);

  // Whether no charset was found for the bytes that decode() had last, although `text`, a part of the result,
  // is not mostly ASCII: its letters are not those that were written.
  bool is_unreadable(std::string_view text) const;

  // Decodes a text that is too large for memory, piece by piece. Its first piece decides; while all bytes are
  // ASCII, the first one that is not. The result is valid until the next call.
  void begin_pieces();
  absl::StatusOr<std::string_view> next_piece(std::string_view piece);

  const Decoding& decoding() const { return decoding_; }  // of the last text

 private:
  struct Converters;
  enum class Pieces : unsigned char { none_yet, ascii, utf8, converted };

  void note(std::string_view charset, bool guessed);
  absl::StatusOr<std::string_view> guess_of_piece(std::string_view piece);
  absl::StatusOr<std::string_view> convert_pieces(std::string_view piece);

  std::unique_ptr<Converters> converters_;
  Decoding decoding_;
  bool fits_ = true;      // a charset without errors was found for the last text, or UTF-8 with a few
  bool readable_ = true;  // a charset was found for the last bytes, with few errors at most
  Pieces pieces_ = Pieces::none_yet;
  std::string out_, other_;
};

}  // namespace doppel
