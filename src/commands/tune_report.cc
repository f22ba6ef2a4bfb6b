#include "commands/tune_report.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "insight/plots.h"
#include "insight/show.h"

namespace doppel {
namespace {

// The probability of at least `least` successes in n trials with probability p.
double at_least(int least, int n, double p) {
  if (least <= 0) return 1;
  if (p <= 0) return 0;
  if (p >= 1) return least <= n ? 1 : 0;
  double sum = 0;
  for (int i = least; i <= n; ++i) {
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  }
  return std::min(sum, 1.0);
}

}  // namespace

std::vector<double> similarities_around(double threshold) {
  std::vector<double> out;
  for (int step = -4; step <= 2; ++step) {
    const double s = std::round((threshold + step * 0.05) * 1e6) / 1e6;
    if (s > 0 && s <= 1) out.push_back(s);
  }
  return out;
}

IndexShape index_shape(const TuneReport& r, Banding banding) {
  IndexShape shape{.num_perm = r.engine.scheme.num_perm,
                   .banding = banding,
                   .exact_sets = r.engine.rule.verify == Verify::exact,
                   .shingles_per_document = kAssumedShingles,
                   .metadata_bytes = kAssumedMetadata,
                   .passage = r.engine.rule.relations.passage};
  if (r.sample.has_value() && r.sample->result.documents > 0) {
    shape.shingles_per_document = r.sample->result.shingles;
    shape.metadata_bytes = r.sample->result.metadata_bytes;
  }
  return shape;
}

std::optional<WithSegments> with_segments(const TuneReport& r, const IndexCost& cost) {
  if (r.memory_budget == 0) return std::nullopt;
  const double half = static_cast<double>(r.memory_budget) / 2;
  const double young = half / cost.memory();
  const double old = half / cost.segment_memory;
  return WithSegments{.originals = young + old,
                      .young = young,
                      .disk = (young + old) * cost.disk() + old * cost.segment_disk};
}

std::vector<uint32_t> passages_around(const TuneReport& r) {
  const RelationRule& rule = r.engine.rule.relations;
  std::vector<uint32_t> out;
  for (const uint32_t share : {8u, 4u, 2u, 1u}) {
    const uint32_t shingles = std::max(1u, rule.passage / share);
    if (out.empty() || shingles + rule.shingle_words - 1 != out.back())
      out.push_back(shingles + rule.shingle_words - 1);
  }
  return out;
}

WastedWork wasted_work(const Rule& rule, int num_perm, double count) {
  constexpr int kSteps = 400;
  const double t = rule.threshold_ppm / 1e6;
  WastedWork work;
  for (int i = 0; i < kSteps; ++i) {
    const double s = t * (i + 0.5) / kSteps;
    const double meets = meeting_probability(s, rule.banding);
    // The rows of the shared band are equal already.
    const double passes =
        at_least(rule.min_equal - rule.banding.rows, num_perm - rule.banding.rows, equal_slice_chance(s));
    work.met += meets * count / kSteps;
    work.verified += meets * passes * count / kSteps;
  }
  return work;
}

std::vector<Alternative> alternatives(const TuneReport& r) {
  const Banding chosen = r.engine.rule.banding;
  const int num_perm = r.engine.scheme.num_perm;
  const double t = threshold_of(r);
  std::vector<Alternative> out;
  for (int rows = std::max(1, chosen.rows - 3); rows <= std::min(num_perm, chosen.rows + 3); ++rows) {
    int bands = 1;
    while (bands < num_perm / rows && meeting_probability(t, {bands, rows}) < r.recall) ++bands;
    out.push_back({.banding = {bands, rows}});
  }
  if (std::none_of(out.begin(), out.end(), [&](const Alternative& a) { return a.banding == chosen; })) {
    out.push_back({.banding = chosen});
  }
  std::sort(out.begin(), out.end(), [](const Alternative& a, const Alternative& b) {
    return a.banding.rows != b.banding.rows ? a.banding.rows < b.banding.rows
                                            : a.banding.bands < b.banding.bands;
  });
  for (Alternative& a : out) {
    a.chosen = a.banding == chosen;
    a.reaches_recall = meeting_probability(t, a.banding) >= r.recall;
  }
  return out;
}

std::string tune_svg(const TuneReport& r) {
  RulePicture picture{
      .banding = r.engine.rule.banding, .num_perm = r.engine.scheme.num_perm, .threshold = threshold_of(r)};
  if (r.sample.has_value() && r.sample->result.documents > 1) {
    picture.pairs = r.sample->result.pairs;
    picture.sample = fmt::format("{} documents of {}", with_commas(r.sample->result.documents),
                                 one_line(r.sample->name, 60));
    if (r.sample->result.valley.clear) picture.suggested = r.sample->result.valley.threshold;
  }
  return draw_rule(picture);
}

}  // namespace doppel
