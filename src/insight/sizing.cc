#include "insight/sizing.h"

#include <cmath>
#include <string>

#include "index/index.h"
#include "sketch/compact_set.h"
#include "text/hash_key.h"

namespace doppel {
namespace {

int up_to_multiple(int n, int of) { return (n + of - 1) / of * of; }

}  // namespace

IndexCost index_cost(const IndexShape& shape) {
  const int mask_bytes = 4 * shape.banding.mask_words();
  IndexCost cost;
  const BytesEach memory = bytes_each({.num_perm = shape.num_perm, .banding = shape.banding});
  cost.row = memory.row;
  cost.tables = memory.tables;
  // checksum 4, flags 4, body 8, id tag 8, digest 16, mask, slices
  cost.hot = 40 + mask_bytes + up_to_multiple(shape.num_perm, 4);
  // checksum 4, length of the metadata
  cost.body = 4 + 1 + shape.metadata_bytes;
  if (shape.exact_sets) cost.body += coded_set_bytes(shape.shingles_per_document);
  return cost;
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
