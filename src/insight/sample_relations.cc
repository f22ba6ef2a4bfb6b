#include "insight/sample_relations.h"

#include <algorithm>

#include "base/status.h"
#include "insight/passages.h"

namespace doppel {
namespace {

constexpr size_t kBatch = 256;
constexpr size_t kExamples = 3;  // of each relation

EngineOptions with_relations(EngineOptions options) {
  options.rule.relations = relations_to_explain(options);
  options.rule.relations.partial_duplicate = false;
  options.rule.verify = Verify::exact;
  options.rule.expire_after_ms = 0;
  options.rule.max_documents = options.rule.max_memory = 0;
  options.scheme.passage = options.rule.relations.passage;
  return options;
}

}  // namespace

SampleRelations::SampleRelations(const EngineOptions& options)
    : options_(with_relations(options)),
      bodies_(memory_bodies()),
      engine_(options_, *bodies_),
      signer_(engine_.make_signer()) {
  work_.resize(kBatch, options_);
  out_.rule = options_.rule.relations;
}

absl::Status SampleRelations::add(std::string_view text, std::string_view scope, std::string_view name) {
  SignedDocument& document = work_.sign.documents[waiting_];
  document = {};
  signer_.sign(text, scope, document,
               work_.sign.slices.data() + waiting_ * static_cast<size_t>(options_.scheme.num_perm));
  document.metadata = name;
  return ++waiting_ == kBatch ? judge() : absl::OkStatus();
}

absl::Status SampleRelations::judge() {
  work_.resize(waiting_, options_);
  MatchCounters counters;
  RETURN_IF_ERROR(engine_.match(work_, 0, waiting_, counters));
  RETURN_IF_ERROR(engine_.resolve(work_));
  for (size_t i = 0; i < waiting_; ++i) {
    const Outcome& outcome = work_.resolved.outcomes[i];
    ++out_.documents;
    out_.near += outcome.verdict == Verdict::duplicate ? 1 : 0;
    if (const std::optional<Relation> strongest = strongest_relation(outcome)) {
      ++out_.unique[static_cast<size_t>(*strongest)];
      add_example(outcome, work_.sign.documents[i].metadata);
    }
  }
  waiting_ = 0;
  work_.resize(kBatch, options_);
  return absl::OkStatus();
}

void SampleRelations::add_example(const Outcome& outcome, const std::string& name) {
  const Relation strongest = *strongest_relation(outcome);
  const auto related = std::find_if(outcome.related.begin(), outcome.related.end(),
                                    [&](const Related& r) { return r.relation == strongest; });
  const auto more = [](const SampleParts::Example& a, const SampleParts::Example& b) {
    return a.relation != b.relation ? a.relation < b.relation : a.shared > b.shared;
  };
  const SampleParts::Example example{
      .relation = strongest,
      .document = name,
      .original = related->original,
      .shared = related->shared,
      .of_document_ppm = similarity_ppm({related->shared, related->of_document}),
      .of_original_ppm = similarity_ppm({related->shared, related->of_original})};
  const auto place = std::upper_bound(out_.examples.begin(), out_.examples.end(), example, more);
  out_.examples.insert(place, example);
  const auto same = [&](const SampleParts::Example& e) { return e.relation == strongest; };
  if (std::count_if(out_.examples.begin(), out_.examples.end(), same) <= static_cast<ptrdiff_t>(kExamples))
    return;
  const auto last = std::find_if(out_.examples.rbegin(), out_.examples.rend(), same);
  out_.examples.erase(std::next(last).base());
}

absl::StatusOr<SampleParts> SampleRelations::finish() {
  if (waiting_ != 0) RETURN_IF_ERROR(judge());
  return out_;
}

}  // namespace doppel
