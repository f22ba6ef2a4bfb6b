#include "commands/tune_report.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "insight/json_writer.h"
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

namespace {

// The output of `doppel tune` as JSON.

void json_parts(JsonWriter& json, const SampleParts& parts) {
  json.open("parts", '{');
  json.number("documents", parts.documents);
  json.number("near", parts.near);
  for (const Relation relation : {Relation::contained, Relation::contains, Relation::shares})
    json.number(relation_name(relation), parts.unique[static_cast<size_t>(relation)]);
  json.open("examples", '[');
  for (const SampleParts::Example& e : parts.examples) {
    json.open("", '{');
    json.text("relation", relation_name(e.relation));
    json.text("id", e.document);
    json.text("original", e.original);
    json.number("shared", e.shared);
    json.real("of_document", e.of_document_ppm / 1e6);
    json.real("of_original", e.of_original_ppm / 1e6);
    json.close();
  }
  json.close();
  json.close();
}

void json_sample(JsonWriter& json, std::string_view key, const TuneSample& sample, std::string_view extract) {
  const StudyResult& s = sample.result;
  json.open(key, '{');
  if (!extract.empty()) json.text("extract", extract);
  json.text("name", sample.name);
  json.text("choice", "first");
  json.boolean("whole", sample.whole && s.left_out == 0);
  json.number("documents", s.documents);
  json.number("rejected", sample.rejected);
  json.number("without_text", sample.without_text);
  json.number("too_short", sample.too_short);
  json.real("text_bytes", s.bytes);
  json.real("shingles", s.shingles);
  json.real("set_bytes", s.set_bytes);
  json.open("pairs", '[');  // 100 steps of .01 in similarity
  for (uint64_t n : s.pairs) json.number("", n);
  json.close();
  json.open("thresholds", '[');
  for (const auto& at : s.thresholds) {
    json.open("", '{');
    json.real("threshold", at.threshold);
    json.number("pairs", at.pairs);
    json.number("duplicates", at.duplicates);
    json.close();
  }
  json.close();
  json.number("pairs_similar", s.pairs_similar);
  json.number("pairs_found", s.pairs_found);
  json.number("originals", s.originals);
  json.number("met", s.met);
  json.number("candidates", s.candidates);
  json.number("candidates_false", s.candidates_false);
  json.number("estimates", s.estimates);
  json.real("estimate_rmse", s.estimate_rmse);
  if (s.valley.clear) {
    json.open("fitting_threshold", '{');
    json.real("threshold", s.valley.threshold);
    json.real("from", s.valley.from);
    json.real("to", s.valley.to);
    json.number("pairs", s.valley.pairs_in_it);
    json.close();
  } else {
    json.null("fitting_threshold");
  }
  if (sample.parts) json_parts(json, *sample.parts);
  json.close();
}

void json_cost(JsonWriter& json, const IndexCost& cost) {
  json.real("memory_bytes", cost.memory());
  json.real("disk_bytes", cost.disk());
}

}  // namespace

std::string tune_json(const TuneReport& r) {
  const Rule& rule = r.engine.rule;
  JsonWriter json;
  json.real("threshold", threshold_of(r));
  json.real("recall", r.recall);
  json.number("num_perm", r.engine.scheme.num_perm);
  json.number("bands", rule.banding.bands);
  json.number("rows", rule.banding.rows);
  json.number("min_equal", rule.min_equal);
  json.real("steepest", steepest_similarity(rule.banding));
  json.open("curve", '[');
  for (double s : similarities_around(threshold_of(r))) {
    json.open("", '{');
    json.real("similarity", s);
    json.real("meet", meeting_probability(s, rule.banding));
    json.close();
  }
  json.close();
  const IndexShape shape = index_shape(r, rule.banding);
  const IndexCost cost = index_cost(shape);
  json.open("cost_of_an_original", '{');
  json.text("source", "computed");
  json_cost(json, cost);
  json.real("shingles", shape.shingles_per_document);
  json.real("metadata_bytes", shape.metadata_bytes);
  json.close();
  if (r.engine.rule.max_documents != 0) json.number("max_documents", r.engine.rule.max_documents);
  if (r.memory_budget != 0) {
    json.number("memory_budget", r.memory_budget);
    json.number("originals_in_budget",
                static_cast<uint64_t>(static_cast<double>(r.memory_budget) / cost.memory()));
    if (const std::optional<WithSegments> with = with_segments(r, cost)) {
      json.open("with_memory", '{');
      json.number("originals", static_cast<uint64_t>(with->originals));
      json.number("in_tables", static_cast<uint64_t>(with->young));
      json.number("disk_bytes", static_cast<uint64_t>(with->disk));
      json.close();
    }
  }
  const WastedWork work = wasted_work(rule, r.engine.scheme.num_perm, kSpread);
  if (const RelationRule& relations = rule.relations; relations.on()) {
    json.open("relations", '{');
    json.number("passage_words", relations.passage + relations.shingle_words - 1);
    json.real("prints_memory_bytes", index_cost(shape).prints);
    json.real("lookups", prints_asked(shape.passage, shape.shingles_per_document));
    json.open("passages", '[');
    for (const uint32_t words : passages_around(r)) {
      json.open("", '{');
      json.number("words", words);
      json.real("found", passage_found(relations.passage, words - relations.shingle_words + 1));
      json.close();
    }
    json.close();
    json.close();
  }
  json.open("work_in_vain_of_100_spread_evenly", '{');
  json.real("met", work.met);
  json.real("verified", work.verified);
  json.close();
  json.open("alternatives", '[');
  for (const Alternative& a : alternatives(r)) {
    json.open("", '{');
    json.number("bands", a.banding.bands);
    json.number("rows", a.banding.rows);
    json.boolean("chosen", a.chosen);
    json.boolean("reaches_recall", a.reaches_recall);
    json.real("meet_at_threshold", meeting_probability(threshold_of(r), a.banding));
    json.real("meet_a_tenth_below", meeting_probability(std::max(0.0, threshold_of(r) - 0.1), a.banding));
    json.real("memory_bytes", index_cost(index_shape(r, a.banding)).memory());
    json.close();
  }
  json.close();
  if (r.sample.has_value()) json_sample(json, "sample", *r.sample, r.extract);
  json.open("advice", '[');
  for (const Advice& advice : r.advice) {
    json.open("", '{');
    json.text("why", advice.why);
    json.text("flags", advice.flags);
    json.text("what", advice.what);
    json.number("now", advice.now);
    json.number("advised", advice.advised);
    json.close();
  }
  json.close();
  if (r.other.has_value()) json_sample(json, "other_extraction", *r.other, r.other_extract);
  return json.finish();
}

}  // namespace doppel
