// The whole data path, from a JSON line in memory to its verdict, with an index that is already large.
// Prints "name value unit" lines. Not a Google Benchmark: a run is one pass over the documents.
//
//   scan_bench --docs 20000                          20,000 documents into an empty index
//   scan_bench --prefill 10000000 --verify signature --threads 2
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "memory_run.h"
#include "prefill.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

struct Flags {
  uint64_t docs = 20'000, seed = 1, prefill = 0;
  std::string verify = "exact", kind = "english", temporary = "/tmp";
  int threads = 1, repeats = 3, shards = 1;
  double copies = 0.3;
  std::vector<std::string> relations;
};

int bench(const Flags& flags) {
  const oracle::CorpusOptions corpus{
      .seed = flags.seed, .english = flags.kind == "english", .copies = flags.copies};
  const Lines lines = corpus_lines(corpus, 0, flags.docs);

  EngineOptions options;
  options.scheme.key = {1, 2};
  options.rule = make_rule(0.8, 0.995, 128).value();
  options.rule.verify = flags.verify == "signature" ? Verify::signature : Verify::exact;
  const auto named = [&](const char* name) {
    return std::find(flags.relations.begin(), flags.relations.end(), name) != flags.relations.end();
  };
  if (!flags.relations.empty()) {
    options.scheme.passage = 150;
    options.rule.relations = {.contained = named("contained"),
                              .contains = named("contains"),
                              .shares = named("shares"),
                              .passage = options.scheme.passage};
  }
  options.shards = flags.shards;
  options.initial_capacity = 1024;
  std::vector<double> seconds, cpu_seconds;
  uint64_t fingerprint = 0;
  Counters counters;
  for (int repeat = 0; repeat < flags.repeats; ++repeat) {
    std::unique_ptr<Bodies> bodies = temporary_bodies(flags.temporary).value();
    Engine engine(options, *bodies);
    prefill(engine, flags.prefill);
    MemorySource source(lines);
    CountingSink sink;
    Pipeline pipeline{.source = source, .engine = engine, .sink = sink, .threads = flags.threads};
    const double start = wall(), cpu_start = cpu();
    counters = run_pipeline(pipeline).value();
    seconds.push_back(wall() - start);
    cpu_seconds.push_back(cpu() - cpu_start);
    if (repeat > 0 && sink.fingerprint != fingerprint) {
      fmt::print(stderr, "scan_bench: two runs decided differently\n");
      return 1;
    }
    fingerprint = sink.fingerprint;
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(cpu_seconds.begin(), cpu_seconds.end());
  const double n = static_cast<double>(flags.docs);
  const double s = seconds[seconds.size() / 2];
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("documents {} documents\n", counters.records);
  fmt::print("document_bytes {:.0f} bytes\n", static_cast<double>(counters.bytes) / n);
  fmt::print("duplicates {:.4f} share\n", static_cast<double>(counters.duplicates()) / n);
  fmt::print("related {:.4f} share\n", static_cast<double>(counters.related.sum()) / n);
  fmt::print("throughput {:.0f} documents/s\n", n / s);
  fmt::print("throughput_best {:.0f} documents/s\n", n / seconds.front());
  fmt::print("bandwidth {:.1f} MB/s\n", static_cast<double>(counters.bytes) / s / 1e6);
  fmt::print("cpu {:.3f} us/document\n", cpu_seconds[cpu_seconds.size() / 2] / n * 1e6);
  fmt::print("rss {:.0f} MiB\n", static_cast<double>(usage.ru_maxrss) / 1024);
  fmt::print("fingerprint {:016x} hex\n", fingerprint);
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app("JSON lines in memory to verdicts");
  app.add_option("--docs", flags.docs)->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--prefill", flags.prefill, "unrelated originals in the index before")
      ->capture_default_str();
  app.add_option("--verify", flags.verify)
      ->check(CLI::IsMember({"exact", "signature"}))
      ->capture_default_str();
  app.add_option("--kind", flags.kind)->check(CLI::IsMember({"english", "mixed"}))->capture_default_str();
  app.add_option("--relations", flags.relations, "contained, contains, shares: besides near");
  app.add_option("--copies", flags.copies, "share of near-copies")->capture_default_str();
  app.add_option("--threads", flags.threads)->capture_default_str();
  app.add_option("--shards", flags.shards)->capture_default_str();
  app.add_option("--repeats", flags.repeats)->capture_default_str();
  app.add_option("--temporary", flags.temporary, "directory for the bodies")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(flags);
}
