// What a choice of bands and rows costs: candidates, checks and time for documents whose neighbours below the
// threshold are like those of the web. Prints a line for each workload and choice.
//
//   banding_bench [--docs 100000] [--bands 18x6,14x5,11x4,8x3] [--only site-.5]
//
//   unrelated   nothing in common but frequent words
//   phrases     three stock phrases of 40 to 80 words (cookie notices, imprints), each shared by thousands
//   site-.3     sites with 1,000 pages, which come in turns: of all shingles of two pages of one site, this
//               share is common
//   site-.5
//   site-.7
//   copies      half of the documents are near-copies, in twelve languages
//
// Times are those of MATCH and RESOLVE with exact verification, without SIGN. The table of an index grows
// with the documents, so the time for a table at 20 million is that of index_bench.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <random>

#include "engine/engine.h"
#include "memory_run.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

constexpr size_t kPagesOfASite = 1'000;

struct Workload {
  std::string_view name;
  double common = 0;  // of two pages of one site
  bool phrases = false;
  bool copies = false;
};
constexpr Workload kWorkloads[] = {{.name = "unrelated"},
                                   {.name = "phrases", .phrases = true},
                                   {.name = "site-.3", .common = .3},
                                   {.name = "site-.5", .common = .5},
                                   {.name = "site-.7", .common = .7},
                                   {.name = "copies", .copies = true}};

class WordSource : public Source {
 public:
  WordSource(const Workload& workload, uint64_t docs) : workload_(workload), docs_(docs) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    auto lines = std::make_shared<Lines>();
    for (; at_ < docs_ && lines->places.size() < kBatch; ++at_) lines->add(document());
    lines->finish();
    for (const auto& [offset, length] : lines->places) {
      batch.records.push_back({.value = std::string_view(lines->bytes).substr(offset, length),
                               .source = "memory",
                               .offset = offset});
      batch.bytes += length;
    }
    batch.memory.push_back(lines);
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  // Frequent words are frequent; the square of a uniform number is near enough to what words do.
  static void words(std::mt19937_64& random, size_t count, std::string& out) {
    std::uniform_real_distribution<double> uniform;
    for (size_t i = 0; i < count; ++i) {
      const double u = uniform(random);
      out += fmt::format("w{} ", static_cast<int>(u * u * 50'000));
    }
  }

  std::string document() {
    if (workload_.copies) return oracle::to_json(oracle::make_document({}, at_));
    std::string text;
    if (workload_.common > 0) {
      // Of n + 2m shingles of two pages n are common.
      constexpr double kWords = 600;
      const double common = kWords * 2 * workload_.common / (1 + workload_.common);
      std::mt19937_64 site(at_ % (docs_ / kPagesOfASite));
      words(site, static_cast<size_t>(common), text);
      words(random_, static_cast<size_t>(kWords - common), text);
    } else {
      words(random_, 500, text);
    }
    if (workload_.phrases) {
      for (int i = 0; i < 3; ++i) {
        const uint64_t phrase = random_() % 40;
        std::mt19937_64 same(phrase + 1'000'000);
        words(same, 40 + phrase, text);
      }
    }
    return fmt::format(R"({{"id":"{}","text":"{}"}})", at_, text);
  }

  const Workload& workload_;
  uint64_t docs_, at_ = 0;
  std::mt19937_64 random_{1};
};

absl::Status run(const Workload& workload, Banding banding, uint64_t docs) {
  EngineOptions options;
  options.scheme.key = {1, 2};
  const absl::StatusOr<Rule> rule = make_rule(.8, .995, 128, banding.bands, banding.rows);
  if (!rule.ok()) return rule.status();
  options.rule = *rule;
  const std::unique_ptr<Bodies> bodies = temporary_bodies("").value();
  Engine engine(options, *bodies);
  WordSource source(workload, docs);
  CountingSink sink;
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
  BatchTimes::Duration match{}, resolve{};
  pipeline.observe = [&](const Decided&, const BatchTimes& times) {
    match += times.match;
    resolve += times.resolve;
  };
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (!counters.ok()) return counters.status();
  const auto n = static_cast<double>(counters->records);
  const auto us = [&](BatchTimes::Duration d) { return std::chrono::duration<double>(d).count() * 1e6 / n; };
  fmt::print("{:<10} {:>3} x {:<2} {:>9.2f} {:>9.2f} {:>9.2f} {:>11.3f} {:>9.3f} {:>9} {:>9} {:>9}\n",
             workload.name, banding.bands, banding.rows, us(match), us(resolve), us(match + resolve),
             static_cast<double>(counters->match.candidates) / n,
             static_cast<double>(counters->match.checks) / n, counters->duplicates(),
             counters->match.checks_capped, counters->listings_capped);
  return absl::OkStatus();
}

int bench(const std::vector<std::string>& bandings, const std::string& only, uint64_t docs) {
  fmt::print("{:<10} {:>3} x {:<2} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9}\n", "us/document", "", "",
             "match", "resolve", "both", "candidates", "checks", "copies", "capped", "unlisted");
  for (const Workload& workload : kWorkloads) {
    if (!only.empty() && only != workload.name) continue;
    for (const std::string& text : bandings) {
      Banding banding;
      const char* end = text.data() + text.size();
      const auto [at, error] = std::from_chars(text.data(), end, banding.bands);
      if (error != std::errc() || at == end || *at != 'x' ||
          std::from_chars(at + 1, end, banding.rows).ec != std::errc()) {
        fmt::print(stderr, "--bands {}: BANDSxROWS is needed\n", text);
        return 1;
      }
      if (const absl::Status status = run(workload, banding, docs); !status.ok()) {
        fmt::print(stderr, "{}\n", std::string(status.message()));
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  std::vector<std::string> bandings{"18x6", "14x5", "14x4", "11x4", "10x3", "8x3"};
  std::string only;
  uint64_t docs = 100'000;
  CLI::App app("What bands and rows cost");
  app.add_option("--bands", bandings)->delimiter(',')->capture_default_str();
  app.add_option("--only", only);
  app.add_option("--docs", docs)->check(CLI::Range(2'000, 100'000'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(bandings, only, docs);
}
