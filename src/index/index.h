#pragma once
// The index: originals by sequence number, and for every band a table from key to
// originals. It does no I/O, owns no threads and reads no clock.
//
// What it promises (DESIGN: "candidates are a pure function"): original r is a candidate of
// document d iff in at least one band all of the band's slices are equal and r is listed in that band, r is
// live, and at least `min_equal` of all slices are equal. Fingerprints, lines, growth and dead slots only
// find this faster or slower; none of them can add or lose a candidate.
//
// Threads: lookup() may run on any number of threads at once, but not while a writer (insert, remove,
// expire_below) runs. Writers are called from one thread at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/pod_vector.h"
#include "index/banding.h"
#include "index/pages.h"
#include "text/digest.h"
#include "text/hash_key.h"

namespace doppel {

class PrintTable;  // print_table.h

using Seq = uint64_t;  // an original's number in the order of the stream; never reused

// From the lowest live number to the next; insert() and build_tables() take no more.
inline constexpr uint64_t kIndexRowsMax = (uint64_t{1} << 28) - 1;

struct CandidateIndexOptions {
  int num_perm = 128;
  Banding banding{11, 4};
  int min_equal = 80;                 // of num_perm slices, for a candidate
  int max_listed = 256;               // live originals with one key that a band lists
  HashKey key;                        // salts of the band keys
  uint64_t initial_capacity = 1024;   // a hint; never changes a result
  bool track_ids = false;             // keep id tags, so that find_id() works
  bool track_payloads = false;        // so that find_payload() works
  bool track_prints = false;          // so that prints() is there
  uint32_t passage = 0;               // of these prints, in shingles; only for bytes_each()
  FreshMemory fresh;                  // for inserts; may be empty
  uint64_t rows_max = kIndexRowsMax;  // what callers refuse to exceed; less in tests
  uint64_t indexes = 1;               // of this kind in the process, which share its address space
};

// How many rows have room in the address space that the process may still take, beside what else it needs.
uint64_t rows_with_room(const CandidateIndexOptions& options);

// Where an original's body (metadata and compact set) is: opaque to the index.
struct BodyRef {
  uint64_t offset = 0;  // < 2^40
  uint32_t size = 0;    // < 2^24; 0: there is none
  bool operator==(const BodyRef&) const = default;
};

// Only so much of a payload's digest is in memory: what has equal bits is a candidate.
inline constexpr int kPayloadBits = 30;

using BandMask = absl::InlinedVector<uint32_t, 1>;  // bit j: band j; Banding::mask_words()

// An original in memory, about 160 bytes. Views into the index or into the caller's memory.
struct Row {
  const uint8_t* slices = nullptr;  // num_perm; nullptr: below one shingle, listed in no band, digest only
  Digest digest;
  uint64_t id_tag = 0;   // kept only with track_ids; 0: none, never found
  uint32_t payload = 0;  // kPayloadBits of what names the bytes that the document was made of; 0: none
  BodyRef body;
  const uint32_t* mask = nullptr;  // the bands in which it is listed; ignored without slices
  // With track_prints: the prints that it lists, each once. Taken by insert() and restore(), not given by
  // row().
  std::span<const uint64_t> prints{};
};

struct Query {
  const uint8_t* slices = nullptr;      // num_perm, or nullptr below one shingle
  const uint64_t* band_keys = nullptr;  // from band_keys(); bands of them
  Digest digest;
};

struct Candidate {
  Seq seq = 0;
  int equal = 0;  // equal slices
  bool operator==(const Candidate&) const = default;
};

struct BandCount {
  uint16_t band = 0;
  uint16_t listed = 0;  // live originals listed there with exactly the query's key
};

// What the index knows of one document, as of now.
struct Found {
  std::optional<Seq> exact;                      // the earliest live original with this digest
  absl::InlinedVector<Candidate, 4> candidates;  // live; most equal slices first, then earliest
  absl::InlinedVector<BandCount, 4> counts;      // bands where at least one is listed; ascending by band
};

struct IndexStats {
  uint64_t rows = 0, live = 0;
  uint64_t table_bytes = 0;  // band and digest tables, and that of prints: what is touched
  uint64_t row_bytes = 0;
  uint64_t print_bytes = 0;        // of the table of prints
  uint64_t prints = 0;             // entries there
  uint64_t moved_entries_max = 0;  // most entries that one insert moved for growth
  uint64_t entries = 0;            // in all tables
  uint64_t spilled = 0;            // of the entries: those that found no place near home
  uint64_t inserts = 0;            // entries put there since the start, a restore included
  double load = 0;                 // share of the tables' slots that is in use
};

// What one original takes in memory, computed from the layout of rows and tables; what a table has in
// reserve is averaged over its growth.
struct BytesEach {
  double row = 0;     // slices, digest, place of the body, bands in which it is listed
  double tables = 0;  // an entry in each
  double prints = 0;  // where they are kept, of a web page
  double sum() const { return row + tables + prints; }
};
BytesEach bytes_each(const CandidateIndexOptions& options);

class CandidateIndex {
 public:
  explicit CandidateIndex(const CandidateIndexOptions& options);
  ~CandidateIndex();
  CandidateIndex(const CandidateIndex&) = delete;
  CandidateIndex& operator=(const CandidateIndex&) = delete;

  const CandidateIndexOptions& options() const;

  // Keys of all bands for these slices: out[0..bands).
  void band_keys(const uint8_t* slices, uint64_t* out) const;

  // out[i] for queries[i]. Batches of some hundred hide memory latency.
  void lookup(std::span<const Query> queries, std::span<Found> out) const;

  // How many live originals are listed in `band` with exactly the key of these slices, now.
  int count_listed(int band, uint64_t band_key, const uint8_t* slices) const;

  // Work in parts that share nothing: run(parts, f) calls f(0) to f(parts - 1), at the same time or not, and
  // returns when all have returned.
  using Run = std::function<void(int parts, const std::function<void(int)>& part)>;

  // Appends originals with numbers next_seq(), next_seq() + 1, ... `band_keys` holds rows.size() x
  // bands keys (rows without slices: ignored). Tables grow as needed, by a bounded number of moves for each
  // insert. With `run`, each part enters all rows into some of the tables.
  void insert(std::span<const Row> rows, const uint64_t* band_keys, int parts = 1, const Run& run = {});

  Seq next_seq() const;
  Seq lowest_live() const;   // everything below is dead (expired)
  bool live(Seq seq) const;  // inserted, not expired, not removed
  Row row(Seq seq) const;    // seq must be >= lowest_live() and < next_seq()

  // Removal marks; slots are reused lazily. Returns false if it was not live.
  bool remove(Seq seq);
  // Takes a remove() back, before anything else changes.
  void revive(Seq seq);
  // Expiry: numbers below `seq` are dead from now on; their memory is given back as a whole.
  void expire_below(Seq seq);
  // For restoring: numbering starts here instead of at 0. Only while empty.
  void start_at(Seq seq);
  // Restoring: rows as insert() takes them, removed ones too, but nothing is looked up before build_tables().
  // It makes the tables of what lives then, in their final size, in parts.
  void restore(const Row& row, bool removed);
  void build_tables(int parts, const Run& run);

  // Live originals with this id tag (track_ids), ascending. Tags may collide: check the body.
  std::vector<Seq> find_id(uint64_t id_tag) const;

  // The same of payloads (track_payloads).
  std::vector<Seq> find_payload(uint32_t payload) const;

  // Who lists a print (track_prints).
  const PrintTable& prints() const;

  IndexStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel
