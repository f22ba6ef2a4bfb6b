#include "engine/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"

namespace doppel {
namespace {

constexpr double kMillion = 1e6;

// The shortest digits that represent the value.
std::string digits(double value, std::chars_format format) {
  std::array<char, 400> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string("this");
}

absl::Status not_in(std::string_view name, const std::string& value, const Limit& limit) {
  return invalid(std::string(name) + ": " + value + " is not " + range_of(limit));
}

}  // namespace

std::string range_of(const Limit& limit) {
  const auto shown = [&](int64_t value) {
    return limit.unit == Limit::Unit::millionth
               ? digits(static_cast<double>(value) / kMillion, std::chars_format::fixed)
               : std::to_string(value);
  };
  return "between " + shown(limit.least) + " and " + shown(limit.most);
}

absl::Status within(const Limit& limit, int64_t value, std::string_view name) {
  if (value >= limit.least && value <= limit.most) return absl::OkStatus();
  return not_in(name.empty() ? limit.name : name, std::to_string(value), limit);
}

absl::Status within_tables(int64_t bands, int64_t shards) {
  if (bands * shards <= limits::kTablesMost) return absl::OkStatus();
  return invalid(std::to_string(bands) + " bands in " + std::to_string(shards) + " shards need " +
                 std::to_string(bands * shards) + " tables, and at most " +
                 std::to_string(limits::kTablesMost) + " are possible");
}

absl::Status within_number(const Limit& limit, double value) {
  const double least = static_cast<double>(limit.least) / kMillion;
  const double most = static_cast<double>(limit.most) / kMillion;
  if (value >= least && value <= most) return absl::OkStatus();
  return not_in(limit.name, digits(value, std::chars_format::general), limit);
}

namespace {

using Names = std::span<const std::string_view>;
constexpr std::string_view kVerify[] = {"exact", "signature"};
constexpr std::string_view kPartial[] = {"report", "duplicate"};
constexpr std::string_view kCut[] = {"nothing", "shares"};
constexpr std::string_view kSketch[] = {"fast", "classic"};
constexpr std::string_view kNormaliser[] = {"default", "loose", "none"};
constexpr std::string_view kOnUpdate[] = {"keep", "replace"};

Names names_of(Verify) { return kVerify; }
Names names_of(Partial) { return kPartial; }
Names names_of(CutTexts) { return kCut; }
Names names_of(SketchFamily) { return kSketch; }
Names names_of(Normalisation) { return kNormaliser; }
Names names_of(OnUpdate) { return kOnUpdate; }

using S = IndexSettings;
using O = Index::Options;
using Group = IndexSetting::Group;
using Kept = IndexSetting::Kept;
using Unit = Limit::Unit;

constexpr Limit named(std::string_view name, int64_t least = 0, int64_t most = 0, Unit unit = Unit::one) {
  return {name, least, most, unit};
}

constexpr IndexSetting kSettings[] = {
    {Group::rule, limits::kThreshold, &S::threshold, Kept::always, &O::threshold,
     "The Jaccard similarity from which a document is a duplicate of an earlier one: the share of word "
     "sequences that both have. 1 means equal except for case, punctuation and spacing.",
     "0.5 to 0.95"},
    {Group::rule, limits::kRecall, &S::recall, Kept::no, &O::recall,
     "Target recall for pairs exactly at the threshold. doppel chooses bands and rows from it. Higher recall "
     "needs more bands, memory and time.",
     "0.95 to 0.999"},
    {Group::rule, named("verify"), &S::verify, Kept::always, &O::verify_by_signature,
     "exact compares stored shingle sets. signature estimates from the sketch: it needs no disk, and it errs "
     "near the threshold.",
     "", "verify_by_signature"},
    {Group::rule, limits::kBands, &S::bands, Kept::always, &O::bands,
     "Number of bands. 0: doppel chooses bands and rows from threshold and recall."},
    {Group::rule, limits::kRows, &S::rows, Kept::always, &O::rows,
     "Slots in each band. 0: doppel chooses. Set it together with bands."},
    {Group::rule, named("max_listed", 1, 65'535), &S::max_listed, Kept::always, &O::max_listed,
     "The most live originals that one band lists under one key. It bounds the work that boilerplate "
     "causes."},
    {Group::rule, named("max_checks", 1, 65'535), &S::max_checks, Kept::always, &O::max_checks,
     "The most candidates that one document is compared with, the most promising first. For relations "
     "without `cut`, a document of n words is compared with about 32,768 / n, but with at least "
     "`max_related`."},
    {Group::rule, limits::kExpireAfter, &S::expire_after_ms, Kept::always, &O::expire_after_ms,
     "Originals older than this are removed, and their next copy is unique again. Age is measured in record "
     "time, not by the clock."},
    {Group::rule, limits::kMaxDocuments, &S::max_documents, Kept::if_set, std::nullopt,
     "The most originals that are kept. When there would be more, the oldest is removed. 0: no limit."},
    {Group::rule, named("max_memory", 0, limits::kMemory.most, Unit::byte), &S::max_memory, Kept::if_set,
     std::nullopt,
     "The memory for all of doppel. doppel computes from it how many originals fit beside the buffers; the "
     "smaller one of this and max_documents applies. 0: no limit."},

    {Group::relations, named("relations"), &S::relations, Kept::if_set, &O::relations,
     "What is looked for: near (always), contained (an original has most of the document), contains (the "
     "document has most of an original), shares (they share a passage of passage_words), similar (an "
     "original is less similar than threshold, and at least report_from: to look at, never a duplicate). An "
     "index keeps the relations that it was made with."},
    {Group::relations, named("containment", 1, 1'000'000, Unit::millionth), &S::containment, Kept::always,
     &O::containment, "The share of the shorter text that makes contained or contains hold.", "0.5 to 1"},
    {Group::relations, limits::kReportFrom, &S::report_from, Kept::always, &O::report_from,
     "The least similarity of an original that is reported as similar. Lower values take more memory and "
     "time, because more bands are needed to find such originals.",
     "0.4 to the threshold"},
    {Group::relations, named("passage_words", 1, 10'000), &S::passage_words, Kept::always, &O::passage_words,
     "The shortest passage, in words, that is found with certainty wherever it is."},
    {Group::relations, named("common_after", 2, 65'535), &S::common_after, Kept::always, &O::common_after,
     "A passage that so many originals have is a template and counts for no relation. With cut: shares it is "
     "500 unless it is set, because templates are to be cut, too."},
    {Group::relations, named("max_related", 1, 1'000), &S::max_related, Kept::always, &O::max_related,
     "The most related originals that are reported for one document, the largest passages first."},
    {Group::relations, named("partial"), &S::partial, Kept::always, &O::partial_duplicate,
     "report: a contained document is unique, with its relations. duplicate: it is a duplicate of the "
     "original that has most of it.",
     "", "partial_duplicate"},
    {Group::relations, named("cut"), &S::cut, Kept::no, std::nullopt,
     "shares: unique documents are kept without the passages of passage_words that earlier ones have. It "
     "needs shares in relations, and texts that are in the records as they are."},

    {Group::signatures, limits::kNumPerm, &S::num_perm, Kept::always, &O::num_perm,
     "Slots of a sketch. More slots make fewer errors and cost memory and time for each document."},
    {Group::signatures, named("sketch"), &S::sketch, Kept::always, std::nullopt,
     "fast: Fast Similarity Sketching. classic: MinHash with num_perm hash functions, which is slower, for "
     "comparison."},
    {Group::signatures, limits::kShingleWords, &S::shingle_words, Kept::always, &O::shingle_words,
     "The number of consecutive words in a shingle. Fewer find reworded text, more ignore common phrases."},
    {Group::signatures, named("min_shingles", 1, 1'000'000), &S::min_shingles, Kept::if_set, std::nullopt,
     "A text with fewer shingles is a duplicate only of an equal text."},
    {Group::signatures, named("normaliser"), &S::normaliser, Kept::always, std::nullopt,
     "What makes words equal. default ignores case and forms of characters. loose also ignores accents, "
     "takes all digits for one, and makes one word of U.S. and of 1,000. none ignores nothing."},
    {Group::signatures, named("max_record", 1024, 15 << 20, Unit::byte), &S::max_record, Kept::always,
     std::nullopt,
     "The largest stored set with metadata of one original. A larger one is compared by its sketch."},

    {Group::updates, named("on_update"), &S::on_update, Kept::if_set, std::nullopt,
     "keep: a new text under a known key leaves the old original. replace: the old original is removed "
     "first."},
};

uint32_t millionths(double share) { return static_cast<uint32_t>(std::llround(share * kMillion)); }

absl::StatusOr<RelationRule> relation_rule(const IndexSettings& s) {
  RelationRule out = relations_named(s.relations);
  if (!out.needs_prints()) return out;
  if (s.verify != Verify::exact)
    return invalid("contained, contains and shares need the sets of verify: exact");
  if (s.passage_words < s.shingle_words)
    return invalid(absl::StrCat("passage_words is ", s.passage_words, ", less than the ", s.shingle_words,
                                " words of a shingle"));
  out.passage = static_cast<uint32_t>(s.passage_words - s.shingle_words + 1);
  out.shingle_words = static_cast<uint32_t>(s.shingle_words);
  out.containment_ppm = millionths(s.containment);
  out.common_after = static_cast<uint32_t>(s.common_after);
  out.max_related = static_cast<uint32_t>(s.max_related);
  out.partial_duplicate = s.partial == Partial::duplicate;
  out.cut = s.cut == CutTexts::shares;
  return out;
}

}  // namespace

Names IndexSetting::choices() const {
  return std::visit(
      [](auto at) -> Names {
        using Value = std::remove_cvref_t<decltype(S().*at)>;
        if constexpr (std::is_enum_v<Value>) {
          return names_of(Value());
        } else {
          return {};
        }
      },
      member);
}

std::span<const IndexSetting> index_settings() { return kSettings; }

absl::StatusOr<EngineOptions> engine_options_of(const IndexSettings& s, const HashKey& key) {
  EngineOptions out;
  ASSIGN_OR_RETURN(out.rule, make_rule(s.threshold, s.recall, s.num_perm, s.bands, s.rows));
  out.rule.verify = s.verify;
  out.rule.max_listed = s.max_listed;
  out.rule.max_checks = s.max_checks;
  out.rule.expire_after_ms = s.expire_after_ms;
  out.rule.replace = s.on_update == OnUpdate::replace;
  ASSIGN_OR_RETURN(out.rule.relations, relation_rule(s));
  if (out.rule.relations.similar_ppm != 0)
    RETURN_IF_ERROR(report_from(out.rule, s.report_from, s.recall, s.num_perm));
  set_room(out.rule, 0, 0, s.max_documents);
  out.scheme = {.key = key,
                .family = s.sketch,
                .num_perm = s.num_perm,
                .shingle_words = s.shingle_words,
                .min_shingles = s.min_shingles,
                .passage = out.rule.relations.passage,
                .normalisation = s.normaliser,
                .max_record = s.max_record};
  return out;
}

std::string describe_rule(const Rule& rule) {
  std::string out;
  const auto line = [&](std::string_view name, const auto& value) {
    absl::StrAppend(&out, absl_sv(name), "=", value, "\n");
  };
  line("threshold_ppm", rule.threshold_ppm);
  line("bands", rule.banding.bands);
  line("rows", rule.banding.rows);
  line("verify", rule.verify == Verify::exact ? "exact" : "signature");
  line("min_equal", rule.min_equal);
  line("max_listed", rule.max_listed);
  line("max_checks", rule.max_checks);
  line("expire_after_ms", rule.expire_after_ms);
  // Later settings appear only if they are in use, so that older directories keep their description.
  const uint64_t setting = rule.max_memory != 0 ? rule.documents_setting : rule.max_documents;
  if (setting != 0) line("max_documents", setting);
  if (rule.max_memory != 0) {
    line("max_memory", rule.max_memory);
    line("documents_in_memory", rule.documents_in_memory);
  }
  if (rule.replace) line("on_update", "replace");
  const RelationRule& r = rule.relations;
  if (r.any()) {
    std::string names = "near";
    for (const Relation relation : kRelations)
      if (r.knows(relation)) absl::StrAppend(&names, ",", absl_sv(relation_name(relation)));
    line("relations", names);
  }
  if (r.similar_ppm != 0) line("report_from_ppm", r.similar_ppm);
  if (r.on()) {
    line("passage", r.passage);
    line("containment_ppm", r.containment_ppm);
    line("common_after", r.common_after);
    line("max_related", r.max_related);
    line("partial", r.partial_duplicate ? "duplicate" : "report");
  }
  if (rule.expire_after_ms != 0) {
    line("generation", rule.generation);
    line("watermark_rank", rule.watermark_rank);
  }
  return out;
}

std::string text_of(const IndexSetting& setting, const IndexSettings& settings) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = settings.*member;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_enum_v<Value>) {
          return std::string(setting.choices()[static_cast<size_t>(value)]);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          return absl::StrJoin(value, ",");
        } else {
          return absl::StrCat(value);
        }
      },
      setting.member);
}

bool take_text(const IndexSetting& setting, std::string_view text, IndexSettings& out) {
  return std::visit(
      [&](auto member) -> bool {
        auto& value = out.*member;
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_enum_v<Value>) {
          const Names names = setting.choices();
          const auto found = std::find(names.begin(), names.end(), text);
          if (found == names.end()) return false;
          value = static_cast<Value>(found - names.begin());
          return true;
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          value = absl::StrSplit(absl_sv(text), ',', absl::SkipWhitespace());
          return true;
        } else if constexpr (std::is_same_v<Value, double>) {
          return absl::SimpleAtod(absl_sv(text), &value);
        } else {
          return absl::SimpleAtoi(absl_sv(text), &value);
        }
      },
      setting.member);
}

}  // namespace doppel
