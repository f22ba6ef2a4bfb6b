// What relations cost, stage by stage: the same documents through two engines in turns, one that knows only
// `near` and one that knows relations as well, one thread, with indexes that are already large. Before that,
// the two parts that are used for relations only: prints and their table. Prints "name value unit" lines.
//
//   relations_bench --docs 20000 --prefill 1000000
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "index/print_table.h"
#include "memory_run.h"
#include "prefill.h"

namespace doppel {
namespace {

struct Flags {
  uint64_t docs = 20'000, seed = 1, prefill = 100'000;
  double copies = 0.3;
  int repeats = 3;
  bool shares = false;
};

struct Seconds {
  double sign = 0, match = 0, resolve = 0;
  double sum() const { return sign + match + resolve; }
};

struct Side {
  EngineOptions options;
  std::unique_ptr<Bodies> bodies;
  std::unique_ptr<Engine> engine;
  Work work;
  std::vector<Seconds> runs;
  uint64_t fingerprint = 0, related = 0, originals = 0;

  void make(const Flags& flags, bool relations) {
    options.scheme.key = {1, 2};
    options.rule = make_rule(0.8, 0.995, 128).value();
    if (relations) {
      options.scheme.passage = 150;
      options.rule.relations = {
          .contained = true, .contains = true, .shares = flags.shares, .passage = options.scheme.passage};
    }
    bodies = memory_bodies();
    engine = std::make_unique<Engine>(options, *bodies);
    prefill(*engine, flags.prefill);
  }

  // Documents under another scope in each run, so that it meets nothing of the others.
  void run(const std::vector<std::string>& texts, const std::string& scope) {
    Signer signer = engine->make_signer();
    const auto num_perm = static_cast<size_t>(options.scheme.num_perm);
    Seconds& seconds = runs.emplace_back();
    MatchCounters counters;
    fingerprint = related = originals = 0;
    for (size_t at = 0; at < texts.size(); at += kBatch) {
      const size_t n = std::min(kBatch, texts.size() - at);
      work.resize(n, options);
      double clock = cpu();
      const auto lap = [&clock] {
        const double before = clock;
        clock = cpu();
        return clock - before;
      };
      for (size_t i = 0; i < n; ++i)
        signer.sign(texts[at + i], scope, work.sign.documents[i], work.sign.slices.data() + i * num_perm);
      seconds.sign += lap();
      if (!engine->match(work, 0, n, counters).ok()) std::abort();
      seconds.match += lap();
      if (!engine->resolve(work).ok()) std::abort();
      seconds.resolve += lap();
      for (const Outcome& o : work.resolved.outcomes) {
        fingerprint = mix64(fingerprint ^ (static_cast<uint64_t>(o.verdict) << 60 ^ o.similarity.inter));
        related += o.related.empty() ? 0 : 1;
        originals += o.verdict == Verdict::unique ? 1 : 0;
      }
    }
  }

  // The quickest run, which others on the machine disturbed least.
  const Seconds& best() const {
    return *std::min_element(runs.begin(), runs.end(),
                             [](const Seconds& a, const Seconds& b) { return a.sum() < b.sum(); });
  }
};

void bench_prints(const std::vector<std::string>& texts) {
  const HashKey key{1, 2};
  Shingler shingler(key, 5, Normalisation::standard);
  std::vector<PodVector<uint64_t>> all(
      std::min<size_t>(texts.size(), 100));  // they stay in the cache, as where they are used
  std::vector<PodVector<uint32_t>> tops(all.size());
  uint64_t shingles = 0, asked = 0, stored = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    shingler.update(texts[i], all[i]);
    shingler.finish(all[i]);
    shingles += all[i].size();
    for (const uint64_t shingle : all[i]) tops[i].push_back(static_cast<uint32_t>(shingle >> 32));
  }
  PodVector<Print> prints;
  double best = 1e9;
  for (int repeat = 0; repeat < 100; ++repeat) {
    asked = stored = 0;
    const double start = cpu();
    for (size_t i = 0; i < all.size(); ++i) {
      find_prints(all[i], tops[i], 150, 7, prints);
      asked += distinct_prints(prints);
      for (const Print& print : prints) stored += print.stored ? 1 : 0;
    }
    best = std::min(best, cpu() - start);
  }
  const auto n = static_cast<double>(all.size());
  fmt::print("shingles {:.1f} shingles/document\n", static_cast<double>(shingles) / n);
  fmt::print("prints_asked {:.1f} prints/document\n", static_cast<double>(asked) / n);
  fmt::print("prints_stored {:.1f} prints/document\n", static_cast<double>(stored) / n);
  fmt::print("find_prints {:.0f} ns/document\n", best / n * 1e9);
}

void bench_table(uint64_t originals) {
  constexpr uint64_t kAsked = 50;
  constexpr uint64_t kBlock = 8;  // documents
  PrintTable table(nullptr);
  std::array<uint64_t, kBlock * kPrints> batch;
  double start = cpu();
  uint64_t number = 0;
  double most = 0;
  for (; number < originals; number += kBlock) {
    for (uint64_t i = 0; i < batch.size(); ++i) batch[i] = some_print(number * kPrints + i);
    for (const uint64_t print : batch) table.prefetch_place(print);
    for (const uint64_t print : batch) table.prefetch_run(print);
    for (uint64_t i = 0; i < kBlock; ++i) table.insert(std::span(batch).subspan(i * kPrints, kPrints));
    if (number > originals / 4) {
      most = std::max(most, static_cast<double>(table.bytes()) / static_cast<double>(number + kBlock));
    }
  }
  fmt::print("table_insert {:.0f} ns/original\n", (cpu() - start) / static_cast<double>(number) * 1e9);
  fmt::print("table_bytes {:.1f} bytes/original\n",
             static_cast<double>(table.bytes()) / static_cast<double>(number));
  fmt::print("table_bytes_most {:.1f} bytes/original\n", most);
  PodVector<uint64_t> asked(kAsked * kBlock);
  PrintsFound listers;
  uint64_t found = 0;
  start = cpu();
  constexpr uint64_t kDocuments = 20'000;
  for (uint64_t at = 0; at < kDocuments; at += kBlock) {
    for (uint64_t i = 0; i < asked.size(); ++i) asked[i] = some_print((uint64_t{1} << 40) + at * kAsked + i);
    for (const uint64_t print : asked) table.prefetch(print);
    for (uint64_t i = 0; i < kBlock; ++i) {
      table.find(std::span(asked).subspan(i * kAsked, kAsked), 19, 256, listers);
      found += listers.listings.size();
    }
  }
  fmt::print("table_find {:.0f} ns/document\n", (cpu() - start) / static_cast<double>(kDocuments) * 1e9);
  fmt::print("table_found {} prints\n", found);
}

int bench(const Flags& flags) {
  const oracle::CorpusOptions corpus{.seed = flags.seed, .english = true, .copies = flags.copies};
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < flags.docs; ++i) texts.push_back(oracle::make_document(corpus, i).text);
  bench_prints(texts);
  bench_table(std::max<uint64_t>(flags.prefill, 1'000));
  std::array<Side, 2> sides;
  for (size_t side = 0; side < 2; ++side) sides[side].make(flags, side == 1);
  for (int repeat = 0; repeat < flags.repeats; ++repeat)
    for (Side& side : sides) side.run(texts, std::to_string(repeat));
  if (sides[0].fingerprint != sides[1].fingerprint) {
    fmt::print(stderr, "relations_bench: relations changed a verdict\n");
    return 1;
  }
  const double n = static_cast<double>(flags.docs);
  for (size_t side = 0; side < 2; ++side) {
    const std::string name = side == 0 ? "near" : "relations";
    const Seconds& best = sides[side].best();
    fmt::print("{}_sign {:.3f} us/document\n", name, best.sign / n * 1e6);
    fmt::print("{}_match {:.3f} us/document\n", name, best.match / n * 1e6);
    fmt::print("{}_resolve {:.3f} us/document\n", name, best.resolve / n * 1e6);
    fmt::print("{}_all {:.3f} us/document\n", name, best.sum() / n * 1e6);
  }
  fmt::print("originals {:.4f} share\n", static_cast<double>(sides[1].originals) / n);
  fmt::print("related {:.4f} share\n", static_cast<double>(sides[1].related) / n);
  fmt::print("speed {:.3f} share\n", sides[0].best().sum() / sides[1].best().sum());
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app("What relations cost");
  app.add_option("--docs", flags.docs)->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--prefill", flags.prefill, "unrelated originals in the indexes before")
      ->capture_default_str();
  app.add_option("--copies", flags.copies, "share of near-copies")->capture_default_str();
  app.add_option("--repeats", flags.repeats)->capture_default_str();
  app.add_flag("--shares", flags.shares, "shared passages too");
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(flags);
}
