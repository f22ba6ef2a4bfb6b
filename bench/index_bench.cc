// The index at size: unique documents looked up and inserted until there are --docs of them, against the time
// of fetching one random cache line per band.
//
//   index_bench [--docs=2000000] [--batch=256] [--hot=20000]
//
// Prints lines "name value unit". Time is this thread's processor time. Up to nine tenths every insert is a
// call of its own and timed (the worst one is reported); the last tenth goes by batches and gives the
// throughput.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/simd.h"
#include "index/index.h"
#include "index/pages.h"

namespace doppel {
namespace {

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double rss_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  if (file != nullptr) {
    if (std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
    (void)std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void line(const char* name, double value, const char* unit) {
  std::printf("%s %.6g %s\n", name, value, unit);
  (void)std::fflush(stdout);
}

struct Random {
  uint64_t state;
  uint64_t operator()() { return mix64(state += 0x9e3779b97f4a7c15u); }
};

// A batch of documents that nobody has seen before.
struct Batch {
  explicit Batch(const Index& index, size_t n)
      : slices(n * static_cast<size_t>(index.options().num_perm)),
        keys(n * static_cast<size_t>(index.options().banding.bands)),
        mask((static_cast<size_t>(index.options().banding.bands) + 31) / 32, ~uint32_t{0}),
        rows(n),
        queries(n),
        found(n) {}

  void fill(const Index& index, Random& random) {
    const auto k = static_cast<size_t>(index.options().num_perm);
    const auto bands = static_cast<size_t>(index.options().banding.bands);
    for (size_t at = 0; at + 8 <= slices.size(); at += 8) {
      const uint64_t word = random();
      std::memcpy(&slices[at], &word, 8);
    }
    for (size_t i = 0; i < rows.size(); ++i) set(index, i, k, bands, {random(), random()});
  }
  void set(const Index& index, size_t i, size_t k, size_t bands, Digest digest) {
    index.band_keys(&slices[i * k], &keys[i * bands]);
    rows[i] = {&slices[i * k], digest, 0, {i, 100}, mask.data()};
    queries[i] = {&slices[i * k], &keys[i * bands], digest};
  }

  std::vector<uint8_t> slices;
  std::vector<uint64_t> keys;
  std::vector<uint32_t> mask;
  std::vector<Row> rows;
  std::vector<Query> queries;
  std::vector<Found> found;
};

// Virtual machines get their memory from the host at the first touch, at twenty times the price of the
// second: what is measured here is the index.
void warm_memory(size_t bytes) {
  Pages pages(bytes, bytes, 0);
  pages.require(bytes);
  for (size_t at = 0; at < bytes; at += 4096) pages.data()[at] = 1;
}

// One random line for each of 18 bands, prefetched a few documents ahead, in as much memory as the tables
// use.
double baseline_ns(size_t bytes, double* fresh_ns_per_byte) {
  Pages pages(bytes, bytes, 0);
  pages.require(bytes);
  unsigned char* p = pages.data();
  const double touching = now_s();
  for (size_t at = 0; at < bytes; at += 4096) p[at] = 1;
  *fresh_ns_per_byte = (now_s() - touching) / static_cast<double>(bytes) * 1e9;
  const uint64_t lines = bytes / 64;
  auto address = [&](uint64_t i) {
    __extension__ using uint128 = unsigned __int128;
    return p + static_cast<uint64_t>(static_cast<uint128>(mix64(i * 0x9e3779b97f4a7c15u)) * lines >> 64) * 64;
  };
  double best = 1e9;
  uint64_t sum = 0;
  for (uint64_t repeat = 0; repeat < 5; ++repeat) {
    constexpr uint64_t kDocs = 200000;
    constexpr uint64_t kAhead = 3 * 18;
    const uint64_t first = repeat * kDocs * 18;
    const double start = now_s();
    for (uint64_t i = first; i < first + kDocs * 18; ++i) {
      __builtin_prefetch(address(i + kAhead));
      sum += *address(i);
    }
    best = std::min(best, (now_s() - start) / kDocs * 1e9);
  }
  if (sum == 42) std::puts("");
  return best;
}

// Documents whose bands all carry a full key, as copies of a template do.
void hot_keys(size_t docs) {
  IndexOptions options;
  Index index(options);
  Random random{7};
  Batch batch(index, 100);
  const auto k = static_cast<size_t>(options.num_perm);
  const auto bands = static_cast<size_t>(options.banding.bands);
  batch.fill(index, random);
  const std::vector<uint8_t> pattern(batch.slices.begin(), batch.slices.begin() + static_cast<ptrdiff_t>(k));
  double quarter[4] = {};
  for (size_t done = 0; done < docs; done += 100) {
    for (size_t i = 0; i < 100; ++i) {
      std::memcpy(&batch.slices[i * k], pattern.data(), k);
      batch.slices[i * k + k - 1] = static_cast<uint8_t>(random());
      batch.set(index, i, k, bands, {random(), random()});
    }
    const double start = now_s();
    index.lookup(batch.queries, batch.found);
    for (size_t i = 0; i < 100; ++i) {
      uint32_t mask = 0;
      for (size_t j = 0; j < bands; ++j) mask |= uint32_t{index.stats().rows < 256} << j;
      batch.rows[i].mask = &mask;
      index.insert({&batch.rows[i], 1}, &batch.keys[i * bands]);
    }
    quarter[done * 4 / docs] += now_s() - start;
  }
  for (int q = 0; q < 4; ++q) {
    const char* names[] = {"hot_quarter_1", "hot_quarter_2", "hot_quarter_3", "hot_quarter_4"};
    line(names[q], quarter[q] * 4 / static_cast<double>(docs) * 1e6, "us/doc");
  }
}

void run(size_t docs, size_t batch_size) {
  warm_memory(docs * 330 + (size_t{64} << 20));
  const double rss_before = rss_bytes();
  IndexOptions options;
  Index index(options);
  Random random{1};
  Batch batch(index, batch_size);
  const size_t singles = docs / 10 * 9;
  double worst_insert = 0;
  double worst_tables = 0;
  double worst_all = 0;
  double worst_rss = 0;
  uint64_t slow = 0;
  double lookup_s = 0;
  double insert_s = 0;
  uint64_t measured = 0;
  std::vector<double> pieces;
  for (size_t n = 0; n < docs; n += batch_size) {
    batch.fill(index, random);
    const double start = now_s();
    index.lookup(batch.queries, batch.found);
    const double middle = now_s();
    if (n < singles) {
      double before = middle;
      for (size_t i = 0; i < batch_size; ++i) {
        index.insert({&batch.rows[i], 1}, &batch.keys[i * static_cast<size_t>(options.banding.bands)]);
        const double after = now_s();
        worst_insert = std::max(worst_insert, after - before);
        slow += after - before > 1e-3 ? 1 : 0;
        before = after;
      }
    } else {
      index.insert(batch.rows, batch.keys.data());
      const double end = now_s();
      lookup_s += middle - start;
      insert_s += end - middle;
      measured += batch_size;
    }
    if (n / 65536 != (n + batch_size) / 65536 && n + 65536 >= docs / 4) {
      const IndexStats stats = index.stats();
      const auto rows = static_cast<double>(stats.rows);
      worst_tables = std::max(worst_tables, static_cast<double>(stats.table_bytes) / rows);
      worst_all = std::max(worst_all, static_cast<double>(stats.table_bytes + stats.row_bytes) / rows);
      worst_rss = std::max(worst_rss, (rss_bytes() - rss_before) / rows);
    }
  }
  const IndexStats stats = index.stats();
  const auto per_doc = [&](double seconds) { return seconds / static_cast<double>(measured) * 1e9; };
  double fresh = 0;
  const double baseline = baseline_ns(stats.table_bytes, &fresh);
  line("docs", static_cast<double>(stats.rows), "documents");
  line("lookup", per_doc(lookup_s), "ns/doc");
  line("insert", per_doc(insert_s), "ns/doc");
  line("lookup_insert", per_doc(lookup_s + insert_s), "ns/doc");
  line("lookup_rate", 1e9 / per_doc(lookup_s), "docs/s");
  line("insert_rate", 1e9 / per_doc(insert_s), "docs/s");
  line("lookup_insert_rate", 1e9 / per_doc(lookup_s + insert_s), "docs/s");
  line("baseline", baseline, "ns/doc");
  // What the system takes for the memory that a document fills for the first time: part of insert.
  line("fresh_memory", fresh * worst_all, "ns/doc");
  line("times_baseline", per_doc(lookup_s + insert_s) / baseline, "x");
  line("tables_worst", worst_tables, "bytes/doc");
  line("all_worst", worst_all, "bytes/doc");
  line("rss_worst", worst_rss, "bytes/doc");
  line("moved_entries_max", static_cast<double>(stats.moved_entries_max), "entries");
  line("insert_worst", worst_insert * 1e6, "us");
  line("inserts_over_1ms", static_cast<double>(slow), "inserts");
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  size_t docs = 2000000;
  size_t batch = 256;
  size_t hot = 20000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const size_t at = arg.find('=');
    const size_t value = at == arg.npos ? 0 : std::strtoull(argv[i] + at + 1, nullptr, 10);
    if (arg.starts_with("--docs=")) docs = value;
    if (arg.starts_with("--batch=")) batch = std::max<size_t>(1, value);
    if (arg.starts_with("--hot=")) hot = value;
  }
  std::printf("simd %s level\n", std::string(doppel::simd_name(doppel::simd_level())).c_str());
  doppel::run(docs, batch);
  if (hot >= 400) doppel::hot_keys(hot);
}
