// Entering documents: table by table for a block of rows, so that their lines are here when they are written.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "index/fetch.h"
#include "index/index_impl.h"

namespace doppel {
namespace {

constexpr size_t kInsertBlock = 256;  // rows that are entered table by table

}  // namespace

struct Index::Impl::Entering {
  Impl& impl;
  RowStore& rows = impl.rows;
  size_t bands = impl.bands;

  // One document's entry in one table.
  struct Entry {
    SlotTable* table;
    SlotTable::Place at;  // before anything of the block was entered: a hint
    uint64_t h;
    size_t document;
  };
  struct Entries {
    std::array<Entry, kInsertBlock> entries;
    size_t count = 0;
  };

  void gather(size_t kind, std::span<const Row> block, const uint64_t* band_keys, Entries& out) {
    out.count = 0;
    if (kind * impl.shards >= impl.tables.size()) return;
    for (size_t i = 0; i < block.size(); ++i) {
      const Row& row = block[i];
      uint64_t h = 0;
      if (kind < bands) {
        if (row.slices == nullptr || (row.mask[kind / 32] >> (kind % 32) & 1) == 0) continue;
        h = band_keys[i * bands + kind];
      } else {
        const uint64_t named = kind == impl.digests() ? row.digest.low
                               : kind == impl.ids()   ? row.id_tag
                                                      : row.payload;
        if (kind != impl.digests() && named == 0) continue;
        h = spread(named);
      }
      SlotTable& t = impl.table(kind, h);
      out.entries[out.count++] = {&t, t.place(h), h, i};
    }
  }

  // Where homes are full, asks for the lines that the entries go on to, in steps; fewer are left at each.
  static void ask_for_room(const Entries& entering) {
    std::array<uint8_t, kInsertBlock> left;
    static_assert(kInsertBlock <= 256);
    for (size_t i = 0; i < entering.count; ++i) left[i] = static_cast<uint8_t>(i);
    size_t count = entering.count;
    for (uint32_t step = 0; step < SlotTable::kRoomSteps; ++step) {
      size_t full = 0;
      for (size_t i = 0; i < count; ++i) {
        const Entry& e = entering.entries[left[i]];
        left[full] = left[i];
        full += e.table->full(e.at, step) ? 1 : 0;
      }
      count = full;
      for (size_t i = 0; i < count; ++i) {
        const Entry& e = entering.entries[left[i]];
        e.table->prefetch_room(e.at, step);
      }
    }
  }

  // The entries of one table, while the homes of those in the next are asked for. moved: of each document.
  static void enter(const Entries& now, const Entries& next, Seq first, Insertion& insertion,
                    std::span<uint32_t, kInsertBlock> moved) {
    ask_for_room(now);
    for (size_t i = 0; i < std::max(now.count, next.count); ++i) {
      if (i < next.count) fetch(next.entries[i].at.home);
      if (i >= now.count) continue;
      const Entry& e = now.entries[i];
      insertion.moved = moved[e.document];
      e.table->insert(e.h, static_cast<uint32_t>(first + e.document) & kOrdinalMask, insertion);
      moved[e.document] = insertion.moved;
    }
  }

  // Rows first, then table by table; while one is filled, the homes in the next are asked for (a lookup of
  // the same batch has usually brought the lines, but not kept their translations).
  void insert_block(std::span<const Row> block, const uint64_t* band_keys) {
    const Seq first = rows.next();
    if (first + block.size() - rows.low() > kOrdinalMask) {
      std::fputs("doppel: more than 2^28 representatives between the lowest live one and the next\n", stderr);
      std::abort();
    }
    for (const Row& row : block) rows.append(row);
    Insertion insertion;
    insertion.source = &impl.source;
    insertion.expired = impl.expired;
    insertion.window = impl.window();
    std::array<uint32_t, kInsertBlock> moved{};
    Entries both[2];
    gather(0, block, band_keys, both[0]);
    for (size_t i = 0; i < both[0].count; ++i) fetch(both[0].entries[i].at.home);
    for (size_t kind = 0; kind * impl.shards < impl.tables.size(); ++kind) {
      Entries& next = both[(kind + 1) % 2];
      gather(kind + 1, block, band_keys, next);
      insertion.kind = static_cast<int>(kind);
      enter(both[kind % 2], next, first, insertion, moved);
    }
    impl.moved_max = std::max<uint64_t>(
        impl.moved_max,
        *std::max_element(moved.begin(), moved.begin() + static_cast<ptrdiff_t>(block.size())));
  }

  // Tables [first, last) of kinds, for all rows that live. Row by row in blocks: a block's slices stay close
  // while one table after the other takes its keys from them.
  void build_kinds(size_t first, size_t last) {
    for (size_t t = first * impl.shards; t < last * impl.shards; ++t) impl.tables[t].take_memory();
    Insertion insertion;
    insertion.source = &impl.source;
    insertion.window = impl.window();
    Entries both[2];
    for (Seq block = rows.low(); block < rows.next(); block += kInsertBlock) {
      const Seq end = std::min(rows.next(), block + kInsertBlock);
      gather_stored(first, block, end, both[first % 2]);
      for (size_t i = 0; i < both[first % 2].count; ++i) fetch(both[first % 2].entries[i].at.home);
      for (size_t kind = first; kind < last; ++kind) {
        Entries& next = both[(kind + 1) % 2];
        next.count = 0;
        if (kind + 1 < last) gather_stored(kind + 1, block, end, next);
        insertion.kind = static_cast<int>(kind);
        std::array<uint32_t, kInsertBlock> moved{};
        enter(both[kind % 2], next, block, insertion, moved);
      }
    }
  }

  // The same as gather(), of rows that are in the store.
  void gather_stored(size_t kind, Seq from, Seq to, Entries& out) {
    out.count = 0;
    for (Seq seq = from; seq < to; ++seq) {
      const uint8_t* row = rows.at(seq);
      const uint32_t flags = *rows.flags(row);
      if ((flags & RowStore::kRemoved) != 0) continue;
      uint64_t h = 0;
      if (kind < bands) {
        if ((flags & RowStore::kSliced) == 0 || (rows.mask(row)[kind / 32] >> (kind % 32) & 1) == 0) continue;
        h = impl.keys.key(static_cast<int>(kind), row);
      } else {
        const uint64_t named = impl.name_of(kind, row);
        if (kind != impl.digests() && named == 0) continue;
        h = spread(named);
      }
      SlotTable& t = impl.table(kind, h);
      out.entries[out.count++] = {&t, t.place(h), h, static_cast<size_t>(seq - from)};
    }
  }
};

void Index::Impl::insert(std::span<const Row> batch, const uint64_t* band_keys) {
  Entering enter{*this};
  for (size_t at = 0; at < batch.size(); at += kInsertBlock)
    enter.insert_block(batch.subspan(at, std::min(kInsertBlock, batch.size() - at)), band_keys + at * bands);
}

void Index::Impl::build_tables(int parts, const Run& run) {
  const uint64_t live = rows.next() - rows.low() - rows.removed();
  const size_t count = tables.size();
  const size_t kinds = count / shards;
  if (live == 0) return;
  // Between growing and growing again, each table at another point.
  const double full = static_cast<double>(live) / static_cast<double>(shards) / kSlots / 0.9;
  for (size_t t = 0; t < count; ++t) {
    const double stagger = std::pow(1.25, static_cast<double>(t + 1) / static_cast<double>(count + 1));
    tables[t] = SlotTable(std::max(8.0, full) * stagger, (uint64_t{1} << kOrdinalBits) / shards);
  }
  expired = false;
  const auto n = static_cast<size_t>(std::max(1, parts));
  run(static_cast<int>(n), [&](int part) {
    const auto p = static_cast<size_t>(part);
    Entering{*this}.build_kinds(p * kinds / n, (p + 1) * kinds / n);
  });
}

}  // namespace doppel
