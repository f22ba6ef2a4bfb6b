#pragma once
// The fields of a JSON record as the parts of a document: which field has which role, and which values it may
// have.

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "formats/decoder.h"
#include "formats/fields.h"
#include "formats/json/json_value.h"
#include "formats/presets.h"

namespace doppel {

// The wanted fields of one JSON record. simdjson's DOM checks the whole record, including fields that are not
// used. Then one pass over the object's fields compares them with the few that are wanted. Of fields with the
// same name, the first one counts. Well-formed values that simdjson refuses cost the record only if they are
// used (JsonMender).
class FoundFields {
 public:
  // `wanted` outlives this object.
  explicit FoundFields(const std::vector<WantedField>& wanted);

  // Parses a record with SIMDJSON_PADDING bytes behind it. `root` is valid until the next call.
  simdjson::error_code parse(std::string_view json, simdjson::dom::element& root);
  // Finds the fields of the record's object.
  void find(simdjson::dom::object object);

  // The value of wanted[i] as unwrapped() returns it, if the record has one.
  const std::optional<simdjson::dom::element>& operator[](size_t i) const { return found_[i]; }
  // Whether that value is not what the record says, because simdjson cannot represent it.
  JsonMender::Hurt hurt(size_t i) const {
    return mended_ && found_[i] ? mender_.hurt(i) : JsonMender::Hurt::no;
  }
  // Stores the JSON of a hurt value as the record has it.
  void raw(size_t i, std::string& out) const;
  // The same. Returns whether it is a whole number, of any length.
  bool whole_number(size_t i, std::string& out) const;

 private:
  struct Named {
    char first;      // letter of the name
    uint32_t field;  // index
  };
  simdjson::error_code parse_once(std::string_view json, simdjson::dom::element& root);

  const std::vector<WantedField>& wanted_;
  std::vector<std::optional<simdjson::dom::element>> found_;  // parallel to wanted_
  std::array<std::vector<Named>, 16> by_length_;              // top-level fields by the length of their name
  bool any_pointer_ = false;
  JsonMender mender_;
  bool mended_ = false;  // what was parsed is mender_.text()
  simdjson::dom::parser parser_;
};

// Parts of a document that do not go straight into it.
struct JsonParts {
  simdjson::dom::element text;
  bool has_text = false;
  std::string_view text_field;
  std::string_view charset;
  std::optional<simdjson::dom::element> headers;
  std::optional<int64_t> status;
};

class JsonFields {
 public:
  JsonFields(const Preset& preset, std::vector<WantedField> fields);
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;

  // See FoundFields.
  simdjson::error_code parse(std::string_view json, simdjson::dom::element& root) {
    return found_.parse(json, root);
  }
  // Takes the fields of the record's object. Views are valid until the next call. An error names the field.
  absl::Status take(const Record& record, simdjson::dom::object object, Document& out, JsonParts& parts);

 private:
  void take_value(Role role, std::string_view value, Document& out, JsonParts& parts);
  absl::Status gather(size_t i, const Record& record);
  void pass(const WantedField& field, std::string_view json);
  bool joined(simdjson::dom::element element, std::string& memory, std::string_view& out) const;

  const Preset& preset_;
  const std::vector<WantedField> fields_;
  FoundFields found_;  // of fields_
  Gathered gathered_;
  const std::string no_text_;
  ScalarMemory id_, date_, other_;
  std::string id_joined_, url_joined_, other_joined_, quoted_;
};

}  // namespace doppel
