#pragma once
// What doppel decides about a document.

#include <cstdint>
#include <string>

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

struct Judgement {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  double similarity = 0;     // Jaccard similarity of its shingles and those of the original
  std::string duplicate_of;  // the original's id
};

}  // namespace doppel
