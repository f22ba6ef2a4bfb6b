#pragma once
// The definition of each format: the fields of its parts, and how it differs from plain JSON.
// docs/pipelines.md names the producers.

#include <span>
#include <string_view>
#include <utility>

#include "formats/decoder.h"
#include "formats/fields.h"

namespace doppel {

enum class BodyEncoding : unsigned char { text, base64, automatic };

struct Preset {
  std::string_view name;
  bool reads_json = true;
  BodyEncoding body = BodyEncoding::text;
  bool reads_bodies = false;    // a response's body: HTML is extracted, rules for status and type apply
  bool text_elsewhere = false;  // the record has none: it is in a WARC file
  bool text_may_be_missing = false;
  bool joins_arrays = false;  // several values are a set: sorted and joined
  bool none_is_null = false;  // the word "None" means that there is no value
  bool key_is_url = false;    // the key is the URL, encoded, and names the document
  std::span<const std::string_view> id, text, url, date;
  std::span<const std::pair<Role, std::string_view>> more;
};

const Preset& preset_of(std::string_view format);

// Separated by ", ": for messages.
std::string preset_names();
bool is_preset(std::string_view format);

// The options with what the preset says in place of lists that have their defaults.
FormatOptions with_preset(const FormatOptions& options);

// "label": with what must be escaped escaped.
void append_json_member(std::string& out, std::string_view label);

}  // namespace doppel
