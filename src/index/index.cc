#include "index/index.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/memory_limit.h"
#include "index/index_impl.h"

namespace doppel {

namespace {

// Share of the address space for the index; the rest is for documents, threads and the heap.
constexpr double kShareOfIndex = .7;
// Address space that a table reserves for each entry: more than the entry takes.
constexpr double kReservedEach = static_cast<double>(sizeof(Line)) / 7;

size_t tables_of(const CandidateIndexOptions& o) {
  return static_cast<size_t>(o.banding.bands) + 1 + (o.track_ids ? 1 : 0) + (o.track_payloads ? 1 : 0);
}

}  // namespace

uint64_t rows_with_room(const CandidateIndexOptions& options) {
  const std::optional<uint64_t> left = address_space_left();
  if (!left) return kIndexRowsMax;
  const double each = static_cast<double>(RowStore(options).stride()) +
                      static_cast<double>(tables_of(options)) * kReservedEach;
  const double rows = static_cast<double>(*left) * kShareOfIndex /
                      static_cast<double>(std::max<uint64_t>(1, options.indexes)) / each;
  return static_cast<uint64_t>(std::min(rows, static_cast<double>(kIndexRowsMax)));
}

CandidateIndex::Impl::Impl(const CandidateIndexOptions& o)
    : options(o),
      entries_max(rows_with_room(o) + 1),
      rows(o),
      keys(o.banding, o.key),
      bands(static_cast<size_t>(o.banding.bands)),
      source(*this) {
  DOPPEL_CHECK(o.num_perm >= 1 && o.banding.bands >= 1 && o.banding.rows >= 1 &&
                   o.banding.bands <= o.num_perm / o.banding.rows,
               "the rows of all bands are slots of the sketch", o.num_perm, o.banding.bands, o.banding.rows);
  const size_t count = tables_of(o);
  // A small index touches at most about two megabytes, whatever the hint says.
  const auto most = static_cast<uint64_t>(kHugePage / LineTable::bytes_each()) / count;
  tables.reserve(count);
  for (size_t t = 0; t < count; ++t)
    tables.emplace_back(table_options(t, count, std::min(o.initial_capacity, most)));
  if (o.track_prints) prints = std::make_unique<PrintTable>(&options.fresh);
}

LineTable::Options CandidateIndex::Impl::table_options(size_t number, size_t count, uint64_t entries) const {
  return {.entries = entries,
          .phase = static_cast<double>(number) / static_cast<double>(count),
          .entries_max = entries_max};
}

double prints_each(uint32_t passage) {
  // Pages have 613 shingles on average, but most are far shorter (docs/adr/0033).
  constexpr double kPrintsLeast = 13.8;
  constexpr double kShingles = 613;
  return std::max(kPrintsLeast, 2 * kShingles / (passage + 1.0));
}

BytesEach bytes_each(const CandidateIndexOptions& options) {
  return {
      .row = static_cast<double>(RowStore(options).stride()),
      .tables = (options.banding.bands + 1 + (options.track_ids ? 1 : 0) + (options.track_payloads ? 1 : 0)) *
                LineTable::bytes_each(),
      .prints = options.track_prints ? 1 + prints_each(options.passage) * PrintTable::bytes_each() : 0};
}

CandidateIndex::CandidateIndex(const CandidateIndexOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
CandidateIndex::~CandidateIndex() = default;

const CandidateIndexOptions& CandidateIndex::options() const { return impl_->options; }

void CandidateIndex::band_keys(const uint8_t* slices, uint64_t* out) const {
  for (int j = 0; j < impl_->options.banding.bands; ++j) out[j] = impl_->keys.key(j, slices);
}

void CandidateIndex::lookup(std::span<const Query> queries, std::span<Found> out) const {
  DOPPEL_CHECK(out.size() >= queries.size(), "a lookup has room for each answer", queries.size(), out.size());
  impl_->lookup(queries, out);
}

int CandidateIndex::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  DOPPEL_CHECK(band >= 0 && band < impl_->options.banding.bands,
               "a band that is asked for is one of the index's", band, impl_->options.banding.bands);
  return impl_->count_listed(static_cast<size_t>(band), band_key, slices);
}

void CandidateIndex::insert(std::span<const Row> rows, const uint64_t* band_keys, int parts, const Run& run) {
  impl_->insert(rows, band_keys, parts, run);
}

Seq CandidateIndex::next_seq() const { return impl_->rows.next(); }
Seq CandidateIndex::lowest_live() const { return impl_->rows.low(); }
bool CandidateIndex::live(Seq seq) const { return impl_->rows.live(seq); }
Row CandidateIndex::row(Seq seq) const { return impl_->rows.row(seq); }
bool CandidateIndex::remove(Seq seq) {
  if (!impl_->rows.remove(seq)) return false;
  if (impl_->prints) impl_->prints->remove(seq);
  return true;
}
void CandidateIndex::revive(Seq seq) {
  impl_->rows.revive(seq);
  if (impl_->prints) impl_->prints->revive(seq);
}
void CandidateIndex::expire_below(Seq seq) {
  const Seq before = impl_->rows.low();
  impl_->rows.expire_below(seq);
  if (impl_->prints) impl_->prints->expire_below(seq);
  DOPPEL_CHECK(impl_->rows.low() >= before && impl_->rows.low() <= impl_->rows.next(),
               "the lowest live number never goes back and is at most the next number", before,
               impl_->rows.low(), impl_->rows.next(), seq);
  impl_->expired = true;
}
void CandidateIndex::start_at(Seq seq) {
  impl_->rows.start_at(seq);
  if (impl_->prints) impl_->prints->start_at(seq);
}
void CandidateIndex::restore(const Row& row, bool removed) {
  const Seq seq = impl_->rows.append(row);
  if (impl_->prints) impl_->prints->insert(removed ? std::span<const uint64_t>() : row.prints);
  if (removed) remove(seq);
}
void CandidateIndex::build_tables(int parts, const Run& run) { impl_->build_tables(parts, run); }

std::vector<Seq> CandidateIndex::find_id(uint64_t id_tag) const {
  return impl_->find_named(impl_->ids(), id_tag);
}
std::vector<Seq> CandidateIndex::find_payload(uint32_t payload) const {
  return impl_->find_named(impl_->payloads(), payload);
}

const PrintTable& CandidateIndex::prints() const {
  DOPPEL_CHECK(impl_->prints != nullptr, "an index that is asked for prints keeps them");
  return *impl_->prints;
}

IndexStats CandidateIndex::stats() const {
  IndexStats stats;
  const RowStore& rows = impl_->rows;
  stats.rows = rows.next() - rows.low();
  stats.live = stats.rows - rows.removed();
  stats.row_bytes = rows.bytes();
  stats.moved_entries_max = impl_->moved_max;
  for (const LineTable& table : impl_->tables) {
    stats.entries += table.entries();
    stats.spilled += table.side_entries();
    stats.inserts += table.inserts();
    stats.load += table.load() / static_cast<double>(impl_->tables.size());
    stats.table_bytes += table.bytes();
  }
  if (impl_->prints) {
    stats.print_bytes = impl_->prints->bytes();
    stats.table_bytes += stats.print_bytes;
    stats.prints = impl_->prints->entries();
  }
  return stats;
}

}  // namespace doppel
