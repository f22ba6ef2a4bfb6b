#include "index/index.h"

#include <algorithm>
#include <cmath>

#include "index/index_impl.h"

namespace doppel {

Index::Impl::Impl(const IndexOptions& o)
    : options(o),
      rows(o),
      keys(o.banding, o.key),
      bands(static_cast<size_t>(o.banding.bands)),
      shards(static_cast<size_t>(std::max(1, o.shards))),
      source(*this) {
  const size_t kinds = bands + 1 + (o.track_ids ? 1 : 0) + (o.track_payloads ? 1 : 0);
  const size_t count = kinds * shards;
  // A small index touches about two megabytes at most, whatever was hinted.
  const size_t most = kHugePage / sizeof(Bucket) / count;
  const double room = std::clamp(static_cast<double>(o.initial_capacity) / static_cast<double>(8 * shards),
                                 8.0, std::max(8.0, static_cast<double>(most)));
  tables.reserve(count);
  for (size_t t = 0; t < count; ++t) {
    // Tables grow by a fourth at a time: from sizes spread evenly over one such step, at different times.
    const double stagger = std::pow(1.25, static_cast<double>(t) / static_cast<double>(count));
    tables.emplace_back(room * stagger, (uint64_t{1} << kOrdinalBits) / shards);
  }
}

BytesEach bytes_each(const IndexOptions& options) {
  // A table: ten entries in 64 bytes, filled to 91 % at most, grown by a fourth. Between growing and growing
  // again the average table takes this much for an entry.
  constexpr double kTableBytes = 64.0 / 10 / 0.91 * (0.25 / 0.22314355131);
  return {
      .row = static_cast<double>(RowStore(options).stride()),
      .tables = (options.banding.bands + 1 + (options.track_ids ? 1 : 0) + (options.track_payloads ? 1 : 0)) *
                kTableBytes};
}

Index::Index(const IndexOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Index::~Index() = default;

const IndexOptions& Index::options() const { return impl_->options; }

void Index::band_keys(const uint8_t* slices, uint64_t* out) const {
  for (int j = 0; j < impl_->options.banding.bands; ++j) out[j] = impl_->keys.key(j, slices);
}

void Index::lookup(std::span<const Query> queries, std::span<Found> out) const {
  impl_->lookup(queries, out);
}

int Index::count_listed(int band, uint64_t band_key, const uint8_t* slices) const {
  return impl_->count_listed(static_cast<size_t>(band), band_key, slices);
}

void Index::insert(std::span<const Row> rows, const uint64_t* band_keys) { impl_->insert(rows, band_keys); }

Seq Index::next_seq() const { return impl_->rows.next(); }
Seq Index::lowest_live() const { return impl_->rows.low(); }
bool Index::live(Seq seq) const { return impl_->rows.live(seq); }
Row Index::row(Seq seq) const { return impl_->rows.row(seq); }
bool Index::remove(Seq seq) { return impl_->rows.remove(seq); }
void Index::expire_below(Seq seq) {
  impl_->rows.expire_below(seq);
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
  stats.shards.resize(impl_->shards);
  for (size_t t = 0; t < impl_->tables.size(); ++t) {
    const SlotTable& table = impl_->tables[t];
    IndexStats::Shard& shard = stats.shards[t % impl_->shards];
    shard.entries += table.entries();
    shard.bytes += table.bytes();
    shard.spilled += table.side_entries();
    shard.inserts += table.inserts();
    shard.load +=
        table.load() * static_cast<double>(impl_->shards) / static_cast<double>(impl_->tables.size());
    stats.table_bytes += table.bytes();
  }
  return stats;
}

}  // namespace doppel
