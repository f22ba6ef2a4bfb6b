#pragma once
// Which parts of a record are wanted, worked out once from the options.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/decoder.h"

namespace doppel {

enum class Role : unsigned char {
  id,
  text,
  url,
  date,
  scope,
  tag,
  passthrough,
  // Fields without options: only presets define them.
  content_type,
  charset,
  status,
  response_headers,
  payload_digest,
  warc_filename,
  warc_offset,
  warc_record_id,
  warc_type
};
inline constexpr size_t kRoles = 16;

struct WantedField {
  enum class From : unsigned char { json, key, topic, header };

  Role role;
  bool pointer = false;  // a JSON pointer of more than one step; else the name of a top-level field
  From from = From::json;
  std::string name;   // of the field, the pointer, or the header
  std::string given;  // as configured
  std::string label;  // of a tag and of what is handed through
};

// In the order in which they are to be tried. The error names the option and what is wrong. What a preset
// sets counts where the options have their defaults.
absl::StatusOr<std::vector<WantedField>> wanted_fields(const FormatOptions& options);

// The steps of a field of JSON, from the top.
std::vector<std::string> steps_of(const WantedField& field);

// What the record itself says (key, topic, headers); nullopt if it does not, or if the field is of JSON.
std::optional<std::string_view> record_field(const WantedField& field, const Record& record);

// The value of the first header of that name, in any case; nullopt if there is none or it is null.
std::optional<std::string_view> header_of(const Record& record, std::string_view name);

// Puts scopes and tags together. One field is the scope itself. Several are written one after the other so
// that no two lists look the same: "3:abc,-,2:no," for "abc", nothing, "no".
class Gathered {
 public:
  explicit Gathered(const std::vector<WantedField>& fields);
  void clear();
  void add_scope(std::optional<std::string_view> value);
  void add_tag(std::string_view label, std::string_view value);
  void add_passthrough(std::string_view label, std::string_view json);
  // Into the document, which then has views into this.
  void put(Document& out) const;

 private:
  int scopes_ = 0;
  bool any_ = false;
  std::string scope_, tags_, passthrough_;
};

}  // namespace doppel
