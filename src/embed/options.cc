#include "embed/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/limits.h"
#include "state/scheme.h"

namespace doppel {
namespace {

// Chooses each value: the index's, the given one, or the default. Records where the first two differ.
class Chosen {
 public:
  explicit Chosen(std::string_view stored) : stored_(scheme_values(stored)) {}

  bool is_new() const { return stored_.empty(); }
  const std::vector<std::string>& differences() const { return differences_; }

  std::optional<int64_t> number(std::string_view name) const {
    const auto found = stored_.find(name);
    if (found == stored_.end()) return std::nullopt;
    int64_t out = 0;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), out);
    return out;
  }
  std::string_view text(std::string_view name) const {
    const auto found = stored_.find(name);
    return found == stored_.end() ? std::string_view() : found->second;
  }

  int64_t choose(std::string_view name, std::optional<int64_t> given, int64_t otherwise) {
    const std::optional<int64_t> was = number(name);
    if (!was) return given.value_or(otherwise);
    if (given && *given != *was) differ(name, *was, *given);
    return *was;
  }
  template <typename Value>
  void differ(std::string_view name, const Value& was, const Value& now) {
    differences_.push_back(fmt::format("{}: the index was made with {}, now {}", name, was, now));
  }

 private:
  const SchemeValues stored_;
  std::vector<std::string> differences_;
};

absl::Status check_ranges(const Index::Options& o) {
  if (o.shingle_words) RETURN_IF_ERROR(within(limits::kShingleWords, *o.shingle_words));
  if (o.max_listed) RETURN_IF_ERROR(within(limits::kMaxListed, *o.max_listed));
  if (o.max_checks) RETURN_IF_ERROR(within(limits::kMaxChecks, *o.max_checks));
  if (o.containment) RETURN_IF_ERROR(within_number(limits::kContainment, *o.containment));
  if (o.passage_words) RETURN_IF_ERROR(within(limits::kPassageWords, *o.passage_words));
  if (o.common_after) RETURN_IF_ERROR(within(limits::kCommonAfter, *o.common_after));
  if (o.max_related) RETURN_IF_ERROR(within(limits::kMaxRelated, *o.max_related));
  if (o.expire_after_ms) RETURN_IF_ERROR(within(limits::kExpireAfter, *o.expire_after_ms, "expire_after_ms"));
  RETURN_IF_ERROR(within(limits::kThreads, o.threads));
  return within(limits::kShards, o.shards);
}

Scheme choose_scheme(const Index::Options& given, Chosen& chosen, const HashKey& key) {
  Scheme out;
  out.key = key;
  out.num_perm = static_cast<int>(chosen.choose("num_perm", given.num_perm, out.num_perm));
  out.shingle_words =
      static_cast<int>(chosen.choose("shingle_words", given.shingle_words, out.shingle_words));
  // These have no option, so the index decides.
  out.min_shingles = static_cast<int>(chosen.number("min_shingles").value_or(out.min_shingles));
  out.max_record =
      static_cast<uint64_t>(chosen.number("max_record").value_or(static_cast<int64_t>(out.max_record)));
  for (const SketchFamily family : {SketchFamily::fast, SketchFamily::classic})
    if (chosen.text("sketch") == sketch_family_name(family)) out.family = family;
  for (const Normalisation each : {Normalisation::standard, Normalisation::loose, Normalisation::none})
    if (chosen.text("normaliser") == normalisation_name(each)) out.normalisation = each;
  return out;
}

constexpr Relation kRelations[] = {Relation::contained, Relation::contains, Relation::shares};

// Returns the relations in the form of an index: "near,contained".
absl::StatusOr<std::string> relation_names(const std::vector<std::string>& given) {
  const auto is_given = [&](std::string_view name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  for (const std::string& name : given) {
    if (name != "near" && std::none_of(std::begin(kRelations), std::end(kRelations),
                                       [&](Relation relation) { return relation_name(relation) == name; }))
      return invalid(fmt::format("relations: \"{}\" is not one of near, contained, contains, shares", name));
  }
  std::string out = "near";
  for (const Relation relation : kRelations)
    if (is_given(relation_name(relation))) out += fmt::format(",{}", relation_name(relation));
  return out;
}

absl::StatusOr<RelationRule> choose_relations(const Index::Options& given, Chosen& chosen,
                                              int shingle_words) {
  ASSIGN_OR_RETURN(std::string names, relation_names(given.relations.value_or(std::vector<std::string>())));
  if (!chosen.is_new()) {
    const std::string_view was = chosen.text("relations").empty() ? "near" : chosen.text("relations");
    if (given.relations && names != was) chosen.differ("relations", was, std::string_view(names));
    names = was;
  }
  RelationRule out{.contained = names.find(",contained") != std::string::npos,
                   .contains = names.find(",contains") != std::string::npos,
                   .shares = names.find(",shares") != std::string::npos,
                   .shingle_words = static_cast<uint32_t>(shingle_words)};
  if (!out.contained && !out.contains && !out.shares) return RelationRule();
  const int words = given.passage_words.value_or(154);
  if (words < shingle_words)
    return invalid(
        fmt::format("passage_words is {}, less than the {} words of a shingle", words, shingle_words));
  const auto number = [&](std::string_view name, std::optional<int64_t> value, int64_t otherwise) {
    return static_cast<uint32_t>(chosen.choose(name, value, otherwise));
  };
  const int64_t passage = words - shingle_words + 1;
  out.passage = number("passage", given.passage_words ? std::optional(passage) : std::nullopt, passage);
  out.containment_ppm = number(
      "containment_ppm",
      given.containment ? std::optional<int64_t>(std::llround(*given.containment * 1e6)) : std::nullopt,
      out.containment_ppm);
  out.common_after = number("common_after", given.common_after, out.common_after);
  out.max_related = number("max_related", given.max_related, out.max_related);
  out.partial_duplicate =
      chosen.is_new() ? given.partial_duplicate.value_or(false) : chosen.text("partial") == "duplicate";
  if (given.partial_duplicate && *given.partial_duplicate != out.partial_duplicate)
    chosen.differ("partial_duplicate", out.partial_duplicate, *given.partial_duplicate);
  return out;
}

absl::StatusOr<Rule> choose_rule(const Index::Options& given, Chosen& chosen, int num_perm) {
  double threshold = given.threshold.value_or(.8);
  if (const std::optional<int64_t> was = chosen.number("threshold_ppm")) {
    const double stored = static_cast<double>(*was) / 1e6;
    if (given.threshold && std::llround(threshold * 1e6) != *was)
      chosen.differ("threshold", stored, threshold);
    threshold = stored;
  }
  const auto bands = static_cast<int>(chosen.choose("bands", given.bands, 0));
  const auto rows = static_cast<int>(chosen.choose("rows", given.rows, 0));
  ASSIGN_OR_RETURN(Rule out, make_rule(threshold, given.recall.value_or(.995), num_perm, bands, rows));
  const bool estimates = chosen.text("verify") == "signature";
  out.verify = (chosen.is_new() ? given.verify_by_signature.value_or(false) : estimates) ? Verify::signature
                                                                                         : Verify::exact;
  if (!chosen.is_new() && given.verify_by_signature && *given.verify_by_signature != estimates)
    chosen.differ("verify_by_signature", estimates, *given.verify_by_signature);
  out.min_equal = static_cast<int>(chosen.number("min_equal").value_or(out.min_equal));
  out.max_listed = static_cast<int>(chosen.choose("max_listed", given.max_listed, out.max_listed));
  out.max_checks = static_cast<int>(chosen.choose("max_checks", given.max_checks, out.max_checks));
  out.expire_after_ms = chosen.choose("expire_after_ms", given.expire_after_ms, 0);
  out.replace = chosen.text("on_update") == "replace";
  set_room(out, static_cast<uint64_t>(chosen.number("max_memory").value_or(0)),
           static_cast<uint64_t>(chosen.number("documents_in_memory").value_or(0)),
           static_cast<uint64_t>(chosen.number("max_documents").value_or(0)));
  return out;
}

}  // namespace

absl::StatusOr<EngineOptions> embed_options(const Index::Options& given, std::string_view stored,
                                            const HashKey& key) {
  RETURN_IF_ERROR(check_ranges(given));
  Chosen chosen(stored);
  EngineOptions out;
  out.scheme = choose_scheme(given, chosen, key);
  ASSIGN_OR_RETURN(out.rule, choose_rule(given, chosen, out.scheme.num_perm));
  ASSIGN_OR_RETURN(out.rule.relations, choose_relations(given, chosen, out.scheme.shingle_words));
  if (out.rule.relations.on() && out.rule.verify != Verify::exact)
    return invalid("relations need the sets that verify_by_signature leaves out");
  out.scheme.passage = out.rule.relations.passage;
  RETURN_IF_ERROR(refuse_differences("the index was made with other options; leave them out to use its own:",
                                     chosen.differences()));
  RETURN_IF_ERROR(within_tables(out.rule.banding.bands, given.shards));
  out.shards = given.shards;
  out.track_ids = true;
  return out;
}

}  // namespace doppel
