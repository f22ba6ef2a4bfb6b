#pragma once
// A response's body -> text: charset, then HTML. And the rules by which a response is no document.

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
  bool unicode = false;           // a JSON string: nothing that says otherwise counts
  std::string_view content_type;  // as the server sent it; empty: unknown
  std::string_view charset;       // declared beside the type; counts before its parameter
};

// One for each thread.
class BodyReader {
 public:
  // `always_html`: whatever the type says.
  BodyReader(const FormatOptions& options, bool always_html);

  // The text lives until the next call, or as long as the bytes.
  absl::StatusOr<std::string_view> text(const ResponseBody& body);
  // For Document::text_source.
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

  // Why such a response is skipped, in a word; empty: it is not. `status` 0: none is known.
  std::string_view skip_status(int64_t status) const;
  std::string_view skip_type(std::string_view content_type) const;  // empty: not known, not skipped
  static std::string_view skip_url(std::string_view url);

 private:
  bool any_status_ = false, any_type_ = false;
  std::vector<int64_t> statuses_;
  std::vector<std::string> types_;
};

// The type without its parameters.
std::string_view media_type(std::string_view content_type);

}  // namespace doppel
