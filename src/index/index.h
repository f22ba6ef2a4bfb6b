#pragma once
// The index: originals by sequence number, and for each band a table from key to originals. It does no I/O,
// owns no threads and reads no clock.
//
// It guarantees that candidates are a pure function of its content. Original r is a candidate of document d
// if and only if r is live, in at least one band r is listed and all slices are equal, and at least
// `min_equal` of all slices are equal. Fingerprints, lines, growth and dead slots affect only the speed; they
// never add or lose a candidate.
//
// Threads: any number of threads may call lookup() at once, but not while a writer (insert, remove,
// expire_below) runs. Call writers from one thread at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/bytes.h"
#include "index/banding.h"
#include "index/pages.h"
#include "text/hash_key.h"

namespace doppel {

class PrintTable;  // print_table.h

using Seq = uint64_t;  // an original's number in stream order; never reused

// The maximum of next_seq() - lowest_live(). insert() and build_tables() check it.
inline constexpr uint64_t kIndexRowsMax = (uint64_t{1} << 28) - 1;

struct CandidateIndexOptions {
  int num_perm = 128;
  Banding banding{11, 4};
  int min_equal = 80;                 // of num_perm slices, required for a candidate
  int max_listed = 256;               // live originals with the same key that a band lists
  HashKey key;                        // keys the salts of the band keys
  uint64_t initial_capacity = 1024;   // a hint; never changes a result
  bool track_ids = false;             // store id tags, for find_id()
  bool track_payloads = false;        // for find_payload()
  bool track_prints = false;          // for prints()
  uint32_t passage = 0;               // of the prints, in shingles; only for bytes_each()
  FreshMemory fresh;                  // for inserts; may be empty
  uint64_t rows_max = kIndexRowsMax;  // limit that callers enforce; lower in tests
  uint64_t indexes = 1;               // number of such indexes in the process, which share its address space
};

// How many rows fit into the free address space, next to the process's other needs.
uint64_t rows_with_room(const CandidateIndexOptions& options);

// Where an original's body (metadata and compact set) is stored; opaque to the index.
struct BodyRef {
  uint64_t offset = 0;  // < 2^40
  uint32_t size = 0;    // < 2^24; 0 if there is none
  bool operator==(const BodyRef&) const = default;
};

// The index stores only this many bits of a payload's digest, so equal bits only suggest equal payloads.
inline constexpr int kPayloadBits = 30;

using BandMask = absl::InlinedVector<uint32_t, 1>;  // bit j is band j; has Banding::mask_words() words

// An original in memory, about 160 bytes. The views point into the index or into the caller's memory.
struct Row {
  const uint8_t* slices =
      nullptr;  // num_perm; nullptr if the text has no shingle: listed in no band, found by digest only
  Digest digest;
  uint64_t id_tag = 0;   // stored only with track_ids; 0 means none and is never found
  uint32_t payload = 0;  // kPayloadBits bits of the payload's digest; 0: none
  BodyRef body;
  const uint32_t* mask = nullptr;  // the bands that list it; ignored without slices
  // With track_prints: the distinct prints to list. Input of insert() and restore(); row() does not return
  // them.
  std::span<const uint64_t> prints{};
};

struct Query {
  const uint8_t* slices = nullptr;      // num_perm, or nullptr if the text has no shingle
  const uint64_t* band_keys = nullptr;  // one for each band, from band_keys()
  Digest digest;
};

struct Candidate {
  Seq seq = 0;
  int equal = 0;  // number of equal slices
  bool operator==(const Candidate&) const = default;
};

struct BandCount {
  uint16_t band = 0;
  uint16_t listed = 0;  // live originals listed there with exactly the query's key
};

// What the index knows about a document at the time of the lookup.
struct Found {
  std::optional<Seq> exact;                      // the earliest live original with this digest
  absl::InlinedVector<Candidate, 4> candidates;  // live; sorted by equal slices, descending, then by seq
  absl::InlinedVector<BandCount, 4> counts;      // bands that list at least one; ascending by band
};

struct IndexStats {
  uint64_t rows = 0, live = 0;
  uint64_t table_bytes = 0;  // of the tables of bands, digests and prints: memory in use
  uint64_t row_bytes = 0;
  uint64_t print_bytes = 0;        // of the table of prints
  uint64_t prints = 0;             // entries in the table of prints
  uint64_t moved_entries_max = 0;  // maximum of entries that an insert moved for growth
  uint64_t entries = 0;            // in all tables
  uint64_t spilled = 0;            // entries that are not in their block
  uint64_t inserts = 0;            // entries added since the start, including restored ones
  double load = 0;                 // share of the tables' slots in use
};

// The memory of one original, computed from the layout of rows and tables. The unused part of tables is
// averaged over their growth.
struct BytesEach {
  double row = 0;     // slices, digest, position of the body, bands that list it
  double tables = 0;  // one entry in each
  double prints = 0;  // if prints are tracked, for a typical web page
  double sum() const { return row + tables + prints; }
};
BytesEach bytes_each(const CandidateIndexOptions& options);
// How many prints an original lists; for a typical web page.
double prints_each(uint32_t passage);

class CandidateIndex {
 public:
  explicit CandidateIndex(const CandidateIndexOptions& options);
  ~CandidateIndex();
  CandidateIndex(const CandidateIndex&) = delete;
  CandidateIndex& operator=(const CandidateIndex&) = delete;

  const CandidateIndexOptions& options() const;

  // Computes the keys of all bands: out[0..bands).
  void band_keys(const uint8_t* slices, uint64_t* out) const;

  // Fills out[i] for queries[i]. Batches of some hundred hide memory latency.
  void lookup(std::span<const Query> queries, std::span<Found> out) const;

  // Returns how many live originals `band` lists with exactly the key of these slices.
  int count_listed(int band, uint64_t band_key, const uint8_t* slices) const;

  // Runs independent parts: run(parts, f) calls f(0) to f(parts - 1), in parallel or not, and returns when
  // all have returned.
  using Run = std::function<void(int parts, const std::function<void(int)>& part)>;

  // Appends originals with numbers next_seq(), next_seq() + 1, ... `band_keys` holds rows.size() x bands
  // keys; the keys of rows without slices are ignored. Each insert moves a bounded number of entries for the
  // growth of tables. With `run`, each part enters all rows into some of the tables.
  void insert(std::span<const Row> rows, const uint64_t* band_keys, int parts = 1, const Run& run = {});

  Seq next_seq() const;
  Seq lowest_live() const;   // all lower numbers are dead (expired)
  bool live(Seq seq) const;  // inserted, neither expired nor removed
  Row row(Seq seq) const;    // seq must be >= lowest_live() and < next_seq()

  // Marks the original as removed; its slots are reused lazily. Returns false if it was not live.
  bool remove(Seq seq);
  // Undoes the last remove(). Nothing else may have changed since.
  void revive(Seq seq);
  // Expires all numbers below `seq`, and releases their memory in whole chunks.
  void expire_below(Seq seq);
  // For restoring: starts the numbers at `seq` instead of 0. Only while the index is empty.
  void start_at(Seq seq);
  // For restoring. restore() appends a row like insert(), also a removed one, but lookups find nothing before
  // build_tables(), which builds the tables of the live rows in their final size, in parts.
  void restore(const Row& row, bool removed);
  void build_tables(int parts, const Run& run);

  // Returns the live originals with this id tag (track_ids), ascending. Tags may collide: check the body.
  std::vector<Seq> find_id(uint64_t id_tag) const;

  // Like find_id(), for payloads (track_payloads).
  std::vector<Seq> find_payload(uint32_t payload) const;

  // The table of prints (track_prints).
  const PrintTable& prints() const;

  IndexStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
