#pragma once
// A document as the detector sees it: views into the caller's memory, valid for the call.

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppel {

// What an archive knows of the record that a document came from.
struct WarcOrigin {
  std::string_view record_id;   // WARC-Record-ID
  std::string_view target_uri;  // WARC-Target-URI
  std::string_view date;        // WARC-Date, as written
  std::string_view filename;
  std::optional<uint64_t> offset;
};

// Document::text_source of a text that different pages may share.
inline constexpr std::string_view kFallbackText = "fallback";

struct Document {
  std::string_view id;                  // the caller's name for it
  std::string_view text;                // UTF-8; invalid bytes become separators
  std::string_view url;                 // optional
  std::string_view scope;               // documents of different scopes never meet; empty: one scope for all
  std::optional<int64_t> timestamp_ms;  // record time, drives expiry

  // Of the bytes that the text was made of, as given, with its algorithm: "sha1:3I42H3S6...". In a stream an
  // equal one makes an exact copy.
  std::string_view payload_digest;

  // Where the text of a page is from, if it is not the page's own: "data" or "fallback". A
  // stream judges a fallback by input.fallback_text.
  std::string_view text_source;

  // Handed through to events; none of it changes a verdict.
  std::string_view content_type;
  std::optional<WarcOrigin> warc;
  std::string_view tags;         // "name=value" lines, such as a crawl's id
  std::string_view passthrough;  // chosen fields as members of a JSON object: "a":1,"b":"x"

  // Not empty: a record that is no document to be judged (another status, another type), and why, in one
  // word or two by which such records are counted.
  std::string_view skip;
};

}  // namespace doppel
