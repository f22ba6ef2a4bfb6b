#pragma once
// Computes the size of an index in memory and on disk from the layout of its parts. All constants of the
// computation are here; a test compares the result with a real index.

#include <cstdint>

#include "index/banding.h"

namespace doppel {

struct IndexShape {
  int num_perm = 128;
  Banding banding;
  bool exact_sets = true;            // verify: exact
  double shingles_per_document = 0;  // distinct, of an average document
  double metadata_bytes = 0;         // id, URL, position of an average document
  uint32_t passage = 0;              // shingles of the shortest passage that prints find; 0: no relations
};

// Bytes for each original. Duplicates take none.
struct IndexCost {
  double row = 0;     // memory: slices, digest, position of the body, bands that list it
  double tables = 0;  // memory: one entry in each band's table and in the table of digests
  double prints = 0;  // memory: an entry for each print
  double memory() const { return row + tables + prints; }
  double hot = 0;   // disk: the same row, with a checksum
  double body = 0;  // disk: metadata, set and prints
  double disk() const { return hot + body; }
  // Of an original that `memory` has moved to a segment; its rows and body on disk are not counted here.
  double segment_memory = 0;
  double segment_disk = 0;
};
IndexCost index_cost(const IndexShape& shape);

// The number of prints that a document of this many shingles queries with.
double prints_asked(uint32_t passage, double shingles);
// The probability that a shared passage of `shared` shingles in two long texts is found.
double passage_found(uint32_t passage, uint32_t shared);

// The coded size of a set of this many distinct shingles, measured with random hashes.
double coded_set_bytes(double shingles);

// Assumptions for when no sample is measured.
inline constexpr double kAssumedShingles = 500;
inline constexpr double kAssumedMetadata = 100;

}  // namespace doppel
