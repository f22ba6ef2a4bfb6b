// The index at size: unique documents looked up and inserted until there are --docs of them, against the time
// of fetching one random cache line per table.
//
//   index_bench [--docs=2000000] [--batch=256] [--hot=20000] [--singles=90] [--bands=11 --rows=4]
//   index_bench --restore [--docs=2000000]     only: all tables made at once, as a start does
//
// Prints lines "name value unit". Time is this thread's processor time. The first 90 % (--singles) are
// inserts of their own, each timed (the worst one is reported); the rest goes by batches and gives the
// throughput.
//
// A document fills some 316 bytes that nobody touched before, and what the system takes for fresh pages is
// not the index's: a virtual machine whose host takes freed pages back pays 7 us for 4 KiB, twenty times the
// price of pages that were in use a moment ago. Times called "warm" are those of batches (and single inserts)
// that took no page fault; with huge pages that is most of them, and what they do is the same.

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/simd.h"
#include "engine/engine.h"
#include "index/index.h"
#include "index/pages.h"

namespace doppel {
namespace {

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double process_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Page faults of this thread.
long faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
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
  explicit Batch(const CandidateIndex& index, size_t n)
      : slices(n * static_cast<size_t>(index.options().num_perm)),
        keys(n * static_cast<size_t>(index.options().banding.bands)),
        mask((static_cast<size_t>(index.options().banding.bands) + 31) / 32, ~uint32_t{0}),
        rows(n),
        queries(n),
        found(n) {}

  void fill(const CandidateIndex& index, Random& random) {
    const auto k = static_cast<size_t>(index.options().num_perm);
    const auto bands = static_cast<size_t>(index.options().banding.bands);
    for (size_t at = 0; at + 8 <= slices.size(); at += 8) {
      const uint64_t word = random();
      std::memcpy(&slices[at], &word, 8);
    }
    for (size_t i = 0; i < rows.size(); ++i) set(index, i, k, bands, {random(), random()});
  }
  void set(const CandidateIndex& index, size_t i, size_t k, size_t bands, Digest digest) {
    index.band_keys(&slices[i * k], &keys[i * bands]);
    rows[i] = {.slices = &slices[i * k], .digest = digest, .body = {i, 100}, .mask = mask.data()};
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

// One random line for each table, prefetched a few documents ahead, in as much memory as the tables use.
double baseline_ns(size_t bytes, uint64_t tables, double* fresh_ns_per_byte) {
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
    const uint64_t ahead = 3 * tables;
    const uint64_t first = repeat * kDocs * tables;
    const double start = now_s();
    for (uint64_t i = first; i < first + kDocs * tables; ++i) {
      __builtin_prefetch(address(i + ahead));
      sum += *address(i);
    }
    best = std::min(best, (now_s() - start) / kDocs * 1e9);
  }
  if (sum == 42) std::puts("");
  return best;
}

// Documents whose bands all carry a full key, as copies of a template do.
void hot_keys(size_t docs, Banding banding) {
  CandidateIndexOptions options;
  options.banding = banding;
  CandidateIndex index(options);
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

// Batches looked up and inserted, and what that took.
struct Times {
  double lookup_s = 0, insert_s = 0;
  uint64_t docs = 0;

  void add(double lookup, double insert, size_t n) {
    lookup_s += lookup;
    insert_s += insert;
    docs += n;
  }
  double lookup() const { return lookup_s / static_cast<double>(docs) * 1e9; }
  double insert() const { return insert_s / static_cast<double>(docs) * 1e9; }
  double both() const { return lookup() + insert(); }
};

// Inserts that are calls of their own.
struct Singles {
  double worst_s = 0, worst_warm_s = 0;
  uint64_t slow = 0, slow_faults = 0;  // over a millisecond; those that took a page fault

  void add(double seconds, bool fault) {
    worst_s = std::max(worst_s, seconds);
    if (!fault) worst_warm_s = std::max(worst_warm_s, seconds);
    if (seconds <= 1e-3) return;
    ++slow;
    slow_faults += fault ? 1 : 0;
  }
};

// Bytes per document: the worst from a fourth of all documents on.
struct Memory {
  double tables = 0, all = 0, rss = 0;

  void add(const IndexStats& stats, double rss_bytes) {
    const auto rows = static_cast<double>(stats.rows);
    tables = std::max(tables, static_cast<double>(stats.table_bytes) / rows);
    all = std::max(all, static_cast<double>(stats.table_bytes + stats.row_bytes) / rows);
    rss = std::max(rss, rss_bytes / rows);
  }
};

void run(size_t docs, size_t batch_size, size_t singles_percent, Banding banding) {
  warm_memory(docs * 330 + (size_t{64} << 20));
  const double rss_before = rss_bytes();
  // As a daemon does: a thread of its own takes the memory that is filled next.
  MemoryAhead memory_ahead;
  CandidateIndexOptions options;
  options.banding = banding;
  options.fresh = [&](void* at, size_t bytes) { memory_ahead.take(at, bytes); };
  CandidateIndex index(options);
  Random random{1};
  Batch batch(index, batch_size);
  const auto bands = static_cast<size_t>(index.options().banding.bands);
  const size_t singles_end = docs / 100 * singles_percent;
  Times total;
  Times warm;
  Singles singles;
  Memory memory;
  long faults_before = faults();
  for (size_t n = 0; n < docs; n += batch_size) {
    batch.fill(index, random);
    const double start = now_s();
    index.lookup(batch.queries, batch.found);
    const double middle = now_s();
    if (n < singles_end) {
      for (size_t i = 0; i < batch_size; ++i) {
        const double before = now_s();
        index.insert({&batch.rows[i], 1}, &batch.keys[i * bands]);
        const double seconds = now_s() - before;
        const long faults_now = faults();
        singles.add(seconds, faults_now != faults_before);
        faults_before = faults_now;
      }
    } else {
      index.insert(batch.rows, batch.keys.data());
      const double end = now_s();
      const long faults_now = faults();
      total.add(middle - start, end - middle, batch_size);
      if (faults_now == faults_before) warm.add(middle - start, end - middle, batch_size);
      faults_before = faults_now;
    }
    if (n / 65536 != (n + batch_size) / 65536 && n + 65536 >= docs / 4)
      memory.add(index.stats(), rss_bytes() - rss_before);
  }
  const IndexStats stats = index.stats();
  double fresh = 0;
  const double baseline = baseline_ns(stats.table_bytes, bands + 1, &fresh);
  line("docs", static_cast<double>(stats.rows), "documents");
  line("lookup", total.lookup(), "ns/doc");
  line("insert", total.insert(), "ns/doc");
  line("lookup_insert", total.both(), "ns/doc");
  line("lookup_insert_rate", 1e9 / total.both(), "docs/s");
  line("lookup_warm", warm.lookup(), "ns/doc");
  line("insert_warm", warm.insert(), "ns/doc");
  line("lookup_insert_warm", warm.both(), "ns/doc");
  line("lookup_insert_warm_rate", 1e9 / warm.both(), "docs/s");
  line("warm_docs", 100 * static_cast<double>(warm.docs) / static_cast<double>(total.docs), "%");
  line("baseline", baseline, "ns/doc");
  // What the system takes for the memory that a document fills for the first time: part of insert.
  line("fresh_memory", fresh * memory.all, "ns/doc");
  line("times_baseline", total.both() / baseline, "x");
  line("times_baseline_warm", warm.both() / baseline, "x");
  line("tables_worst", memory.tables, "bytes/doc");
  line("all_worst", memory.all, "bytes/doc");
  line("rss_worst", memory.rss, "bytes/doc");
  line("moved_entries_max", static_cast<double>(stats.moved_entries_max), "entries");
  line("insert_worst", singles.worst_s * 1e6, "us");
  line("insert_worst_warm", singles.worst_warm_s * 1e6, "us");
  line("inserts_over_1ms", static_cast<double>(singles.slow), "inserts");
  line("inserts_over_1ms_with_fault", static_cast<double>(singles.slow_faults), "inserts");
}

// All tables at once from rows that are there, as a start does.
void restore(size_t docs, Banding banding) {
  CandidateIndexOptions options;
  options.banding = banding;
  CandidateIndex index(options);
  Random random{1};
  Batch batch(index, 256);
  for (size_t n = 0; n < docs; n += batch.rows.size()) {
    batch.fill(index, random);
    for (const Row& row : batch.rows) index.restore(row, false);
  }
  const double cpu = process_s();
  const auto start = std::chrono::steady_clock::now();
  index.build_tables(2, [](int parts, const std::function<void(int)>& part) {
    std::vector<std::jthread> others;
    for (int p = 1; p < parts; ++p) others.emplace_back([&part, p] { part(p); });
    part(0);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  line("build_tables_2_threads", seconds, "s");
  line("build_tables_processor", process_s() - cpu, "s");
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  size_t docs = 2000000;
  size_t batch = 256;
  size_t hot = 20000;
  size_t singles = 90;
  bool restore = false;
  doppel::Banding banding = doppel::CandidateIndexOptions().banding;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    restore |= arg == "--restore";
    const size_t at = arg.find('=');
    const size_t value = at == arg.npos ? 0 : std::strtoull(argv[i] + at + 1, nullptr, 10);
    if (arg.starts_with("--docs=")) docs = value;
    if (arg.starts_with("--batch=")) batch = std::max<size_t>(1, value);
    if (arg.starts_with("--hot=")) hot = value;
    if (arg.starts_with("--bands=")) banding.bands = static_cast<int>(value);
    if (arg.starts_with("--rows=")) banding.rows = static_cast<int>(value);
    if (arg.starts_with("--singles=")) singles = value;
  }
  std::printf("simd %s level\n", std::string(doppel::simd_name(doppel::simd_level())).c_str());
  if (restore) {
    doppel::restore(docs, banding);
    return 0;
  }
  doppel::run(docs, batch, singles, banding);
  if (hot >= 400) doppel::hot_keys(hot, banding);
}
