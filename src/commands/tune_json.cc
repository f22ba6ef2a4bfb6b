// The output of `doppel tune` as JSON.

#include <algorithm>

#include "commands/tune_report.h"
#include "insight/json_writer.h"
#include "insight/plots.h"

namespace doppel {
namespace {

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
  if (r.other.has_value()) json_sample(json, "other_extraction", *r.other, r.other_extract);
  return json.finish();
}

}  // namespace doppel
