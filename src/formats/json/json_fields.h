#pragma once
// The fields of a JSON record as the parts of a document: which field has which role, and which values it may
// have.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "formats/decoder.h"
#include "formats/fields.h"
#include "formats/json/found_fields.h"
#include "formats/json/json_value.h"
#include "formats/presets.h"

namespace doppel {

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
