#pragma once
// A document as the detector sees it: views into the caller's memory, valid during the call.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/reason.h"

namespace doppel {

// What an archive says about the record that contained a document.
struct WarcOrigin {
  std::string_view record_id;   // WARC-Record-ID
  std::string_view target_uri;  // WARC-Target-URI
  std::string_view date;        // WARC-Date, as written
  std::string_view filename;
  std::optional<uint64_t> offset;
  std::string_view payload_digest;  // WARC-Payload-Digest, as written, if Document::payload_digest differs
};

// The Document::text_source of a text that different pages may share.
inline constexpr std::string_view kFallbackText = "fallback";

// The Document::content_type of a message of an mbox file.
inline constexpr std::string_view kMailType = "message/rfc822";

struct Document {
  std::string_view id;     // its name, given by the caller
  std::string_view text;   // UTF-8; invalid bytes become separators
  std::string_view url;    // optional
  std::string_view scope;  // documents of different scopes are never compared; empty: the common scope
  std::optional<int64_t> timestamp_ms;  // record time, drives expiry

  // The digest of the bytes that the text was made from, as given, with its algorithm: "sha1:3I42H3S6...".
  // Within a stream, documents with equal digests are exact duplicates.
  std::string_view payload_digest;

  // Where the text of a page comes from, if not from its visible content: "data" or "fallback".
  std::string_view text_source;
  // If not none, the text is not compared: it is not the document's own, or cannot be read. Only of a
  // `fallback` does input.fallback_text say otherwise.
  Reason unscored = Reason::none;

  // How the bytes became the text. JSON strings are texts in UTF-8.
  bool page = false;         // it is the text of an HTML page
  std::string_view charset;  // empty: UTF-8
  bool charset_guessed = false;

  // The following members are passed through to events and never change a verdict.
  std::string_view content_type;
  std::optional<WarcOrigin> warc;
  std::string_view tags;         // "name=value" lines, such as a crawl's id
  std::string_view passthrough;  // chosen fields as members of a JSON object: "a":1,"b":"x"

  std::string_view best_field;  // JSON of the field that FormatOptions::best names

  // If not empty, the record is not judged (for example because of its status or type). It gives the reason
  // in a word or two, by which such records are counted.
  Reason skip = Reason::none;
};

}  // namespace doppel
