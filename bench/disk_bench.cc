// The whole data path when the bodies do not fit into memory: a SIMULATED disk under real verdicts.
// Prints "name value unit" lines.
//
//   disk_bench [--fill 50000] [--docs 10000] [--reads-per-second 3000] [--threads 8] [--copies 0.3]
//
// The bodies themselves are in memory. Around them is a model of a page cache of a fifth of
// their bytes (4 KiB pages, least recently used goes; what is written enters it too) above a disk that does
// one read after the other, each in 1/3000 s: a read that misses the cache sleeps until the disk would have
// answered. The index is first filled without sleeping; then the measured documents come, of which
// some are near-copies (one word in 80 is another) of originals that are spread evenly over everything that
// came before: the hardest case for the cache.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>

#include "engine/engine.h"
#include "memory_run.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;

// Pages by number; the least recently used go when there are more than `capacity`.
class PageCache {
 public:
  void set_capacity(size_t pages) {
    capacity_ = pages;
    shrink();
  }
  // Returns whether all pages of [offset, offset + size) were there; they are afterwards.
  bool touch(uint64_t offset, uint64_t size) {
    bool hit = true;
    for (uint64_t page = offset / kPage; page <= (offset + size - 1) / kPage; ++page) {
      auto [place, missing] = where_.try_emplace(page);
      if (missing) {
        order_.push_front(page);
        hit = false;
      } else {
        order_.splice(order_.begin(), order_, place->second);
      }
      place->second = order_.begin();
    }
    shrink();
    return hit;
  }

 private:
  static constexpr uint64_t kPage = 4096;
  void shrink() {
    for (; order_.size() > capacity_; order_.pop_back()) where_.erase(order_.back());
  }
  size_t capacity_ = SIZE_MAX;
  std::list<uint64_t> order_;  // the most recently used first
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

class SimulatedDisk : public Bodies {
 public:
  explicit SimulatedDisk(double reads_per_second)
      : bodies_(memory_bodies()),
        read_time_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(1 / reads_per_second))) {}

  absl::StatusOr<BodyRef> append(const Body& body) override {
    absl::StatusOr<BodyRef> ref = bodies_->append(body);
    if (ref.ok()) {
      const std::lock_guard lock(mutex_);
      cache_.touch(ref->offset, ref->size);
    }
    return ref;
  }
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override {
    if (ref.size != 0) wait_for_disk(ref);
    return bodies_->read(ref, buffer);
  }
  absl::Status flush() override { return bodies_->flush(); }
  uint64_t bytes() const override { return bodies_->bytes(); }
  uint64_t reads() const override { return reads_; }
  uint64_t misses() const { return misses_; }

  // From now on reads take time, and no more than 1/times of the bodies' bytes stay in memory.
  void begin(uint64_t times) {
    cache_.set_capacity(bodies_->bytes() / times / 4096);
    reads_ = misses_ = 0;
    slow_ = true;
  }

 private:
  void wait_for_disk(BodyRef ref) const {
    Clock::time_point done;
    {
      const std::lock_guard lock(mutex_);
      const bool hit = cache_.touch(ref.offset, ref.size);
      ++reads_;
      if (hit || !slow_) return;
      ++misses_;
      done = free_ = std::max(free_, Clock::now()) + read_time_;
    }
    std::this_thread::sleep_until(done);
  }

  std::unique_ptr<Bodies> bodies_;
  const Clock::duration read_time_;
  bool slow_ = false;
  mutable std::mutex mutex_;
  mutable PageCache cache_;
  mutable Clock::time_point free_{};  // when the disk has done all that was asked of it
  mutable std::atomic<uint64_t> reads_ = 0, misses_ = 0;
};

struct Flags {
  uint64_t fill = 50'000, docs = 10'000, times = 5;
  double reads_per_second = 3'000, copies = 0.3;
  int threads = 1;
};

// New documents and near-copies of documents below flags.fill.
Lines measured_lines(const oracle::CorpusOptions& corpus, const Flags& flags) {
  std::mt19937_64 random(1);
  Lines lines;
  for (uint64_t i = flags.fill; i < flags.fill + flags.docs; ++i) {
    oracle::CorpusDocument document = oracle::make_document(corpus, i);
    if (std::uniform_real_distribution<>()(random) < flags.copies) {
      const std::string original = oracle::make_document(corpus, random() % flags.fill).text;
      document.text.clear();
      for (size_t at = 0; at < original.size();) {
        const size_t end = std::min(original.find(' ', at), original.size());
        document.text += random() % 80 == 0 ? "w" + std::to_string(random()) : original.substr(at, end - at);
        document.text += ' ';
        at = end + 1;
      }
    }
    lines.add(oracle::to_json(document));
  }
  lines.finish();
  return lines;
}

int bench(const Flags& flags) {
  const oracle::CorpusOptions corpus{.english = true, .copies = 0};
  const Lines fill = corpus_lines(corpus, 0, flags.fill);
  const Lines lines = measured_lines(corpus, flags);
  EngineOptions options;
  options.scheme.key = {1, 2};
  options.rule = make_rule(0.8, 0.995, 128).value();
  SimulatedDisk disk(flags.reads_per_second);
  Engine engine(options, disk);
  CountingSink sink;
  MemorySource fill_source(fill), source(lines);
  Pipeline filling{.source = fill_source, .engine = engine, .sink = sink, .threads = flags.threads};
  const Counters filled = run_pipeline(filling).value();
  disk.begin(flags.times);
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink, .threads = flags.threads};
  const double start = wall();
  const Counters counters = run_pipeline(pipeline).value();
  const double seconds = wall() - start;

  const auto duplicates = static_cast<double>(counters.duplicates());
  fmt::print("filled {} documents\n", filled.records);
  fmt::print("bodies {:.1f} MB\n", static_cast<double>(disk.bytes()) / 1e6);
  fmt::print("threads {} threads\n", flags.threads);
  fmt::print("documents {} documents\n", counters.records);
  fmt::print("duplicates {:.4f} share\n", duplicates / static_cast<double>(counters.records));
  fmt::print("throughput {:.0f} documents/s\n", static_cast<double>(counters.records) / seconds);
  fmt::print("reads_per_duplicate {:.4f} reads\n", static_cast<double>(disk.reads()) / duplicates);
  fmt::print("disk_reads_per_duplicate {:.4f} reads\n", static_cast<double>(disk.misses()) / duplicates);
  fmt::print("disk_reads {:.0f} reads/s\n", static_cast<double>(disk.misses()) / seconds);
  fmt::print("checks_per_duplicate {:.4f} checks\n", static_cast<double>(counters.match.checks) / duplicates);
  fmt::print("fingerprint {:016x} hex\n", sink.fingerprint);
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app("Verdicts above a simulated disk");
  app.add_option("--fill", flags.fill, "documents before the measured ones")->capture_default_str();
  app.add_option("--docs", flags.docs)->capture_default_str();
  app.add_option("--copies", flags.copies, "share of near-copies")->capture_default_str();
  app.add_option("--times", flags.times, "bodies' bytes to the cache's")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--reads-per-second", flags.reads_per_second)
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str();
  app.add_option("--threads", flags.threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(flags);
}
