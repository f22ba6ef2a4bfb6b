#pragma once
// Sketches of sets, and an index of them, for the module doppel_dedup.datasketch.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "index/index.h"
#include "sketch/sketch.h"

namespace doppel::python {

// The common part of sketches with one seed and size. Immutable.
struct SketchKind {
  SketchKind(uint64_t seed, int num_perm);

  uint64_t seed;
  uint64_t salt;  // for hashing elements
  HashKey key;
  Sketcher sketcher;
};

class MinHash {
 public:
  explicit MinHash(std::shared_ptr<const SketchKind> kind);

  // Collects elements and sketches them in batches, because a few at a time cost as much as many.
  void update(std::string_view element);
  void merge(MinHash& other);  // must be of the same kind
  double jaccard(MinHash& other);
  // The estimated number of distinct elements.
  double count();

  const SketchKind& kind() const { return *kind_; }
  const std::vector<uint64_t>& slots();
  void set_slots(std::vector<uint64_t> slots) { slots_ = std::move(slots); }
  bool empty() { return slots()[0] == kEmptySlot; }

 private:
  std::shared_ptr<const SketchKind> kind_;
  std::vector<uint64_t> slots_;
  PodVector<uint64_t> waiting_;  // hashes of elements
};

// Sketches by number. A query returns the candidates that share a band, with their estimated similarity.
class MinHashIndex {
 public:
  // bands and rows are chosen from threshold and recall if they are 0.
  static absl::StatusOr<std::unique_ptr<MinHashIndex>> create(double threshold, double recall, int num_perm,
                                                              int bands, int rows);
  // Returns the number of the sketch, ascending from 0.
  Seq insert(const std::vector<uint64_t>& slots);
  bool remove(Seq number) { return index_.remove(number); }
  std::vector<std::pair<Seq, double>> query(const std::vector<uint64_t>& slots) const;
  // For each band: how many sketches have each band key.
  std::vector<absl::flat_hash_map<uint64_t, uint64_t>> counts() const;
  Banding banding() const { return index_.options().banding; }
  int num_perm() const { return index_.options().num_perm; }

 private:
  MinHashIndex(const CandidateIndexOptions& options);
  void prepare(const std::vector<uint64_t>& slots, uint8_t* slices, uint64_t* keys) const;

  CandidateIndex index_;
  BandMask all_bands_;
};

}  // namespace doppel::python
