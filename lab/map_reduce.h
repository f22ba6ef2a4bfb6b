#pragma once
// Near-duplicates by MapReduce on sets of integers, in the form of Hadoop Streaming: lines of text in and
// out.
//
//   input       ID SHINGLE SHINGLE ...
//   mapper      BAND BUCKET<TAB>ID SHINGLE SHINGLE ...     one line per band
//   reducer     ID<TAB>ID                                  ascending, Jaccard >= threshold; needs sorted
//   input
//
// Row i of a signature is the minimum of (a_i x + b_i) mod n over the set. The bucket of a band is the sum of
// a_i s_i over its rows, plus b, mod n, with other values. n is the smallest prime above the largest shingle.
// All values come from the seed, which must be the same for all mappers and reducers. A reducer recognises a
// record of another seed, because its bucket does not match its shingles. A pair that shares several buckets
// is printed only at the lowest band, so it comes once, however many reducers there are.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/primes.h"

namespace doppel::lab {

struct MapReduceOptions {
  int rows = 25;
  int bands = 39;
  uint32_t max_shingle = 20'000;
  uint64_t seed = 1;
  uint32_t threshold_ppm = 900'000;
  bool every_band = false;  // prints a pair at each band that it shares, without the rule of the lowest band
};

struct ShingleSet {
  uint64_t id = 0;
  std::vector<uint32_t> shingles;  // ascending, without repeats
};
// The error says what is wrong with the line, but not its number.
absl::StatusOr<ShingleSet> parse_set(std::string_view line, uint32_t max_shingle);
void append_set(const ShingleSet& set, std::string& out);  // without a line feed

// |a and b| * 10^6 >= |a or b| * ppm.
bool similar(const ShingleSet& a, const ShingleSet& b, uint32_t threshold_ppm);
double jaccard(const ShingleSet& a, const ShingleSet& b);

class SetHashing {
 public:
  explicit SetHashing(const MapReduceOptions& options);
  int bands() const { return options_.bands; }
  uint32_t bucket(int band, const ShingleSet& set) const;

 private:
  struct Function {
    uint32_t a, b;
  };
  MapReduceOptions options_;
  Modulus n_;
  std::vector<Function> rows_;
  std::vector<uint32_t> band_a_, band_b_;
};

// Appends the mapper's lines for one set.
void map_set(const SetHashing& hashing, const ShingleSet& set, std::string& out);

struct ReduceCounters {
  uint64_t records = 0, candidates = 0, similar = 0, printed = 0;
};

// Takes the mapper's lines, sorted by their keys, one by one. Appends pairs to `out`.
class Reducer {
 public:
  explicit Reducer(const MapReduceOptions& options) : options_(options), hashing_(options) {}
  absl::Status add(std::string_view line, std::string& out);
  void finish(std::string& out);
  const ReduceCounters& counters() const { return counters_; }

 private:
  MapReduceOptions options_;
  SetHashing hashing_;
  std::string key_;
  int band_ = 0;
  std::vector<ShingleSet> group_;
  ReduceCounters counters_;
};

// Processes whole streams. Errors name the line of stdin.
absl::Status run_mapper(const MapReduceOptions& options, std::istream& in, std::ostream& out);
absl::StatusOr<ReduceCounters> run_reducer(const MapReduceOptions& options, std::istream& in,
                                           std::ostream& out);

// All pairs at the threshold, found exactly: only sets that share one of their rarest shingles can be so
// similar. In the form of the reducer, sorted.
std::vector<std::pair<uint64_t, uint64_t>> exact_pairs(const std::vector<ShingleSet>& sets,
                                                       uint32_t threshold_ppm);
absl::StatusOr<std::vector<ShingleSet>> read_sets(std::istream& in, uint32_t max_shingle);

// Sets of 80 to 200 shingles, a tenth of them near-copies of others. Their similarities are uniform in .85
// to .97, and one in eleven is within .01 of .9. Ids are 1 to count, in random order.
std::vector<ShingleSet> make_sets(size_t count, uint32_t max_shingle, uint64_t seed);

}  // namespace doppel::lab
