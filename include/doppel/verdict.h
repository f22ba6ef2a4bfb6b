#pragma once
// What is said of a document.

#include <cstdint>
#include <string>

namespace doppel {

enum class Verdict : uint8_t {
  unique,     // nothing earlier is similar enough; it is remembered
  duplicate,  // it repeats an earlier unique document
  unscored,   // it has no text
  rejected,   // it could not be decoded
  removal,    // not a document, but a request to forget one
  skipped,    // a record that is no document to be judged
};

enum class Kind : uint8_t {
  none,
  exact,      // the same text, byte for byte
  near,       // similar at least as the threshold
  contained,  // (nearly) all of it is in its original, where that makes a duplicate
};

struct Judgement {
  Verdict verdict = Verdict::unscored;
  Kind kind = Kind::none;
  double similarity = 0;     // to the original; Jaccard similarity of the shingle sets
  std::string duplicate_of;  // the original's id
};

}  // namespace doppel
