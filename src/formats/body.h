#pragma once
// Turns bytes into text: decides whether they are a page, decodes the charset, extracts the text of a page.
// Also holds the rules that skip responses.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/bytes/charset.h"
#include "formats/decoder.h"
#include "formats/document.h"
#include "formats/html/html.h"

namespace doppel {

struct BodyBytes {
  std::string_view bytes;
  bool unicode = false;           // the body is a JSON string, so all charset declarations are ignored
  std::string_view content_type;  // as the server sent it; empty if unknown
  std::string_view charset;       // declared separately; takes precedence over the type's parameter
  std::string_view name;          // of a file; its ending is evidence
};

enum class PageIf : unsigned char {
  always,     // every body is a page
  responses,  // by the type; without one, by the first tags
  files,  // by the type; without one, by an unmistakable beginning, or the name together with the first tags
  never
};

// One for each thread.
class BodyReader {
 public:
  BodyReader(const FormatOptions& options, PageIf pages);

  // Sets the text of `out`, its source, and how it was read. The text is valid until the next call, or as
  // long as the bytes are.
  absl::Status read(const BodyBytes& body, Document& out);
  // The same for the next piece of a file that is too large for memory; `first`: the file begins. An empty
  // piece ends the file. Fails for a page.
  absl::Status read_piece(const BodyBytes& body, bool first, Document& out);

 private:
  bool is_page(const BodyBytes& body, std::string_view type, std::string_view bytes) const;

  Extract extract_;
  PageIf pages_;
  size_t max_bytes_;
  CharsetDecoder charsets_;
  HtmlExtractor html_;
};

class Rules {
 public:
  explicit Rules(const FormatOptions& options);

  // Each returns why such a response is skipped, or none if it is not. `status` 0 means
  // unknown.
  Reason skip_status(int64_t status) const;
  Reason skip_type(std::string_view content_type) const;  // an unknown (empty) type is not skipped
  static Reason skip_url(std::string_view url);

 private:
  bool any_status_ = false, any_type_ = false;
  std::vector<int64_t> statuses_;
  std::vector<std::string> types_;
};

// What the Content-Type of a request says about the document in it.
enum class SentAs : unsigned char { unknown, text, warc };  // text: or a page
SentAs sent_as(std::string_view content_type);

// Whether an unknown text begins as a page, and as nothing else: with <!DOCTYPE html> or <html>.
bool begins_page(std::string_view text);

// Returns the type without its parameters.
std::string_view media_type(std::string_view content_type);

// Decodes records whose value is the bytes of a text or of a page. Key and headers give everything else. For
// the formats text and html, and for whole files. `options` must have passed check_format().
std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options, PageIf pages);

}  // namespace doppel
