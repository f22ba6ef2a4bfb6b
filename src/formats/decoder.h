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
#include "doppel/document.h"
#include "formats/record.h"

namespace doppel {

struct FormatOptions {
  std::string format = "auto";  // auto (json for lines, text for whole files), json, text
  // Each a list: the first that is there and not null is taken. "name" is a top-level field, "/a/b/0" a JSON
  // pointer.
  std::vector<std::string> id_fields{"id"};
  std::vector<std::string> text_fields{"text", "content", "body"};
  std::vector<std::string> url_fields{"url"};
  std::vector<std::string> date_fields{"date", "timestamp"};
  // Not the first but all of these make the scope together.
  std::vector<std::string> scope_fields{};
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Views in `out` live until the next call (or as long as the record). An error is the reason why the record
  // is rejected: its message is complete but for the place ("text: no field /text, /content or /body", "not
  // JSON: ..."). out.id is empty where the format gives none. A missing text is an error; an empty or null
  // text is a Document with empty text. Records with `pieces` are not given to decoders: their text is the
  // pieces.
  virtual absl::Status decode(const Record& record, Document& out) = 0;
};

// Checks the options (bad pointers, unknown formats) once; then make as many decoders as there are threads.
absl::Status check_format(const FormatOptions& options);
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options);

// ISO 8601 (with and without zone: UTC), "YYYY-MM-DD HH:MM:SS", dates alone, epoch seconds or milliseconds by
// size, 14 and 17 digits. nullopt if it is none of these. Milliseconds since 1970.
std::optional<int64_t> parse_time(std::string_view text);
std::string format_time(int64_t ms);  // 2024-05-06T07:08:09.123Z, without the fraction where it is zero

}  // namespace doppel
