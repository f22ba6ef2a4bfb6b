// The work of tier_bench by RocksDB: keys and rows in column families, ingested as sorted files (one of each
// for a segment), with ribbon filters in memory, and asked by MultiGet. Prints lines "name value unit".
//
//   tier_rocksdb_bench --directory DIR [--rows=10000000] [--segment=2500000] [--threads=2] [--direct]
//                      [--queries=500000] [--copies=50000] [--batch=256] [--bits=15] [--cache=67108864]
//
// --bits: as RocksDB counts them: a ribbon filter of 15 is as exact as a Bloom filter with as many bits.

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "index/compare.h"
#include "index/segment_format.h"
#include "tier_documents.h"

namespace doppel {
namespace {

struct Flags {
  std::string directory;
  uint64_t rows = 10'000'000, segment = 2'500'000, queries = 500'000, copies = 50'000, batch = 256;
  uint64_t cache = uint64_t{64} << 20;
  double bits = 15;
  int threads = 2;
  bool direct = false;
};

double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void line(const std::string& name, double value, const char* unit) {
  std::printf("%s %.6g %s\n", name.c_str(), value, unit);
  (void)std::fflush(stdout);
}

void must(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tier_rocksdb_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}
std::string key_bytes(size_t kind, uint64_t value) { return big_endian(segment_key(kind, value), 5); }

struct Store {
  explicit Store(const Flags& flags) : layout(options) {
    rocksdb::BlockBasedTableOptions table;
    table.block_size = kSegmentPage;
    table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(flags.bits));
    table.block_cache = rocksdb::NewLRUCache(flags.cache);
    column.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    column.compression = rocksdb::kNoCompression;
    column.disable_auto_compactions = true;
    rocksdb::DBOptions db_options;
    db_options.create_if_missing = true;
    db_options.create_missing_column_families = true;
    db_options.max_open_files = -1;
    db_options.use_direct_reads = flags.direct;
    db_options.statistics = statistics = rocksdb::CreateDBStatistics();
    rocksdb::DB* opened = nullptr;
    must(rocksdb::DB::Open(db_options, flags.directory + "/rocksdb",
                           {{rocksdb::kDefaultColumnFamilyName, column}, {"keys", column}, {"rows", column}},
                           &columns, &opened));
    db.reset(opened);
  }
  ~Store() {
    for (rocksdb::ColumnFamilyHandle* handle : columns) must(db->DestroyColumnFamilyHandle(handle));
  }

  void ingest(rocksdb::ColumnFamilyHandle* handle, const std::string& path) {
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    must(db->IngestExternalFile(handle, {path}, how));
  }

  CandidateIndexOptions options;
  RowLayout layout;
  rocksdb::ColumnFamilyOptions column;
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> columns;
};

void build(const Flags& flags, Store& store) {
  const size_t bands = static_cast<size_t>(store.options.banding.bands);
  const double start = wall_s();
  rocksdb::Options sst{rocksdb::DBOptions(), store.column};
  for (Seq first = 0; first < flags.rows; first += flags.segment) {
    const Seq end = std::min(flags.rows, first + flags.segment);
    tier::Documents documents(store.options, 1);
    std::vector<std::pair<uint64_t, uint32_t>> entries;
    std::vector<uint8_t> row(store.layout.stride());
    const std::string rows_path = flags.directory + "/rows.sst";
    const std::string keys_path = flags.directory + "/keys.sst";
    {
      rocksdb::SstFileWriter rows(rocksdb::EnvOptions(), sst);
      must(rows.Open(rows_path));
      for (Seq seq = first; seq < end; ++seq) {
        documents.take(0, seq);
        std::fill(row.begin(), row.end(), uint8_t{0});
        store.layout.write(documents.row(0), row.data());
        must(rows.Put(big_endian(seq, 4), rocksdb::Slice(reinterpret_cast<char*>(row.data()), row.size())));
        const Query query = documents.query(0);
        for (size_t j = 0; j < bands; ++j)
          entries.emplace_back(segment_key(j, query.band_keys[j]), static_cast<uint32_t>(seq));
        entries.emplace_back(segment_key(bands, query.digest.low), static_cast<uint32_t>(seq));
      }
      must(rows.Finish());
    }
    std::sort(entries.begin(), entries.end());
    rocksdb::SstFileWriter keys(rocksdb::EnvOptions(), sst);
    must(keys.Open(keys_path));
    std::string value;
    for (size_t e = 0; e < entries.size(); ++e) {
      put_fixed(value, entries[e].second);
      if (e + 1 < entries.size() && entries[e + 1].first == entries[e].first) continue;
      must(keys.Put(big_endian(entries[e].first, 5), value));
      value.clear();
    }
    must(keys.Finish());
    store.ingest(store.columns[1], keys_path);
    store.ingest(store.columns[2], rows_path);
  }
  line("build", static_cast<double>(flags.rows) / (wall_s() - start), "rows/s");
}

// A key may be in the files of several segments, and RocksDB shows the newest only: here keys that repeat
// count for nothing, because rows are random.
uint64_t look_up(Store& store, const tier::Documents& documents, size_t n) {
  const size_t bands = static_cast<size_t>(store.options.banding.bands);
  const rocksdb::ReadOptions how;
  const size_t all = n * (bands + 1);
  std::vector<std::string> keys;
  keys.reserve(all);
  for (size_t i = 0; i < n; ++i) {
    const Query query = documents.query(i);
    for (size_t j = 0; j < bands; ++j) keys.push_back(key_bytes(j, query.band_keys[j]));
    keys.push_back(key_bytes(bands, query.digest.low));
  }
  std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(all);
  std::vector<rocksdb::Status> statuses(all);
  store.db->MultiGet(how, store.columns[1], all, slices.data(), values.data(), statuses.data());

  std::vector<std::pair<size_t, uint32_t>> wanted;
  for (size_t x = 0; x < all; ++x) {
    if (!statuses[x].ok()) continue;
    for (size_t at = 0; at < values[x].size(); at += 4)
      wanted.emplace_back(x / (bands + 1), load<uint32_t>(values[x].data() + at));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<std::string> names;
  names.reserve(wanted.size());
  for (const auto& [query, seq] : wanted) names.push_back(big_endian(seq, 4));
  slices.assign(names.begin(), names.end());
  std::vector<rocksdb::PinnableSlice> rows(wanted.size());
  statuses.assign(wanted.size(), {});
  store.db->MultiGet(how, store.columns[2], wanted.size(), slices.data(), rows.data(), statuses.data());

  RowJudge judge(store.options, store.layout);
  uint64_t candidates = 0;
  for (size_t w = 0; w < wanted.size(); ++w) {
    must(statuses[w]);
    const Query query = documents.query(wanted[w].first);
    const int equal = judge.match(query.slices, reinterpret_cast<const uint8_t*>(rows[w].data()));
    candidates += equal >= store.options.min_equal ? 1 : 0;
  }
  return candidates;
}

void measure(const Flags& flags, Store& store, const std::string& name, uint64_t count, uint64_t copies) {
  constexpr uint64_t kNew = uint64_t{1} << 40;
  must(store.statistics->Reset());
  std::atomic<uint64_t> next = 0, found = 0, asked = 0;
  const double start = wall_s();
  std::vector<std::jthread> threads;
  for (int t = 0; t < flags.threads; ++t) {
    threads.emplace_back([&] {
      tier::Documents documents(store.options, flags.batch);
      for (uint64_t from = next.fetch_add(flags.batch); from < count; from = next.fetch_add(flags.batch)) {
        for (size_t i = 0; i < flags.batch; ++i) {
          const uint64_t random = mix64((from + i) ^ 0x2545f4914f6cdd1du ^ copies << 50);
          documents.take(i, random % 100 < copies ? (random >> 8) % flags.rows : kNew + from + i);
          if (random % 100 >= copies) continue;
          documents.change_slice(i, (random >> 40) % 128);
          ++asked;
        }
        found += look_up(store, documents, flags.batch);
      }
    });
  }
  threads.clear();
  const double seconds = wall_s() - start;
  const uint64_t whole_batches = (count + flags.batch - 1) / flags.batch * flags.batch;
  const auto n = static_cast<double>(whole_batches);
  line(name + "_rate", n / seconds, "documents/s");
  line(name + "_reads",
       static_cast<double>(store.statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_MISS)) / n,
       "reads/document");
  if (found != asked)
    std::fprintf(stderr, "tier_rocksdb_bench: %lu of %lu copies\n", found.load(), asked.load());
}

void run(const Flags& flags) {
  Store store(flags);
  build(flags, store);
  uint64_t filters = 0;
  uint64_t disk = 0;
  for (size_t c = 1; c < store.columns.size(); ++c) {
    uint64_t value = 0;
    if (store.db->GetIntProperty(store.columns[c], rocksdb::DB::Properties::kEstimateTableReadersMem, &value))
      filters += value;
    if (store.db->GetIntProperty(store.columns[c], rocksdb::DB::Properties::kTotalSstFilesSize, &value))
      disk += value;
  }
  line("memory", static_cast<double>(filters) / static_cast<double>(flags.rows), "bytes/original");
  line("disk", static_cast<double>(disk) / static_cast<double>(flags.rows), "bytes/original");
  measure(flags, store, "unique", flags.queries, 0);
  measure(flags, store, "copies", flags.copies, 100);
  measure(flags, store, "three_in_ten", flags.copies * 3, 30);
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const size_t at = arg.find('=');
    const std::string text(at == arg.npos ? "" : arg.substr(at + 1));
    const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
    if (arg == "--directory" && i + 1 < argc) flags.directory = argv[++i];
    if (arg.starts_with("--rows=")) flags.rows = value;
    if (arg.starts_with("--segment=")) flags.segment = value;
    if (arg.starts_with("--bits=")) flags.bits = std::strtod(text.c_str(), nullptr);
    if (arg.starts_with("--threads=")) flags.threads = static_cast<int>(value);
    if (arg.starts_with("--queries=")) flags.queries = value;
    if (arg.starts_with("--copies=")) flags.copies = value;
    if (arg.starts_with("--batch=")) flags.batch = value;
    if (arg.starts_with("--cache=")) flags.cache = value;
    flags.direct |= arg == "--direct";
  }
  if (flags.directory.empty()) {
    std::fprintf(stderr, "usage: tier_rocksdb_bench --directory DIR\n");
    return 2;
  }
  doppel::run(flags);
  std::filesystem::remove_all(flags.directory + "/rocksdb");
}
