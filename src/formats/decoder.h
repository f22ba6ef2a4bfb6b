#pragma once
// Turns the bytes of a record into a Document. Use one decoder for each thread.

#include <cstdint>
#include <functional>
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

// How the text field is encoded, the part of a page that is compared, how a page counts in which only menus
// and single lines are found, whether Kafka's key is the id, and what stands before the data of a record in
// Avro. `format`: as the format defines it.
enum class GivenEncoding : uint8_t { format, text, base64, automatic };
enum class ExtractPart : uint8_t { format, none, visible, main };
enum class FallbackText : uint8_t { unscored, near };
enum class AvroFraming : uint8_t { registry, none };

std::string_view name_of(ExtractPart part);  // "main"
std::optional<ExtractPart> extract_named(std::string_view name);

struct FormatOptions {
  // auto (json for lines, text or html for whole files, warc for WARC files) or the name of a preset: json,
  // text, html, scrapy-cluster, ache, nutch, news-please, heritrix, pages-jsonl, warc, avro.
  std::string format = "auto";
  // In each list, the first field that exists and is not null counts. "name" is a top-level field, "/a/b/0" a
  // JSON pointer; "$key", "$topic" and "$header/NAME" are parts of the record itself. A preset's own lists
  // replace lists that have their default values.
  std::vector<std::string> id_fields{"id"};
  std::vector<std::string> text_fields{"text", "content", "body"};
  std::vector<std::string> url_fields{"url"};
  std::vector<std::string> date_fields{"date", "timestamp"};
  // Here all fields of a list count. The scope fields together form the scope; "label=field" names a tag or a
  // passed-through field.
  std::vector<std::string> scope_fields{};
  std::vector<std::string> tag_fields{};
  std::vector<std::string> passthrough_fields{};
  // What makes one copy better than another (best.h); empty: nothing does.
  std::string best{};
  // Further columns to read from tables that have them, for a caller that decodes records twice.
  std::vector<std::string> optional_fields{};

  GivenEncoding body_encoding = GivenEncoding::format;
  ExtractPart extract = ExtractPart::format;            // of HTML bodies: main
  FallbackText fallback_text = FallbackText::unscored;  // near: compared, but never an exact copy
  // Responses that are judged; others are skipped and counted. A list may contain "any".
  std::vector<std::string> statuses{"200"};
  std::vector<std::string> content_types{"text/html", "application/xhtml+xml", "text/plain"};
  uint64_t max_bytes = 16 << 20;  // limit of a body; larger ones are rejected; 0: no limit

  // For avro. Without a schema file every record has a schema (Record::schema).
  AvroFraming framing = AvroFraming::registry;
  std::string schema_file;

  // For the format "signed", which no decoder reads: the format of the records before they were signed, and
  // the result of describe_format() for them, if known.
  std::string signed_format = "auto";
  std::optional<std::string> signed_text;
};

inline constexpr std::string_view kSignedFormat = "signed";
inline bool is_signed(const FormatOptions& options) { return options.format == kSignedFormat; }
// The options for the documents before they were signed. Returns other options unchanged.
FormatOptions before_signing(const FormatOptions& options);

// Whether each record needs a schema that only a registry has. Signed records need none.
bool needs_registry(const FormatOptions& options);

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Views in `out` are valid until the next call (or as long as the record is). An error says why the record
  // is rejected; its message lacks only the position ("text: no field /text, /content or /body", "not JSON:
  // ..."). out.id is empty if the format gives none. A missing text is an error; an empty or null text gives
  // a Document with empty text. Records with `pieces` go to each_piece() instead.
  virtual absl::Status decode(const Record& record, Document& out) = 0;

  // Sets out.text to the text of the next piece of a file that is too large for memory, and the other members
  // from the first one on. An empty piece ends the file. Only a text is read in this way, not a page.
  virtual absl::Status decode_piece(const Record& record, std::string_view piece, bool first, Document& out);
};

// Decodes a record that comes in pieces, and passes each piece of its text to `take`.
absl::Status each_piece(Decoder& decoder, const Record& record, Document& out,
                        const std::function<void(std::string_view)>& take);

// Checks the options (bad pointers, unknown formats). Call it once before creating decoders.
absl::Status check_format(const FormatOptions& options);
// Like check_format(), for callers that need texts: signed records fail.
absl::Status check_format_of_texts(const FormatOptions& options);
// Like check_format(), for callers that write records with other texts: records must hold their text as it is
// compared.
absl::Status check_format_of_plain_texts(const FormatOptions& options);
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options);

// Returns what the text depends on besides the bytes, as "name=value" lines for the data scheme; "" if the
// record contains the text unchanged.
std::string describe_format(const FormatOptions& options);

// Returns one more line, for texts that are not in the record as they are: of WARC records, of files that are
// pages, and in charsets other than UTF-8; "" if describe_format() covers it. An index gets the line with its
// first such record, because other records do not depend on it.
std::string describe_pages(const FormatOptions& options);

// Parses ISO 8601 (UTC if there is no zone), "YYYY-MM-DD HH:MM:SS", dates alone, epoch seconds or
// milliseconds (by size), 14 or 17 digits, and the formats of HTTP and Java. Returns milliseconds since 1970,
// or nullopt for anything else.
std::optional<int64_t> parse_time(std::string_view text);
std::string format_time(int64_t ms);  // 2024-05-06T07:08:09.123Z; no fraction if it is zero

}  // namespace doppel
