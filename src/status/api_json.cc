#include "status/api_json.h"

#include <string>

#include "formats/decoder.h"
#include "insight/show.h"
#include "records/events.h"

namespace doppel {
namespace {

void write_document(JsonWriter& json, std::string_view key, const Metadata& m) {
  json.open(key, '{');
  json.text("id", m.name());
  json.text("event_id", m.event_id());
  if (m.url.empty()) {
    json.null("url");
  } else {
    json.text("url", m.url);
  }
  if (m.date_ms) {
    json.text("date", format_time(*m.date_ms));
  } else {
    json.null("date");
  }
  json.close();
}

template <typename Ranges>
void write_ranges(JsonWriter& json, std::string_view key, const Ranges& ranges) {
  json.open(key, '[');
  for (const auto& range : ranges) {
    json.open("", '[');
    json.number("", range.begin);
    json.number("", range.end);
    json.close();
  }
  json.close();
}

}  // namespace

void write_original(JsonWriter& json, std::string_view key, std::string_view encoded) {
  Metadata m;
  if (decode_metadata(encoded, m).ok()) {
    write_document(json, key, m);
  } else {
    json.null(key);
  }
}

void write_similarity(JsonWriter& json, uint32_t ppm, bool estimated) {
  json.real("similarity", ppm / 1e6);
  json.boolean("estimated", estimated);
}

void write_relations(JsonWriter& json, const Outcome& outcome, std::string_view text) {
  constexpr size_t kTextMost = 200;  // characters of a passage
  if (outcome.verdict != Verdict::unique || outcome.related.empty()) return;
  json.open("relations", '[');
  for (const Related& related : outcome.related) {
    json.open("", '{');
    json.text("relation", relation_name(related.relation));
    json.real("of_document", similarity_ppm({related.shared, related.of_document}) / 1e6);
    json.real("of_original", similarity_ppm({related.shared, related.of_original}) / 1e6);
    json.number("shared", related.shared);
    write_ranges(json, "passages", related.passages);
    if (!related.bytes.empty()) {
      write_ranges(json, "bytes", related.bytes);
      json.open("texts", '[');
      for (const ByteRange& bytes : related.bytes)
        json.text("", one_line(text.substr(bytes.begin, bytes.end - bytes.begin), kTextMost));
      json.close();
    }
    write_original(json, "original", related.original);
    json.close();
  }
  json.close();
  if (outcome.related_more != 0) json.number("relations_more", outcome.related_more);
}

}  // namespace doppel
