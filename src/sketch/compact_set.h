#pragma once
// A document's set of shingles in about 11 bits each: the top `bits` bits of every distinct shingle
// hash, sorted and coded. Small enough to keep one per original on disk, exact enough to decide.
//
// bits = ceil(log2 n) + 9 for n distinct shingles, at least 24 for n < 256, at most 32. Sets of
// different bits are compared at the smaller one; values that become equal there count once.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/pod_vector.h"
#include "sketch/sketch.h"

namespace doppel {

struct CompactSet {
  int bits = 0;                // of every value, 1..32; 0 only for the empty set
  PodVector<uint32_t> values;  // strictly ascending, each < 2^bits
};

// The top 32 bits of shingle hashes: all that a compact set needs of them.
// `tops` may hold repeats, in any order. The result is a pure function of the set and of nothing else (not of
// order or repeats).
void make_compact_set(std::span<const uint32_t> tops, CompactSet& out);

// Appends the coded form, which carries its own length and CRC32C.
void encode_compact_set(const CompactSet& set, std::string& out);

// Upper bound of what encode_compact_set appends for n values.
size_t max_encoded_size(size_t n);

// The reverse. Every truncation, extension and bit flip is an error, never a wrong set.
absl::Status decode_compact_set(std::string_view coded, CompactSet& out);

// |a and b|, |a or b|, at the smaller number of bits.
Overlap overlap(const CompactSet& a, const CompactSet& b);

}  // namespace doppel
