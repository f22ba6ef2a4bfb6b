#pragma once
// A document's set of shingles in about 11 bits each: the top `bits` bits of every distinct shingle hash,
// sorted and coded. Small enough to store one for each original, exact enough to decide.
//
// bits = ceil(log2 n) + 9 for n distinct shingles, but 24 for n < 256, and at most 32. Sets of different bits
// are compared at the smaller number; values that become equal there count once.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "sketch/sketch.h"

namespace doppel {

struct CompactSet {
  int bits = 0;                // bits of each value, 1..32; 0 only for the empty set
  PodVector<uint32_t> values;  // strictly ascending, each < 2^bits
};

// Makes a compact set of `tops`, the top 32 bits of shingle hashes, in any order and with any repeats. The
// result depends only on the set of tops.
void make_compact_set(std::span<const uint32_t> tops, CompactSet& out);

// Appends the coded form, which contains its own length and CRC32C.
void encode_compact_set(const CompactSet& set, std::string& out);

// An upper bound of what encode_compact_set() appends for n values.
size_t max_encoded_size(size_t n);

// Decodes the coded form. Every truncation, extension and bit flip is an error, never a wrong set.
absl::Status decode_compact_set(std::string_view coded, CompactSet& out);

// Returns |a and b| and |a or b|, at the smaller number of bits.
Overlap overlap(const CompactSet& a, const CompactSet& b);

}  // namespace doppel
