#include "insight/sizing.h"

#include <cmath>
#include <string>

#include "engine/bodies.h"
#include "index/index.h"
#include "index/print_table.h"
#include "index/segment_build.h"
#include "sketch/compact_set.h"
#include "sketch/prints.h"
#include "text/hash_key.h"

namespace doppel {
namespace {

int up_to_multiple(int n, int factor) { return (n + factor - 1) / factor * factor; }

}  // namespace

IndexCost index_cost(const IndexShape& shape) {
  const int mask_bytes = 4 * shape.banding.mask_words();
  IndexCost cost;
  const CandidateIndexOptions options{.num_perm = shape.num_perm,
                                      .banding = shape.banding,
                                      .track_prints = shape.passage != 0,
                                      .passage = shape.passage};
  const BytesEach memory = bytes_each(options);
  cost.row = memory.row;
  cost.tables = memory.tables;
  cost.prints = memory.prints;
  const SegmentBytesEach segment = segment_bytes_each(options);
  cost.segment_memory = segment.memory;
  cost.segment_disk = segment.disk;
  // checksum 4, flags 4, body 8, id tag 8, digest 16, mask, slices
  cost.hot = 40 + mask_bytes + up_to_multiple(shape.num_perm, 4);
  // checksum 4, length of the metadata
  cost.body = 4 + 1 + shape.metadata_bytes;
  if (shape.exact_sets) cost.body += coded_set_bytes(shape.shingles_per_document);
  if (shape.passage != 0)
    cost.body += sizeof(uint32_t) + kStoredPrintBytes * (memory.prints - 1) / PrintTable::bytes_each();
  return cost;
}

// In winnowing, the minimum of a window differs from the previous window's once in (window + 1) / 2 windows.
double prints_asked(uint32_t passage, double shingles) {
  return 2 * shingles / (asked_window(static_cast<size_t>(shingles), passage) + 1.0);
}

// The next print is 1 to `passage` shingles behind the last, with equal probability. Averages over all places
// where a passage may begin.
double passage_found(uint32_t passage, uint32_t shared) {
  if (shared >= passage) return 1;
  const double rest = passage - shared;
  return 1 - rest * (rest + 1) / (passage * (passage + 1.0));
}

double coded_set_bytes(double shingles) {
  PodVector<uint32_t> tops(static_cast<size_t>(std::llround(shingles)));
  for (size_t i = 0; i < tops.size(); ++i) tops[i] = static_cast<uint32_t>(mix64(i + 1) >> 32);
  CompactSet set;
  make_compact_set(tops, set);
  std::string coded;
  encode_compact_set(set, coded);
  return static_cast<double>(coded.size());
}

}  // namespace doppel
