#pragma once
// Defines each format: the fields of a document's parts, and the differences from plain JSON.
// docs/pipelines.md names the producers.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "formats/decoder.h"
#include "formats/fields.h"

namespace doppel {

enum class BodyEncoding : unsigned char { text, base64, automatic };

struct Preset {
  std::string_view name;
  bool reads_json = true;
  bool has_schema = false;  // a record becomes JSON by a schema
  BodyEncoding body = BodyEncoding::text;
  bool reads_bodies =
      false;  // the text is the body of a response: HTML is extracted, the rules for status and type apply
  bool text_elsewhere = false;  // the record has no text: it is in a WARC file
  bool text_may_be_missing = false;
  bool joins_arrays = false;  // several values form a set: sorted and joined
  bool none_is_null = false;  // the word "None" means null
  bool key_is_url = false;    // the key is the URL, encoded, and becomes the id
  std::span<const std::string_view> id, text, url, date;
  std::span<const std::pair<Role, std::string_view>> more;
};

const Preset& preset_of(std::string_view format);

// Refuses a format that is not read from files.
absl::Status check_format_of_files(std::string_view format);

// The names, in the order in which they are listed.
std::vector<std::string> preset_names();
bool is_preset(std::string_view format);

// Returns the options, with the preset's lists in place of those that have their defaults.
FormatOptions with_preset(const FormatOptions& options);

// Appends "label":, with the necessary escapes.
void append_json_member(std::string& out, std::string_view label);

}  // namespace doppel
