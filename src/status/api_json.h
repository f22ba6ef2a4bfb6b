#pragma once
// Parts of the API's answers: originals, and how a document resembles them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/resolved.h"
#include "insight/json_writer.h"

namespace doppel {

inline constexpr size_t kShownMost = 100;  // originals in an answer

// `encoded` is its metadata. Writes null if it cannot be read.
void write_original(JsonWriter& json, std::string_view key, std::string_view encoded);
void write_similarity(JsonWriter& json, uint32_t ppm, bool estimated);
// Writes the originals to which a unique document is related; `text` is its text.
void write_relations(JsonWriter& json, const Outcome& outcome, std::string_view text);

// Writes the first originals of a list; only these have metadata.
template <typename List, typename MetadataOf>
void write_originals(JsonWriter& json, const List& list, const MetadataOf& metadata_of) {
  json.open("originals", '[');
  for (size_t i = 0; i < std::min<size_t>(list.size(), kShownMost); ++i)
    write_original(json, "", metadata_of(list[i]));
  json.close();
}

}  // namespace doppel
