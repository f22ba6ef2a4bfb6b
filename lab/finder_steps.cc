// Runs the steps: how long each takes, and what it finds.
#include "fmt/format.h"
#include "lab/finder_tables.h"

namespace doppel::lab {
namespace {

// Calls `make` (the work per article) and searches at each threshold. The time is that of making and of one
// search.
template <typename Make>
Timed timed(const std::string& step, const BruteForce& brute, const Make& make) {
  Timed out{.step = step, .quality = {}};
  const Stopwatch making;
  const auto finder = make();
  out.seconds = making.seconds();
  for (double threshold : kThresholds) {
    const Stopwatch searching;
    const std::vector<Pair> found = finder.findDuplicates(threshold);
    if (threshold == .5) out.seconds += searching.seconds();
    out.quality[threshold] = compare(found, brute.truth(threshold));
  }
  return out;
}

}  // namespace

std::vector<Timed> all_steps(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                             const IntegerSets& ids, const IntegerSets& codes) {
  std::vector<Timed> out;
  auto begin_step = [&](std::string_view step) {
    options.progress(fmt::format("finder: {}, {}", data.name, step));
  };
  begin_step("sets of words");
  out.push_back(timed("sets of words", brute, [&] { return WordSetFinder(data.articles); }));
  begin_step("integers");
  const Stopwatch numbering;
  integer_sets(data.articles, Encoding::own_ids);
  const double numbering_seconds = numbering.seconds();
  out.push_back(timed("integers: own ids", brute, [&] { return IntegerFinder(ids); }));
  out.back().seconds += numbering_seconds;
  out.push_back(timed("integers: String.hashCode", brute, [&] { return IntegerFinder(codes); }));
  for (int k : kFunctions) {
    begin_step(fmt::format("MinHash, k = {}", k));
    Random random(options.seed, static_cast<uint64_t>(k));
    const std::vector<LinearHash> hashes = draw_hashes(k, ids, Encoding::own_ids, random);
    out.push_back(
        timed(fmt::format("MinHash, own ids, k = {}", k), brute, [&] { return MinHashFinder(ids, hashes); }));
    out.back().seconds += numbering_seconds;
    if (k != kLshFunctions) continue;
    const std::vector<LinearHash> of_codes = draw_hashes(k, codes, Encoding::hash_codes, random);
    out.push_back(timed(fmt::format("MinHash, hashCode, k = {}", k), brute,
                        [&] { return MinHashFinder(codes, of_codes); }));
  }
  begin_step("LSH");
  Random random(options.seed, kLshFunctions);
  const std::vector<LinearHash> hashes = draw_hashes(kLshFunctions, ids, Encoding::own_ids, random);
  const Stopwatch making;
  const MinHashFinder minhash(ids, hashes);
  const double making_seconds = making.seconds() + numbering_seconds;
  for (bool verify : {false, true}) {
    const LshFinderOptions lsh{.bands = kLshBands, .buckets = kLshBuckets, .verify = verify ? &ids : nullptr};
    out.push_back(timed(fmt::format("LSH, k = {}, b = {}, {}", kLshFunctions, kLshBands,
                                    verify ? "exact verification" : "y/k"),
                        brute, [&] { return LshFinder(minhash.signatures(), lsh); }));
    out.back().seconds += making_seconds;
  }
  return out;
}

Table step_table(const Dataset& data, const std::vector<Timed>& steps, const std::string& caption) {
  Table table{.name = "finder_steps_" + data.name,
              .title = data.name + ": each step",
              .caption = caption +
                         " Seconds: all that is done once per article, and one search at .5, on one thread. "
                         "Speed-up: over the step "
                         "before (of MinHash and LSH: over own ids, and over MinHash of 100). Precision and "
                         "recall against brute force.",
              .columns = {"step", "seconds", "speed-up", "precision .3", "recall .3", "precision .5",
                          "recall .5", "precision .9", "recall .9"},
              .rows = {}};
  double ids = 0;
  double minhash = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Timed& step = steps[i];
    if (step.step == "integers: own ids") ids = step.seconds;
    if (step.step == "MinHash, own ids, k = 100") minhash = step.seconds;
    const double before = i == 0                         ? 0
                          : step.step.starts_with("LSH") ? minhash
                          : step.step.starts_with("Min") ? ids
                                                         : steps[0].seconds;
    std::vector<Cell> row{text(step.step), num(step.seconds, 4),
                          before > 0 && step.seconds > 0 ? num(before / step.seconds, 2) : none()};
    for (double t : kThresholds) {
      row.push_back(num(step.quality.at(t).precision, 4));
      row.push_back(num(step.quality.at(t).recall, 4));
    }
    table.row(std::move(row));
  }
  return table;
}

}  // namespace doppel::lab
