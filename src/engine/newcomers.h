#pragma once
// The small table of RESOLVE: representatives made since the number that MATCH answered for. They are
// looked up here until the batch is done, and only then inserted into the index.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/match.h"
#include "index/index.h"

namespace doppel {

class Newcomers {
 public:
  struct Entry {
    Seq seq = 0;
    size_t document = 0;              // place in the batch
    const uint8_t* slices = nullptr;  // nullptr: digest only
    Digest digest;
    Digest payload;  // zeros: not known
    uint64_t id_tag = 0;
    int64_t trusted_ms = kNoTime;
    BandMask mask;
    bool removed = false;
    uint32_t same_id = ~0u;  // the entry before with this id tag; ~0: none
  };

  Newcomers(int num_perm, Banding banding, int min_equal, const uint64_t& lowest_live);

  void start_batch(size_t documents);

  // `entry.mask` says in which bands it is listed.
  void add(const Entry& entry, const uint64_t* band_keys);

  // The live newcomer with this digest.
  const Entry* find_digest(const Digest& digest) const;

  // The live newcomer with this payload.
  const Entry* find_payload(const Digest& payload) const;

  // Calls `visit` for the live newcomers with this id tag (not 0), ascending.
  void find_id(uint64_t id_tag, const std::function<void(const Entry&)>& visit) const;

  // Appends to `candidates` the live newcomers that are candidates, and adds the listed ones to `listed`, by
  // band.
  void find(const uint8_t* slices, const uint64_t* band_keys, absl::InlinedVector<Verified, 2>& candidates,
            std::span<uint32_t> listed);

  Entry* at(Seq seq);  // nullptr: not of this batch
  std::vector<Entry>& entries() { return entries_; }

 private:
  struct Listing {
    uint64_t key;
    uint32_t entry;
    uint32_t next;  // in the same chain; kEnd: none
  };
  static constexpr uint32_t kEnd = ~0u;
  bool live(const Entry& entry) const { return !entry.removed && entry.seq >= lowest_live_; }

  int num_perm_;
  Banding banding_;
  int min_equal_;
  const uint64_t& lowest_live_;
  std::vector<Entry> entries_;
  std::vector<Listing> listings_;
  std::vector<uint32_t> heads_;
  uint64_t head_mask_ = 0;
  std::vector<uint32_t> seen_;  // by entry: stamp of the document that counted it last
  uint32_t stamp_ = 0;
  absl::flat_hash_map<uint64_t, uint32_t> digests_;   // digest.low -> the last entry with it
  absl::flat_hash_map<uint64_t, uint32_t> payloads_;  // the same
  absl::flat_hash_map<uint64_t, uint32_t> ids_;       // id tag -> the last entry with it
};

}  // namespace doppel
