#include "embed/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "engine/limits.h"
#include "engine/rule.h"
#include "state/scheme.h"
#include "state/state_dir.h"

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
    return choose(name, number(name), given, otherwise);
  }
  // For an option that the index stores in another unit.
  int64_t choose(std::string_view name, std::optional<int64_t> was, std::optional<int64_t> given,
                 int64_t otherwise) {
    if (!was) return given.value_or(otherwise);
    if (given && *given != *was) differ(name, *was, *given);
    return *was;
  }
  // For a fraction, which the index stores in millionths.
  double choose_fraction(std::string_view name, std::string_view stored_name, std::optional<double> given,
                         double otherwise) {
    const std::optional<int64_t> was = number(stored_name);
    if (!was) return given.value_or(otherwise);
    const double stored = static_cast<double>(*was) / 1e6;
    if (given && std::llround(*given * 1e6) != *was) differ(name, stored, *given);
    return stored;
  }
  bool choose_whether(std::string_view name, bool stored_value, std::optional<bool> given) {
    if (is_new()) return given.value_or(false);
    if (given && *given != stored_value) differ(name, stored_value, *given);
    return stored_value;
  }
  template <typename Value>
  void differ(std::string_view name, const Value& was, const Value& now) {
    differences_.push_back(fmt::format("{}: the index was made with {}, now {}", name, was, now));
  }

 private:
  const SchemeValues stored_;
  std::vector<std::string> differences_;
};

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
  for (const Normalisation choice : {Normalisation::standard, Normalisation::loose, Normalisation::none})
    if (chosen.text("normaliser") == normalisation_name(choice)) out.normalisation = choice;
  return out;
}

absl::StatusOr<RelationRule> choose_relations(const Index::Options& given, Chosen& chosen,
                                              int shingle_words) {
  ASSIGN_OR_RETURN(std::string names, chosen_relations(given.relations.value_or(std::vector<std::string>())));
  if (!chosen.is_new()) {
    const std::string_view was = chosen.text("relations").empty() ? "near" : chosen.text("relations");
    if (given.relations && names != was) chosen.differ("relations", was, std::string_view(names));
    names = was;
  }
  RelationRule out = relations_named(std::vector<std::string>(absl::StrSplit(names, ',')));
  out.shingle_words = static_cast<uint32_t>(shingle_words);
  if (out.similar_ppm != 0) {
    out.similar_ppm = static_cast<uint32_t>(std::llround(
        chosen.choose_fraction("report_from", "report_from_ppm", given.report_from, out.similar_ppm / 1e6) *
        1e6));
  }
  if (!out.needs_prints()) return out;
  const std::optional<int64_t> passage = chosen.number("passage");
  const int64_t words =
      chosen.choose("passage_words", passage ? std::optional(*passage + shingle_words - 1) : std::nullopt,
                    given.passage_words, 154);
  if (words < shingle_words)
    return invalid(
        fmt::format("passage_words is {}, less than the {} words of a shingle", words, shingle_words));
  out.passage = static_cast<uint32_t>(words - shingle_words + 1);
  out.containment_ppm = static_cast<uint32_t>(std::llround(
      chosen.choose_fraction("containment", "containment_ppm", given.containment, out.containment_ppm / 1e6) *
      1e6));
  out.common_after =
      static_cast<uint32_t>(chosen.choose("common_after", given.common_after, out.common_after));
  out.max_related = static_cast<uint32_t>(chosen.choose("max_related", given.max_related, out.max_related));
  out.partial_duplicate = chosen.choose_whether("partial_duplicate", chosen.text("partial") == "duplicate",
                                                given.partial_duplicate);
  return out;
}

absl::StatusOr<Rule> choose_rule(const Index::Options& given, Chosen& chosen, int num_perm) {
  const double threshold = chosen.choose_fraction("threshold", "threshold_ppm", given.threshold, .8);
  const auto bands = static_cast<int>(chosen.choose("bands", given.bands, 0));
  const auto rows = static_cast<int>(chosen.choose("rows", given.rows, 0));
  ASSIGN_OR_RETURN(Rule out, make_rule(threshold, given.recall.value_or(.995), num_perm, bands, rows));
  const bool estimates = chosen.choose_whether("verify_by_signature", chosen.text("verify") == "signature",
                                               given.verify_by_signature);
  out.verify = estimates ? Verify::signature : Verify::exact;
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
  RETURN_IF_ERROR(check_options(given));
  Chosen chosen(stored);
  EngineOptions out;
  out.scheme = choose_scheme(given, chosen, key);
  ASSIGN_OR_RETURN(out.rule, choose_rule(given, chosen, out.scheme.num_perm));
  ASSIGN_OR_RETURN(out.rule.relations, choose_relations(given, chosen, out.scheme.shingle_words));
  if (out.rule.relations.on() && out.rule.verify != Verify::exact)
    return invalid("relations need the sets that verify_by_signature leaves out");
  if (const uint32_t from = out.rule.relations.similar_ppm; from != 0)
    RETURN_IF_ERROR(report_from(out.rule, from / 1e6, given.recall.value_or(.995), out.scheme.num_perm));
  out.scheme.passage = out.rule.relations.passage;
  RETURN_IF_ERROR(refuse_differences("the index was made with other options; leave them out to use its own:",
                                     chosen.differences()));
  RETURN_IF_ERROR(within_tables(out.rule.banding.bands, given.shards));
  out.shards = given.shards;
  out.track_ids = true;
  return out;
}

// The options of an index by name: one table of names, types and ranges.

namespace {

using Options = Index::Options;
using Strings = std::vector<std::string>;
template <typename... Types>
using MemberOf = std::variant<Types Options::*...>;
using Member =
    MemberOf<std::optional<double>, std::optional<int>, std::optional<int64_t>, std::optional<bool>,
             std::optional<std::string>, std::optional<Strings>, int, int64_t, bool, Strings>;

struct NamedOption {
  std::string_view name;
  Member member;
  const Limit* range = nullptr;
};

constexpr NamedOption kOptions[] = {
    {"threshold", &Options::threshold, &limits::kThreshold},
    {"recall", &Options::recall, &limits::kRecall},
    {"num_perm", &Options::num_perm, &limits::kNumPerm},
    {"bands", &Options::bands, &limits::kBands},
    {"rows", &Options::rows, &limits::kRows},
    {"shingle_words", &Options::shingle_words, &limits::kShingleWords},
    {"verify_by_signature", &Options::verify_by_signature},
    {"max_listed", &Options::max_listed, &limits::kMaxListed},
    {"max_checks", &Options::max_checks, &limits::kMaxChecks},
    {"relations", &Options::relations},
    {"containment", &Options::containment, &limits::kContainment},
    {"report_from", &Options::report_from, &limits::kReportFrom},
    {"passage_words", &Options::passage_words, &limits::kPassageWords},
    {"common_after", &Options::common_after, &limits::kCommonAfter},
    {"max_related", &Options::max_related, &limits::kMaxRelated},
    {"partial_duplicate", &Options::partial_duplicate},
    {"expire_after_ms", &Options::expire_after_ms, &limits::kExpireAfter},
    {"hash_key", &Options::hash_key},
    {"shards", &Options::shards, &limits::kShards},
    {"against", &Options::against},
    {"memory", &Options::memory, &limits::kMemory},
    {"threads", &Options::threads, &limits::kThreads},
    {"create_if_missing", &Options::create_if_missing},
};

absl::Status is_not(const NamedOption& option, std::string_view value, const std::string& right) {
  return invalid(fmt::format("{}: \"{}\" is not {}", option.name, value, right));
}

absl::Status check(const NamedOption& option, double value) { return within_number(*option.range, value); }
absl::Status check(const NamedOption& option, int64_t value) {
  return within(*option.range, value, option.name);
}
absl::Status check(const NamedOption& option, int value) { return check(option, int64_t{value}); }
template <typename Value>
absl::Status check(const NamedOption& option, const std::optional<Value>& value) {
  return value ? check(option, *value) : absl::OkStatus();
}
absl::Status check(const NamedOption&, bool) { return absl::OkStatus(); }
absl::Status check(const NamedOption& option, const Strings& given) {
  return option.name == "relations" ? chosen_relations(given).status() : absl::OkStatus();
}
absl::Status check(const NamedOption& option, const std::string& key) {
  const absl::Status status = parse_hash_key(key).status();
  return status.ok() ? status : invalid(fmt::format("{}: {}", option.name, std_sv(status.message())));
}

absl::Status parse(const NamedOption& option, std::string_view value, double& out) {
  return absl::SimpleAtod(absl_sv(value), &out)
             ? absl::OkStatus()
             : is_not(option, value, "a number " + range_of(*option.range));
}
absl::Status parse(const NamedOption& option, std::string_view value, int64_t& out) {
  return absl::SimpleAtoi(absl_sv(value), &out)
             ? absl::OkStatus()
             : is_not(option, value, "a whole number " + range_of(*option.range));
}
absl::Status parse(const NamedOption& option, std::string_view value, int& out) {
  int64_t wide = 0;
  RETURN_IF_ERROR(parse(option, value, wide));
  RETURN_IF_ERROR(check(option, wide));  // so that it fits
  out = static_cast<int>(wide);
  return absl::OkStatus();
}
absl::Status parse(const NamedOption& option, std::string_view value, bool& out) {
  out = value == "true";
  return out || value == "false" ? absl::OkStatus() : is_not(option, value, "true or false");
}
absl::Status parse(const NamedOption&, std::string_view value, std::string& out) {
  out = value;
  return absl::OkStatus();
}
absl::Status parse(const NamedOption&, std::string_view value, Strings& out) {
  for (const absl::string_view item : absl::StrSplit(absl_sv(value), ',', absl::SkipWhitespace()))
    out.emplace_back(absl::StripAsciiWhitespace(item));
  return absl::OkStatus();
}

template <typename Value>
absl::Status assign(const NamedOption& option, std::string_view value, Value& out) {
  Value parsed{};
  RETURN_IF_ERROR(parse(option, value, parsed));
  RETURN_IF_ERROR(check(option, parsed));
  out = std::move(parsed);
  return absl::OkStatus();
}
template <typename Value>
absl::Status assign(const NamedOption& option, std::string_view value, std::optional<Value>& out) {
  Value parsed{};
  RETURN_IF_ERROR(parse(option, value, parsed));
  RETURN_IF_ERROR(check(option, parsed));
  out = std::move(parsed);
  return absl::OkStatus();
}
// A directory, which may have any name, is added.
absl::Status assign(const NamedOption&, std::string_view value, Strings& out) {
  out.emplace_back(value);
  return absl::OkStatus();
}

}  // namespace

absl::Status Index::Options::set(std::string_view name, std::string_view value) {
  for (const NamedOption& option : kOptions) {
    if (option.name == name)
      return std::visit([&](auto member) { return assign(option, value, this->*member); }, option.member);
  }
  std::vector<std::string> names;
  for (const NamedOption& option : kOptions) names.emplace_back(option.name);
  return invalid(fmt::format("{}: an index has no such option{}", name, did_you_mean(name, names)));
}

absl::Status check_options(const Index::Options& given) {
  for (const NamedOption& option : kOptions)
    RETURN_IF_ERROR(std::visit([&](auto member) { return check(option, given.*member); }, option.member));
  return absl::OkStatus();
}

absl::StatusOr<std::string> chosen_relations(const std::vector<std::string>& given) {
  const std::vector<std::string> names = relation_names();
  for (const std::string& name : given) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return invalid(fmt::format("relations: \"{}\" is not one of {}{}", name, absl::StrJoin(names, ", "),
                                 did_you_mean(name, names)));
  }
  std::string out = "near";
  for (const Relation relation : kRelations) {
    const std::string_view name = relation_name(relation);
    if (std::find(given.begin(), given.end(), name) != given.end()) out += fmt::format(",{}", name);
  }
  return out;
}

}  // namespace doppel
