#pragma once
// Mail messages as an mbox file holds them (RFC 4155, RFC 5322, MIME): where one begins, and the part that
// people read.

#include <memory>
#include <string>
#include <string_view>

#include "formats/bytes/charset.h"
#include "formats/decoder.h"

namespace doppel {

// Whether a line of an mbox file begins a message: "From NAME DATE", with a month, a time and a year. A line
// that is a sentence does not.
bool begins_message(std::string_view line);

// Whether a file begins with a message: such a line, then a header or a folded line.
bool begins_mbox(std::string_view head);

// Views into a message; empty: it has none.
struct MailPart {
  std::string_view content_type;  // with its parameters
  std::string_view encoding;      // Content-Transfer-Encoding
  std::string_view body;          // as it was sent
  bool found = false;
};

struct Mail {
  std::string_view message_id;  // without < and >
  std::string_view date, subject;
  MailPart text;  // the first part that is text/plain and no attachment; else the first that is text/html
};

// Parses a message without the line that begins it. Everything is a message; what is damaged is missing.
Mail parse_mail(std::string_view message);

// Removes one ">" of each line ">From ", ">>From " and so on, which mbox files put there. `out` holds the
// result if it differs.
std::string_view without_from_quotes(std::string_view body, std::string& out);

// Undoes Content-Transfer-Encoding; `out` holds the result if it differs. False: it is base64, and damaged.
// What follows base64 after an empty line, such as the footer of a mailing list, is dropped.
bool decode_transfer(std::string_view encoding, std::string_view& body, std::string& out);

// The text of a header: unfolds it, and decodes "=?charset?q?...?=" (RFC 2047).
std::string header_text(std::string_view value, CharsetDecoder& charsets);

// Decodes messages of mbox files. The text is the subject, an empty line, and the part that people read:
// text/plain, or else the main text of text/html. `options` must have passed check_format().
std::unique_ptr<Decoder> make_mail_decoder(const FormatOptions& options);

}  // namespace doppel
