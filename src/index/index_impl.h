#pragma once
// The implementation of an index, shared by lookup (index_lookup.cc), insertion (index_insert.cc) and the
// interface (index.cc): the rows, and for each kind of key a table from its hash to ordinals of rows. The
// kinds are the bands, then digests, ids and payloads if they are tracked.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/band_key.h"
#include "index/index.h"
#include "index/line_table.h"
#include "index/print_table.h"
#include "index/row_store.h"

namespace doppel {

struct CandidateIndex::Impl {
  static constexpr size_t kNoKind = ~size_t{0};  // of a table that does not exist

  explicit Impl(const CandidateIndexOptions& o);

  LineTable::Options table_options(size_t number, size_t count, uint64_t entries) const;
  size_t digests() const { return bands; }
  size_t ids() const { return options.track_ids ? bands + 1 : kNoKind; }
  size_t payloads() const {
    return options.track_payloads ? bands + 1 + (options.track_ids ? 1 : 0) : kNoKind;
  }
  // The value by which a table other than a band's lists a stored row; 0 means not listed (except in the
  // table of digests).
  uint64_t name_of(size_t kind, const uint8_t* row) const {
    return kind == digests() ? rows.digest(row).low : kind == ids() ? rows.id_tag(row) : rows.payload(row);
  }
  static uint64_t spread(uint64_t value) { return mix64(value ^ 0x5bd1e9955bd1e995u); }

  // The number of an ordinal. It is outside the window if the row is gone.
  Seq seq_of(uint32_t ordinal) const {
    return rows.low() + ((ordinal - static_cast<uint32_t>(rows.low())) & kOrdinalMask);
  }

  void lookup(std::span<const Query> queries, std::span<Found> out) const;
  int count_listed(size_t band, uint64_t key, const uint8_t* slices) const;
  // The live rows listed under this name, ascending.
  std::vector<Seq> find_named(size_t kind, uint64_t name) const;
  // The ordinals that may be listed under this hash, each once.
  void find(size_t kind, uint64_t h, PodVector<uint32_t>& out) const;

  void insert(std::span<const Row> batch, const uint64_t* band_keys, int parts, const Run& run);
  void insert_prints(std::span<const Row> batch);
  void build_tables(int parts, const Run& run);
  OrdinalWindow window() const {
    return {static_cast<uint32_t>(rows.low()) & kOrdinalMask,
            static_cast<uint32_t>(rows.next() - rows.low())};
  }

  // Answers what tables ask about their entries.
  struct Source final : EntrySource {
    explicit Source(const Impl& i) : impl(i) {}
    uint64_t hash_of(int kind, uint32_t ordinal) const override {
      const uint8_t* row = impl.rows.at(impl.seq_of(ordinal));
      if (static_cast<size_t>(kind) < impl.bands) return impl.keys.key(kind, row);
      return spread(impl.name_of(static_cast<size_t>(kind), row));
    }
    void prefetch(int kind, uint32_t ordinal) const override {
      const Seq seq = impl.seq_of(ordinal);
      if (!impl.rows.in_window(seq)) return;
      const bool band = static_cast<size_t>(kind) < impl.bands;
      fetch(impl.rows.at(seq) +
            (band ? static_cast<size_t>(kind * impl.options.banding.rows) : impl.rows.digest_offset()));
    }
    bool alive(uint32_t ordinal) const override { return impl.rows.live(impl.seq_of(ordinal)); }
    const Impl& impl;
  };

  CandidateIndexOptions options;
  uint64_t entries_max;  // of one table: determines the address space that it reserves
  RowStore rows;
  BandKeys keys;
  size_t bands;
  std::vector<LineTable> tables;       // indexed by kind
  std::unique_ptr<PrintTable> prints;  // with track_prints
  Source source;
  bool expired = false;  // expire_below() was called: tables may contain entries below the window
  uint64_t moved_max = 0;

 private:
  struct Lookup;
  struct Entering;
};

}  // namespace doppel
