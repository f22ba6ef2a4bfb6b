#include "index/index.h"

#include <algorithm>

#include "base/check.h"
#include "index/index_impl.h"

namespace doppel {

Index::Impl::Impl(const IndexOptions& o)
    : options(o),
      rows(o),
      keys(o.banding, o.key),
      bands(static_cast<size_t>(o.banding.bands)),
      source(*this) {
  DOPPEL_CHECK(o.num_perm >= 1 && o.banding.bands >= 1 && o.banding.rows >= 1 &&
                   o.banding.bands <= o.num_perm / o.banding.rows,
               "the rows of all bands are slots of the sketch", o.num_perm, o.banding.bands, o.banding.rows);
  const size_t count = bands + 1 + (o.track_ids ? 1 : 0) + (o.track_payloads ? 1 : 0);
  // A small index touches about two megabytes at most, whatever was hinted.
  const auto most = static_cast<uint64_t>(kHugePage / LineTable::bytes_each()) / count;
  tables.reserve(count);
  for (size_t t = 0; t < count; ++t)
    tables.emplace_back(table_options(t, count, std::min(o.initial_capacity, most)));
}

LineTable::Options Index::Impl::table_options(size_t number, size_t count, uint64_t entries) const {
  return {.entries = entries,
          .phase = static_cast<double>(number) / static_cast<double>(count),
          .entries_max = uint64_t{1} << kOrdinalBits};
}

BytesEach bytes_each(const IndexOptions& options) {
  return {
      .row = static_cast<double>(RowStore(options).stride()),
      .tables = (options.banding.bands + 1 + (options.track_ids ? 1 : 0) + (options.track_payloads ? 1 : 0)) *
                LineTable::bytes_each()};
}

Index::Index(const IndexOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Index::~Index() = default;

const IndexOptions& Index::options() const { return impl_->options; }

void Index::band_keys(const uint8_t* slices, uint64_t* out) const {
  for (int j = 0; j < impl_->options.banding.bands; ++j) out[j] = impl_->keys.key(j, slices);
}

void Index::lookup(std::span<const Query> queries, std::span<Found> out) const {
  DOPPEL_CHECK(out.size() >= queries.size(), "a lookup has room for each answer", queries.size(), out.size());
  impl_->lookup(queries, out);
}

int Index::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  DOPPEL_CHECK(band >= 0 && band < impl_->options.banding.bands,
               "a band that is asked for is one of the index's", band, impl_->options.banding.bands);
  return impl_->count_listed(static_cast<size_t>(band), band_key, slices);
}

void Index::insert(std::span<const Row> rows, const uint64_t* band_keys, int parts, const Run& run) {
  impl_->insert(rows, band_keys, parts, run);
}

Seq Index::next_seq() const { return impl_->rows.next(); }
Seq Index::lowest_live() const { return impl_->rows.low(); }
bool Index::live(Seq seq) const { return impl_->rows.live(seq); }
Row Index::row(Seq seq) const { return impl_->rows.row(seq); }
bool Index::remove(Seq seq) { return impl_->rows.remove(seq); }
void Index::revive(Seq seq) { impl_->rows.revive(seq); }
void Index::expire_below(Seq seq) {
  const Seq before = impl_->rows.low();
  impl_->rows.expire_below(seq);
  DOPPEL_CHECK(impl_->rows.low() >= before && impl_->rows.low() <= impl_->rows.next(),
               "the lowest live number never goes back and is at most the next number", before,
               impl_->rows.low(), impl_->rows.next(), seq);
  impl_->expired = true;
}
void Index::start_at(Seq seq) { impl_->rows.start_at(seq); }
void Index::restore(const Row& row, bool removed) {
  const Seq seq = impl_->rows.append(row);
  if (removed) impl_->rows.remove(seq);
}
void Index::build_tables(int parts, const Run& run) { impl_->build_tables(parts, run); }

std::vector<Seq> Index::find_id(uint64_t id_tag) const { return impl_->find_named(impl_->ids(), id_tag); }
std::vector<Seq> Index::find_payload(uint32_t payload) const {
  return impl_->find_named(impl_->payloads(), payload);
}

IndexStats Index::stats() const {
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
  return stats;
}

}  // namespace doppel
