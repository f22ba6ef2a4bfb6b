#pragma once
// What doppel decides about a document.

#include <cstdint>
#include <string>
#include <vector>

namespace doppel {

enum class Verdict : uint8_t {
  unique,     // no earlier document is similar enough; the index remembers it
  duplicate,  // it repeats an earlier unique document
  unscored,   // it has no text
  rejected,   // it could not be decoded
  removal,    // the record asks to forget a document
  skipped,    // the record is not judged
};

enum class Kind : uint8_t {
  none,
  exact,      // same text, byte for byte
  near,       // the similarity reaches the threshold
  contained,  // its original contains (nearly) all of its text; used if containment is enabled
};

// How a document is related to an original that it is not nearly equal to; the strongest relation first
// (docs/partial-copies.md).
enum class Relation : uint8_t {
  contained,  // the original has (nearly) all of the document
  contains,   // the document has (nearly) all of the original
  shares,     // a passage of the original is in the document
  similar,    // they are less similar than the threshold, and at least report_from
};

struct RelatedOriginal {
  struct Bytes {
    uint64_t begin = 0, end = 0;
  };
  std::string id;
  Relation relation = Relation::shares;
  double of_document = 0, of_original = 0;  // the shared part of each; if similar, their similarity
  std::vector<Bytes> passages;              // of the document's text, that the original has too
};

struct Judgement {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  double similarity = 0;     // Jaccard similarity of its shingles and the original's
  std::string duplicate_of;  // the original's id
  // For a unique document, if the index knows relations: the largest intersection first.
  std::vector<RelatedOriginal> related;
};

}  // namespace doppel
