// Originals in segments on a disk, looked up beside the disk's own random reads.
// Prints lines "name value unit".
//
//   tier_bench --directory DIR [--rows=10000000] [--segment=16000000] [--columns=10] [--threads=2]
//              [--banding=11x4]
//              [--reader=ring|threads] [--direct] [--queries=2000000] [--copies=100000] [--batch=512]
//              [--keep]
//   tier_bench --merge --directory DIR [--rows=4000000] [--segment=1000000]     only: four become one
//   tier_bench --memory [--rows=10000000]     the same work by the index in memory
//
// Rows are random: they share no key. A unique document is a row that was not entered; a copy is a row with
// one other slice and another digest. --segment: rows of each segment; the last one takes the rest. With
// --keep segments remain in DIR, and a run that finds them there uses them.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "index/banding.h"
#include "index/index.h"
#include "index/segment_build.h"
#include "index/segment_set.h"
#include "state/segment_file.h"
#include "tier_documents.h"

namespace doppel {
namespace {

struct Flags {
  std::string directory;
  uint64_t rows = 10'000'000, segment = 16'000'000, queries = 2'000'000, copies = 100'000, batch = 512;
  uint32_t columns = kFilterColumns;
  Banding banding = CandidateIndexOptions().banding;
  int threads = 2;
  std::string reader = "ring";
  bool direct = false, keep = false, merge = false, memory = false;
};

double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double process_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void line(const std::string& name, double value, const char* unit) {
  std::printf("%s %.6g %s\n", name.c_str(), value, unit);
  (void)std::fflush(stdout);
}

[[noreturn]] void fail(const absl::Status& status) {
  std::fprintf(stderr, "tier_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}
void must(const absl::Status& status) {
  if (!status.ok()) fail(status);
}
template <typename T>
T must(absl::StatusOr<T> value) {
  if (!value.ok()) fail(value.status());
  return *std::move(value);
}

std::string path_of(const Flags& flags, Seq first) {
  return flags.directory + "/segment-" + std::to_string(first);
}

CandidateIndexOptions options_of(const Flags& flags) {
  CandidateIndexOptions options;
  options.banding = flags.banding;
  return options;
}

void build(const Flags& flags, const CandidateIndexOptions& options) {
  std::vector<Seq> firsts;
  for (Seq first = 0; first < flags.rows; first += flags.segment)
    if (!std::filesystem::exists(path_of(flags, first))) firsts.push_back(first);
  if (firsts.empty()) return;
  const double start = wall_s();
  const double cpu = process_s();
  uint64_t made = 0;
  for (const Seq first : firsts) {
    const Seq end = std::min(flags.rows, first + flags.segment);
    tier::Documents documents(options, 1);
    SegmentBuilder builder(options, first);
    for (Seq seq = first; seq < end; ++seq) {
      documents.take(0, seq);
      builder.add(documents.row(0), documents.query(0).band_keys);
    }
    SegmentFileWriter out = must(SegmentFileWriter::create(path_of(flags, first)));
    must(builder.write(flags.columns, out));
    must(out.finish());
    made += end - first;
  }
  line("build", static_cast<double>(made) / (wall_s() - start), "rows/s");
  line("build_processor", (process_s() - cpu) / static_cast<double>(made) * 1e6, "us/row");
}

double memory_now() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file != nullptr) (void)std::fclose(file);
  return static_cast<double>(resident) * 4096;
}

void open_all(const Flags& flags, SegmentSet& set) {
  const double start = wall_s();
  const double before = memory_now();
  uint64_t bytes = 0;
  for (Seq first = 0; first < flags.rows; first += flags.segment) {
    auto file = must(SegmentFile::open(path_of(flags, first), flags.direct));
    bytes += must(file->file().size());
    set.add(must(Segment::open(set.options(), std::move(file))));
  }
  const auto rows = static_cast<double>(flags.rows);
  line("open", wall_s() - start, "s");
  line("segments", static_cast<double>(set.size()), "segments");
  line("memory", static_cast<double>(set.memory_bytes()) / rows, "bytes/original");
  line("memory_resident", (memory_now() - before) / rows, "bytes/original");
  line("disk", static_cast<double>(bytes) / rows, "bytes/original");
}

// What the disk does by itself: random pages of the same files, by the same reader and as many threads.
double disk_reads_per_second(const Flags& flags, const SegmentSet& set, const PageReader& reader) {
  const double start = wall_s();
  std::atomic<uint64_t> reads = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < flags.threads; ++t) {
    threads.emplace_back([&, t] {
      constexpr size_t kDepth = 128;
      std::unique_ptr<uint8_t[], void (*)(void*)> pages(
          static_cast<uint8_t*>(std::aligned_alloc(kSegmentPage, kDepth * kSegmentPage)), std::free);
      std::vector<PageRead> batch(kDepth);
      for (uint64_t n = 0; wall_s() - start < 5; ++n) {
        for (size_t i = 0; i < kDepth; ++i) {
          const uint64_t random =
              mix64((n * kDepth + i) * 2 + static_cast<uint64_t>(t) * 0x9e3779b97f4a7c15u);
          const Segment& segment = set.segment(random % set.size());
          const uint64_t page = (random >> 8) % (segment.header().bytes() / kSegmentPage);
          batch[i] = {&segment.source(), page * kSegmentPage, pages.get() + i * kSegmentPage};
        }
        must(reader.read(batch));
        reads += kDepth;
      }
    });
  }
  threads.clear();
  return static_cast<double>(reads.load()) / (wall_s() - start);
}

// Looks up documents in batches, on all threads; `copies` of 100 are copies.
void look_up(const Flags& flags, const SegmentSet& set, const std::string& name, uint64_t count,
             uint64_t copies, double disk) {
  constexpr uint64_t kNew = uint64_t{1} << 40;
  std::vector<SegmentCounters> counters(static_cast<size_t>(flags.threads));
  std::atomic<uint64_t> next = 0, found_copies = 0, asked_copies = 0;
  std::atomic<uint64_t> busy_ns = 0;
  const double cpu = process_s();
  const double start = wall_s();
  std::vector<std::jthread> threads;
  for (int t = 0; t < flags.threads; ++t) {
    threads.emplace_back([&, t] {
      tier::Documents documents(set.options(), flags.batch);
      std::vector<Query> queries(flags.batch);
      std::vector<Found> found(flags.batch);
      for (uint64_t from = next.fetch_add(flags.batch); from < count; from = next.fetch_add(flags.batch)) {
        uint64_t asked = 0;
        for (size_t i = 0; i < flags.batch; ++i) {
          const uint64_t random = mix64((from + i) ^ 0x2545f4914f6cdd1du ^ copies << 50);
          if (random % 100 < copies) {
            documents.take(i, (random >> 8) % flags.rows);
            documents.change_slice(i, (random >> 40) % 128);
            ++asked;
          } else {
            documents.take(i, kNew + from + i);
          }
          queries[i] = documents.query(i);
        }
        const double begin = wall_s();
        must(set.lookup(queries, found, counters[static_cast<size_t>(t)]));
        busy_ns += static_cast<uint64_t>((wall_s() - begin) * 1e9);
        uint64_t hits = 0;
        for (const Found& f : found) hits += f.candidates.empty() ? 0 : 1;
        found_copies += hits;
        asked_copies += asked;
      }
    });
  }
  threads.clear();
  const double seconds = wall_s() - start;
  SegmentCounters all;
  for (const SegmentCounters& c : counters) {
    all.key_pages += c.key_pages;
    all.row_pages += c.row_pages;
    all.filter_hits += c.filter_hits;
  }
  const uint64_t whole_batches = (count + flags.batch - 1) / flags.batch * flags.batch;
  const auto n = static_cast<double>(whole_batches);
  line(name + "_rate", n / seconds, "documents/s");
  line(name + "_lookup", static_cast<double>(busy_ns.load()) / n, "ns/document of a thread");
  line(name + "_processor", (process_s() - cpu) / n * 1e9, "ns/document, with making it");
  line(name + "_key_pages", static_cast<double>(all.key_pages) / n, "reads/document");
  line(name + "_row_pages", static_cast<double>(all.row_pages) / n, "reads/document");
  line(name + "_reads_rate", static_cast<double>(all.reads()) / seconds, "reads/s");
  line(name + "_reads_of_disk", static_cast<double>(all.reads()) / seconds / disk, "x");
  if (found_copies != asked_copies) {
    std::fprintf(stderr, "tier_bench: %lu of %lu copies were found\n", found_copies.load(),
                 asked_copies.load());
    std::exit(1);
  }
}

void segments(const Flags& flags) {
  const CandidateIndexOptions options = options_of(flags);
  build(flags, options);
  std::unique_ptr<PageReader> reader = flags.reader == "ring" ? ring_page_reader() : threaded_page_reader(32);
  if (reader == nullptr) fail(absl::UnavailableError("this system has no io_uring"));
  SegmentSet set(options, *reader);
  open_all(flags, set);
  const double disk = disk_reads_per_second(flags, set, *reader);
  line("disk_reads", disk, "reads/s");
  look_up(flags, set, "unique", flags.queries, 0, disk);
  look_up(flags, set, "copies", flags.copies, 100, disk);
  look_up(flags, set, "three_in_ten", flags.copies * 3, 30, disk);
  if (!flags.keep) {
    for (Seq first = 0; first < flags.rows; first += flags.segment)
      std::filesystem::remove(path_of(flags, first));
  }
}

void merge(const Flags& flags) {
  const CandidateIndexOptions options = options_of(flags);
  build(flags, options);
  const PageReader reader;
  SegmentSet set(options, reader);
  open_all(flags, set);
  std::vector<const Segment*> parts;
  for (size_t p = 0; p < set.size(); ++p) parts.push_back(&set.segment(p));
  const double start = wall_s();
  const double cpu = process_s();
  const std::string path = flags.directory + "/merged";
  {
    SegmentFileWriter out = must(SegmentFileWriter::create(path));
    must(merge_segments(options, parts, flags.columns, out));
    must(out.finish());
  }
  line("merge", static_cast<double>(flags.rows) / (wall_s() - start), "rows/s");
  line("merge_processor", (process_s() - cpu) / static_cast<double>(flags.rows) * 1e6, "us/row");
  std::filesystem::remove(path);
  for (Seq first = 0; first < flags.rows; first += flags.segment)
    if (!flags.keep) std::filesystem::remove(path_of(flags, first));
}

// Lookups by one thread, and inserts, as long as there are `rows` of them.
void in_memory(const Flags& flags) {
  const CandidateIndexOptions options = options_of(flags);
  CandidateIndex index(options);
  tier::Documents documents(options, flags.batch);
  std::vector<Query> queries(flags.batch);
  std::vector<Row> rows(flags.batch);
  std::vector<uint64_t> keys(flags.batch * static_cast<size_t>(options.banding.bands));
  std::vector<Found> found(flags.batch);
  double looked = 0;
  double inserted = 0;
  double measured = 0;
  for (Seq seq = 0; seq < flags.rows; seq += flags.batch) {
    for (size_t i = 0; i < flags.batch; ++i) {
      documents.take(i, seq + i);
      queries[i] = documents.query(i);
      rows[i] = documents.row(i);
      std::copy_n(queries[i].band_keys, static_cast<size_t>(options.banding.bands),
                  &keys[i * static_cast<size_t>(options.banding.bands)]);
    }
    const double start = wall_s();
    index.lookup(queries, found);
    const double middle = wall_s();
    index.insert(rows, keys.data());
    if (seq < flags.rows * 9 / 10) continue;
    looked += middle - start;
    inserted += wall_s() - middle;
    measured += static_cast<double>(flags.batch);
  }
  line("memory_lookup", looked / measured * 1e9, "ns/document");
  line("memory_insert", inserted / measured * 1e9, "ns/document");
  const IndexStats stats = index.stats();
  line("memory", static_cast<double>(stats.table_bytes + stats.row_bytes) / static_cast<double>(stats.rows),
       "bytes/original");
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
    if (arg.starts_with("--columns=")) flags.columns = static_cast<uint32_t>(value);
    if (arg.starts_with("--threads=")) flags.threads = static_cast<int>(value);
    if (arg.starts_with("--reader=")) flags.reader = text;
    if (arg.starts_with("--queries=")) flags.queries = value;
    if (arg.starts_with("--copies=")) flags.copies = value;
    if (arg.starts_with("--batch=")) flags.batch = value;
    if (arg.starts_with("--banding=")) {
      flags.banding.bands = static_cast<int>(value);
      flags.banding.rows = std::atoi(text.c_str() + text.find('x') + 1);
    }
    flags.direct |= arg == "--direct";
    flags.keep |= arg == "--keep";
    flags.merge |= arg == "--merge";
    flags.memory |= arg == "--memory";
  }
  if (flags.memory) {
    doppel::in_memory(flags);
  } else if (flags.directory.empty()) {
    std::fprintf(stderr, "usage: tier_bench --directory DIR, or --memory\n");
    return 2;
  } else if (flags.merge) {
    doppel::merge(flags);
  } else {
    doppel::segments(flags);
  }
}
