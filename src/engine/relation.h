#pragma once
// Relations besides near duplicates: one text contains most of the other, or the two share a passage
// (docs/partial-copies.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppel/verdict.h"
#include "index/index.h"

namespace doppel {

std::string_view relation_name(Relation relation);

// Which relations an index reports besides `near`, and their limits.
struct RelationRule {
  bool contained = false;
  bool contains = false;
  bool shares = false;
  uint32_t passage = 0;  // shingles of the shortest passage; 0: no relations
  uint32_t shingle_words = 5;
  uint32_t containment_ppm = 800'000;
  uint32_t common_after = 20;      // a passage that this many originals have is common: it says nothing
  uint32_t max_related = 16;       // originals reported for one document
  bool partial_duplicate = false;  // a contained document counts as a duplicate
  bool cut = false;                // whether RESOLVE fills Outcome::repeated

  bool on() const { return passage != 0 && (contained || contains || shares); }
  bool knows(Relation relation) const {
    return relation == Relation::contained ? contained : relation == Relation::contains ? contains : shares;
  }
  // Texts are related only if they share at least this many shingles that are not common.
  uint32_t shared_least() const { return passage < 20 ? passage : 20; }
  bool operator==(const RelationRule&) const = default;
};

// A range of consecutive shingles of a document.
struct ShingleRun {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const ShingleRun&) const = default;
};

// The same range in words, counted from 0.
struct WordRange {
  uint32_t begin = 0, end = 0;
  bool operator==(const WordRange&) const = default;
};

// The same range in bytes of the text.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

// An original that a document is related to. Shingles of common passages do not count.
struct Related {
  Seq seq = 0;
  Relation relation = Relation::shares;
  uint64_t shared = 0;       // shingles that both have
  uint64_t of_document = 0;  // shingles of the document
  uint64_t of_original = 0;  // shingles of the original
  // the longest passages of the document that the original has too; ascending
  std::vector<WordRange> passages;
  std::vector<ByteRange> bytes;  // the passages as bytes; empty without the text
  std::string original;          // metadata of the original
  bool operator==(const Related&) const = default;
};

}  // namespace doppel
