#pragma once
// What an index takes in memory and on disk, computed from the layout of its parts. The constants of the
// computation are only here; a test compares them with a real index.

#include <cstdint>

#include "index/banding.h"

namespace doppel {

struct IndexShape {
  int num_perm = 128;
  Banding banding;
  bool exact_sets = true;            // verify: exact
  double shingles_per_document = 0;  // distinct ones, of an average document
  double metadata_bytes = 0;         // id, url, place of an average document
};

// Bytes for each original (duplicates take nothing).
struct IndexCost {
  double row = 0;     // memory: slices, digest, place of the body, bands it is listed in
  double tables = 0;  // memory: an entry in every band's table and in that of the digests
  double memory() const { return row + tables; }
  double hot = 0;   // disk: the row again, with checksum
  double body = 0;  // disk: metadata and set
  double disk() const { return hot + body; }
};
IndexCost index_cost(const IndexShape& shape);

// Bytes of the coded set of a document with so many distinct shingles: one of random hashes is coded.
double coded_set_bytes(double shingles);

// What is assumed where no sample was measured.
inline constexpr double kAssumedShingles = 500;
inline constexpr double kAssumedMetadata = 100;

}  // namespace doppel
