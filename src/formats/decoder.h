#pragma once
// Bytes of a record -> Document. One decoder per thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/document.h"
#include "formats/record.h"

namespace doppel {

struct FormatOptions {
  // auto (json for lines, text for whole files, warc for WARC files) or the name of a preset: json, text,
  // html, scrapy-cluster, ache, nutch, news-please, heritrix, pages-jsonl, warc.
  std::string format = "auto";
  // Each a list: the first that is there and not null is taken. "name" is a top-level field, "/a/b/0" a JSON
  // pointer; "$key", "$topic" and "$header/NAME" are what the record says. A preset has lists of its own,
  // which count unless these differ from their defaults.
  std::vector<std::string> id_fields{"id"};
  std::vector<std::string> text_fields{"text", "content", "body"};
  std::vector<std::string> url_fields{"url"};
  std::vector<std::string> date_fields{"date", "timestamp"};
  // Not the first but all of these. Scopes make the scope together; "label=field" gives a tag, or what is
  // handed through, a name of its own.
  std::vector<std::string> scope_fields{};
  std::vector<std::string> tag_fields{};
  std::vector<std::string> passthrough_fields{};

  std::string body_encoding = "format";  // what the format says, or text, base64, auto
  std::string extract = "format";  // what the format says (main for HTML bodies), or none, visible, main
  // What becomes of a page of which nothing but menus and single lines is found: unscored, or near (judged,
  // but never an exact copy).
  std::string fallback_text = "unscored";
  std::string id_from_key = "none";  // raw, urldecoded: the key is the id
  // Responses that are documents; the others are skipped and counted. "any" is one.
  std::vector<std::string> statuses{"200"};
  std::vector<std::string> content_types{"text/html", "application/xhtml+xml", "text/plain"};
  uint64_t max_bytes = 16 << 20;  // of a body; a larger one is rejected. 0: no limit

  // With the format "signed", which no decoder reads: the format that the records had before they were
  // signed, and what describe_format() said of them where that is known.
  std::string signed_format = "auto";
  std::optional<std::string> signed_text;
};

inline constexpr std::string_view kSignedFormat = "signed";
inline bool is_signed(const FormatOptions& options) { return options.format == kSignedFormat; }
// The options for documents as they were before they were signed; the same where they are not.
FormatOptions before_signing(const FormatOptions& options);

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Views in `out` live until the next call (or as long as the record). An error is the reason why the record
  // is rejected: its message is complete but for the place ("text: no field /text, /content or /body", "not
  // JSON: ..."). out.id is empty where the format gives none. A missing text is an error; an empty or null
  // text is a Document with empty text. Records with `pieces` are given only to decoders that say so: else
  // their text is the pieces.
  virtual absl::Status decode(const Record& record, Document& out) = 0;
  // Whether a file that is too large to be held is read all the same, as text, piece by piece.
  virtual bool reads_pieces() const { return false; }
};

// Checks the options (bad pointers, unknown formats) once; then make as many decoders as there are threads.
absl::Status check_format(const FormatOptions& options);
// The same for callers that need texts.
absl::Status check_format_of_texts(const FormatOptions& options);
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options);

// What the text depends on besides the bytes, as "name=value" lines for the data scheme; empty if the
// record holds the text unchanged.
std::string describe_format(const FormatOptions& options);

// One more such line for the texts of WARC records; empty where describe_format() says it already. Other
// records do not depend on it, so an index has it from its first WARC record on.
std::string describe_warc_pages(const FormatOptions& options);

// ISO 8601 (with and without zone: UTC), "YYYY-MM-DD HH:MM:SS", dates alone, epoch seconds or milliseconds by
// size, 14 and 17 digits, what HTTP and Java write. nullopt if it is none of these. Milliseconds since 1970.
std::optional<int64_t> parse_time(std::string_view text);
std::string format_time(int64_t ms);  // 2024-05-06T07:08:09.123Z, without the fraction where it is zero

}  // namespace doppel
