// MapReduce on pre-shingled sets: both bandings of the study's course, which pairs near .9 they find, and
// at what cost.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/experiments.h"
#include "lab/map_reduce.h"
#include "lab/parallel.h"

namespace doppel::lab {
namespace {

using IdPair = std::pair<uint64_t, uint64_t>;

struct Shape {
  int rows, bands;
};
constexpr std::array<Shape, 2> kShapes{{{25, 39}, {16, 60}}};

double meets(double s, Shape shape) { return 1 - std::pow(1 - std::pow(s, shape.rows), shape.bands); }

struct Outcome {
  std::vector<IdPair> candidates;  // pairs that share a bucket, each once
  std::vector<IdPair> found;       // candidates at or above the threshold
  uint64_t met = 0;                // how often pairs met, over all bands
  double map_seconds = 0, reduce_seconds = 0;
};

// Does the same as mapper, sort and reducers, without text in between.
Outcome run(const std::vector<ShingleSet>& sets, Shape shape, const LabOptions& options,
            const MapReduceOptions& base) {
  MapReduceOptions mr = base;
  mr.rows = shape.rows;
  mr.bands = shape.bands;
  const SetHashing hashing(mr);
  Outcome out;
  const Stopwatch mapping;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> buckets(
      static_cast<size_t>(shape.bands));  // by band: (bucket, set)
  parallel_for(options.threads, buckets.size(), [&](size_t band) {
    for (uint32_t s = 0; s < sets.size(); ++s)
      buckets[band].emplace_back(hashing.bucket(static_cast<int>(band), sets[s]), s);
    std::sort(buckets[band].begin(), buckets[band].end());
  });
  out.map_seconds = mapping.seconds();
  const Stopwatch reducing;
  for (const auto& band : buckets) {
    for (size_t i = 0; i < band.size(); ++i) {
      for (size_t j = i + 1; j < band.size() && band[j].first == band[i].first; ++j) {
        out.candidates.emplace_back(band[i].second, band[j].second);
        ++out.met;
      }
    }
  }
  std::sort(out.candidates.begin(), out.candidates.end());
  out.candidates.erase(std::unique(out.candidates.begin(), out.candidates.end()), out.candidates.end());
  for (auto [i, j] : out.candidates) {
    if (!similar(sets[i], sets[j], mr.threshold_ppm)) continue;
    out.found.emplace_back(std::min(sets[i].id, sets[j].id), std::max(sets[i].id, sets[j].id));
  }
  std::sort(out.found.begin(), out.found.end());
  out.reduce_seconds = reducing.seconds();
  return out;
}

Plot s_curves() {
  Plot plot{.name = "mapreduce_figure1",
            .title = "Figure 1: chance that a pair shares a bucket",
            .caption = "1-(1-s^r)^b. P(.9) = .945 with r = 25, b = 39, and .999995 with r = 16, b = 60.",
            .x_label = "Jaccard similarity s",
            .y_label = "probability",
            .marks = {{.9, "threshold .9"}},
            .y_from = 0,
            .y_to = 1};
  for (const Shape shape : kShapes) {
    Series series{.name = fmt::format("r = {}, b = {}", shape.rows, shape.bands), .points = {}};
    for (int i = 50; i <= 100; ++i) series.points.emplace_back(i / 100.0, meets(i / 100.0, shape));
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace

absl::StatusOr<Report> mapreduce_experiment(const LabOptions& options) {
  Report report{.name = "mapreduce",
                .title = "MapReduce on pre-shingled sets",
                .command = options.command,
                .blocks = {}};
  const double scale = options.scale_or(.04, .3, 1);
  const auto count_of_sets = std::max<size_t>(200, static_cast<size_t>(50'000 * scale));
  const MapReduceOptions base{.seed = options.seed};
  options.progress("mapreduce: sets and exact pairs");
  const std::vector<ShingleSet> sets = make_sets(count_of_sets, base.max_shingle, options.seed);
  const std::vector<IdPair> exact = exact_pairs(sets, base.threshold_ppm);
  absl::flat_hash_map<uint64_t, size_t> by_id;
  for (size_t i = 0; i < sets.size(); ++i) by_id[sets[i].id] = i;
  auto of_pair = [&](const IdPair& p) { return jaccard(sets[by_id[p.first]], sets[by_id[p.second]]); };
  // Planted pairs just below the threshold count, too.
  size_t near = 0;
  for (const IdPair& p : exact_pairs(sets, 890'000)) near += std::abs(of_pair(p) - .9) <= .01;
  const std::string caption = conditions(options, 1, scale, sets.size());

  report.add(s_curves());
  Table chances{
      .name = "mapreduce_chances",
      .title = "What both bandings promise",
      .caption = "Chance that a pair shares a bucket, compared with the figures of the study.",
      .columns = {"r", "b", "functions", "P(.9)", "study, P(.9)", "P(.8)", "study, P(.8)", "(1/b)^(1/r)"},
      .rows = {}};
  Table results{
      .name = "mapreduce_results",
      .title = "What they find",
      .caption =
          caption +
          fmt::format(
              " Exact: {} pairs at .9 or above; {} pairs within .01 of .9. Every pair that is printed is "
              "verified exactly, so precision is 1; score: F1 (the study with its second banding: 1.0).",
              with_commas(exact.size()), with_commas(near)),
      .columns = {"r", "b", "pairs found", "exact", "recall", "expected recall", "score", "candidates",
                  "extra candidates", "meetings", "map s", "reduce s"},
      .rows = {}};
  Plot recall{.name = "mapreduce_recall",
              .title = "Share of planted pairs found, by similarity",
              .caption = caption + " Lines: theory.",
              .x_label = "Jaccard similarity",
              .y_label = "share that shares a bucket",
              .marks = {{.9, "threshold .9"}},
              .y_from = 0,
              .y_to = 1};
  const std::array<std::array<double, 2>, 2> study{{{.945, .137}, {.999995, .820}}};
  for (size_t i = 0; i < kShapes.size(); ++i) {
    const Shape shape = kShapes[i];
    options.progress(fmt::format("mapreduce: r = {}, b = {}", shape.rows, shape.bands));
    const Outcome outcome = run(sets, shape, options, base);
    chances.row({num(shape.rows, 0), num(shape.bands, 0), num(shape.rows * shape.bands + shape.bands, 0),
                 num(meets(.9, shape), 6), num(study[i][0], 6), num(meets(.8, shape), 3), num(study[i][1], 3),
                 num(std::pow(1.0 / shape.bands, 1.0 / shape.rows), 3)});
    double expected = 0;
    for (const IdPair& p : exact) expected += meets(of_pair(p), shape) / static_cast<double>(exact.size());
    const double share =
        exact.empty() ? 1 : static_cast<double>(outcome.found.size()) / static_cast<double>(exact.size());
    results.row({num(shape.rows, 0), num(shape.bands, 0), count(outcome.found.size()), count(exact.size()),
                 num(share, 4), num(exact.empty() ? 1 : expected, 4), num(2 * share / (1 + share), 4),
                 count(outcome.candidates.size()), count(outcome.candidates.size() - outcome.found.size()),
                 count(outcome.met), num(outcome.map_seconds, 2), num(outcome.reduce_seconds, 2)});
    // In bins of .01 similarity, including planted pairs below the threshold.
    std::array<std::pair<double, double>, 13> bins{};
    for (const IdPair& p : exact_pairs(sets, 850'000)) {
      const double j = of_pair(p);
      const auto bin = static_cast<size_t>((j - .85) * 100);
      if (bin >= bins.size()) continue;
      const auto a = static_cast<uint32_t>(by_id[p.first]);
      const auto b = static_cast<uint32_t>(by_id[p.second]);
      const IdPair key(std::min(a, b), std::max(a, b));
      bins[bin].second += 1;
      bins[bin].first +=
          std::binary_search(outcome.candidates.begin(), outcome.candidates.end(), key) ? 1 : 0;
    }
    Series measured{.name = fmt::format("r = {}, b = {}", shape.rows, shape.bands),
                    .look = Series::Look::dots,
                    .points = {}};
    Series theory{.name = fmt::format("theory, r = {}, b = {}", shape.rows, shape.bands), .points = {}};
    for (size_t bin = 0; bin < bins.size(); ++bin) {
      const double middle = .855 + static_cast<double>(bin) / 100;
      if (bins[bin].second > 0) measured.points.emplace_back(middle, bins[bin].first / bins[bin].second);
      theory.points.emplace_back(middle, meets(middle, shape));
    }
    recall.series.push_back(std::move(measured));
    recall.series.push_back(std::move(theory));
  }
  report.add(std::move(chances));
  report.add(std::move(results));
  report.add(std::move(recall));
  report.say(
      "Our reading: the first banding's threshold (1/b)^(1/r) is .864, so close to .9 that one in eighteen "
      "pairs at .9 never shares a bucket. The second has as many functions and finds every pair, but it has "
      "more candidates between .8 and .9, each of which costs one exact comparison. Bucket numbers are below "
      "n, so unrelated sets also share buckets by chance: N^2 / 2n pairs per band.");
  report.say(
      "The same runs as text: doppel lab sets > sets.txt; doppel lab map --rows 16 --bands 60 < sets.txt | "
      "LC_ALL=C sort | doppel lab reduce --rows 16 "
      "--bands 60; and in Hadoop by scripts/lab-hadoop, with several mappers and reducers. Both are compared "
      "with `doppel lab pairs`, which is exact.");
  return report;
}

}  // namespace doppel::lab
