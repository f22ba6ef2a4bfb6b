#pragma once
// Which parts of a record are wanted, derived once from the options.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/decoder.h"
#include "formats/record.h"

namespace doppel {

enum class Role : unsigned char {
  id,
  text,
  url,
  date,
  scope,
  tag,
  passthrough,
  best,
  // Fields without options: only presets define them.
  content_type,
  charset,
  status,
  response_headers,
  payload_digest,
  warc_filename,
  warc_offset,
  warc_record_id
};
inline constexpr size_t kRoles = 16;

struct WantedField {
  enum class From : unsigned char { json, key, topic, header };

  Role role;
  bool pointer = false;  // a JSON pointer of several steps; otherwise the name of a top-level field
  From from = From::json;
  std::string name;   // name of the field or header, or the pointer
  std::string given;  // as configured
  std::string label;  // for tags and passed-through fields
};

// Returns the fields in the order in which to try them. An error names the option and what is wrong. The
// preset replaces options that have their defaults.
absl::StatusOr<std::vector<WantedField>> wanted_fields(const FormatOptions& options);

// The steps of a JSON field, from the top.
std::vector<std::string> steps_of(const WantedField& field);

// Returns the value that the record itself has (key, topic, headers); nullopt if it has none or the field is
// JSON.
std::optional<std::string_view> record_field(const WantedField& field, const Record& record);

// Returns the value of the first header with this name, ignoring case; nullopt if there is none or it is
// null.
std::optional<std::string_view> header_of(const Record& record, std::string_view name);

// Combines scopes and tags, and keeps the field that the best copy is chosen by. A single field is the scope
// itself. Several are concatenated so that different lists never give the same scope: "3:abc,-,2:no," for
// "abc", nothing, "no".
class Gathered {
 public:
  explicit Gathered(const std::vector<WantedField>& fields);
  void clear();
  void add_scope(std::optional<std::string_view> value);
  void add_tag(std::string_view label, std::string_view value);
  void add_passthrough(std::string_view label, std::string_view json);
  void set_best(std::string_view json) { best_ = json; }
  // Stores the result in the document, as views into this object.
  void put(Document& out) const;

 private:
  int scopes_ = 0;
  bool any_ = false;
  std::string scope_, tags_, passthrough_, best_;
};

class JsonMender;

// Finds the text in a record, so that a caller can write the record with another text. Works only for records
// that hold their text as it is compared: a string in JSON, a line, or a whole file of text.
class TextField {
 public:
  // The format must pass check_format_of_plain_texts().
  explicit TextField(const FormatOptions& options);
  ~TextField();

  struct Place {
    size_t begin = 0, end = 0;  // in Record::value; with the quotation marks, if it is JSON
    bool json = false;
    std::string_view column;  // its path with dots, if the record is a row
  };
  // Nullopt: the record does not hold its text as it is compared.
  std::optional<Place> find(const Record& record);
  // Returns the record with another text.
  std::string replaced(const Record& record, const Place& place, std::string_view text) const;

 private:
  std::vector<WantedField> fields_;
  std::vector<std::string> columns_;
  std::string format_;
  std::unique_ptr<JsonMender> json_;
};

}  // namespace doppel
