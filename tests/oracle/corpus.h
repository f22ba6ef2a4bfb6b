#pragma once
// Any number of documents with planted near-copies: (seed, number) -> document, a pure function. It makes a
// copy by making its origin once more and editing it, so it keeps nothing, and can make any document alone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oracle/language.h"

namespace doppel::oracle {

// How a document was made from its origin.
enum class Edit {
  original,     // from nothing
  exact,        // the same bytes
  restyled,     // other case, normal form, spaces, punctuation; the same words
  words,        // words replaced, inserted, removed at a rate
  moved,        // sentences moved elsewhere
  boilerplate,  // a site's words before and after
  truncated,    // the end is missing
  numbers,      // other numbers and dates
  joined,       // another document appended
  hot,          // a page of a template: equal to its other pages except for some slots
  tiny,         // 0 to 6 words
  empty,        // no text at all
};
inline constexpr int kEdits = 12;
std::string_view edit_name(Edit edit);

struct CorpusOptions {
  uint64_t seed = 1;
  bool english = false;  // English only, and near-copies of whole pages only: no tiny, empty and hot ones
  double copies = 0.5;   // share of documents that are copies of earlier ones
  double mean_words = 580;
};

struct CorpusDocument {
  std::string id;    // unique
  std::string text;  // UTF-8
  std::string url;
  std::optional<int64_t> timestamp_ms;  // mostly rising; some are odd, some are missing
  Edit edit = Edit::original;
  std::optional<uint64_t> origin;  // the number of the document that it was made from
  Language language = Language::english;
};

CorpusDocument make_document(const CorpusOptions& options, uint64_t number);

// One line of JSON: id, url, date, text; without the line feed.
std::string to_json(const CorpusDocument& document);

}  // namespace doppel::oracle
