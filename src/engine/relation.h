#pragma once
// What a copy can be besides nearly the same: one text has most of another one, or a passage of it
// (docs/partial-copies.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppel/verdict.h"
#include "index/index.h"

namespace doppel {

std::string_view relation_name(Relation relation);

// Which relations an index knows besides `near`, and from where on they hold.
struct RelationRule {
  bool contained = false;
  bool contains = false;
  bool shares = false;
  uint32_t passage = 0;  // shingles of the shortest passage; 0: no relations
  uint32_t shingle_words = 5;
  uint32_t containment_ppm = 800'000;
  uint32_t common_after = 20;      // originals that have a passage: then it says nothing
  uint32_t max_related = 16;       // that are reported for one document
  bool partial_duplicate = false;  // a contained document is a duplicate
  bool cut = false;                // Outcome::repeated is wanted

  bool on() const { return passage != 0 && (contained || contains || shares); }
  bool knows(Relation relation) const {
    return relation == Relation::contained ? contained : relation == Relation::contains ? contains : shares;
  }
  // Fewer shared shingles that are not common are no relation.
  uint32_t shared_least() const { return passage < 20 ? passage : 20; }
  bool operator==(const RelationRule&) const = default;
};

// A range of consecutive shingles of a document.
struct ShingleRun {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const ShingleRun&) const = default;
};

// The same in words, which begin at 0.
struct WordRange {
  uint32_t begin = 0, end = 0;
  bool operator==(const WordRange&) const = default;
};

// The same in bytes of the text.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// An original that a document is related to. Shingles of common passages do not count.
struct Related {
  Seq seq = 0;
  Relation relation = Relation::shares;
  uint64_t shared = 0;              // shingles of both
  uint64_t of_document = 0;         // shingles of the document
  uint64_t of_original = 0;         // shingles of the original
  std::vector<WordRange> passages;  // of the document, that the original has too: the longest; ascending
  std::vector<ByteRange> bytes;     // of the passages; empty without the text
  std::string original;             // its metadata
  bool operator==(const Related&) const = default;
};

}  // namespace doppel
