#pragma once
// Turns the body of a response into text: decodes the charset, then extracts text from HTML. Also holds the
// rules that skip responses.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/bytes/charset.h"
#include "formats/decoder.h"
#include "formats/html/html.h"

namespace doppel {

struct ResponseBody {
  std::string_view bytes;
  bool unicode = false;           // the body is a JSON string, so all charset declarations are ignored
  std::string_view content_type;  // as the server sent it; empty if unknown
  std::string_view charset;       // declared separately; takes precedence over the type's parameter
};

// One for each thread.
class BodyReader {
 public:
  // `always_html`: treat every body as HTML, whatever its type.
  BodyReader(const FormatOptions& options, bool always_html);

  // The text is valid until the next call, or as long as the bytes are.
  absl::StatusOr<std::string_view> text(const ResponseBody& body);
  // The value for Document::text_source.
  std::string_view text_source() const { return text_source_; }

 private:
  Extract extract_;
  bool always_html_;
  size_t max_bytes_;
  CharsetDecoder charsets_;
  HtmlExtractor html_;
  std::string_view text_source_;
};

class Rules {
 public:
  explicit Rules(const FormatOptions& options);

  // Each returns a word that says why such a response is skipped, or "" if it is not. `status` 0 means
  // unknown.
  std::string_view skip_status(int64_t status) const;
  std::string_view skip_type(std::string_view content_type) const;  // an unknown (empty) type is not skipped
  static std::string_view skip_url(std::string_view url);

 private:
  bool any_status_ = false, any_type_ = false;
  std::vector<int64_t> statuses_;
  std::vector<std::string> types_;
};

// Returns the type without its parameters.
std::string_view media_type(std::string_view content_type);

}  // namespace doppel
