#pragma once
// The wanted fields of one JSON record. simdjson's DOM checks the whole record, including fields that are not
// used. Then one pass over the object's fields compares them with the few that are wanted. Of fields with the
// same name, the first one counts. Well-formed values that simdjson refuses cost the record only if they are
// used (json_mend.h).

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/fields.h"
#include "formats/json/json_mend.h"
#include "simdjson.h"

namespace doppel {

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

}  // namespace doppel
