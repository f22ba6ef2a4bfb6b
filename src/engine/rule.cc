#include "engine/rule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "engine/limits.h"

namespace doppel {
namespace {

// The number after "name=" in the description of a rule.
std::optional<uint64_t> described_number(std::string_view described, const std::string& name) {
  size_t at = described.starts_with(name + "=") ? 0 : described.find("\n" + name + "=");
  if (at == std::string_view::npos) return std::nullopt;
  at = described.find('=', at) + 1;
  uint64_t number = 0;
  const char* end = described.data() + described.size();
  if (std::from_chars(described.data() + at, end, number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands, int rows) {
  Rule rule;
  RETURN_IF_ERROR(within_number(limits::kThreshold, threshold));
  RETURN_IF_ERROR(within_number(limits::kRecall, recall));
  RETURN_IF_ERROR(within(limits::kNumPerm, num_perm));
  RETURN_IF_ERROR(within(limits::kBands, bands));
  RETURN_IF_ERROR(within(limits::kRows, rows));
  rule.threshold_ppm = static_cast<uint32_t>(std::llround(threshold * 1e6));
  if (bands != 0 || rows != 0) {
    if (bands == 0 || rows == 0) {
      return invalid("bands: " + std::to_string(bands) + " and rows: " + std::to_string(rows) +
                     "; set both, or neither to have them chosen");
    }
    if (bands * rows > num_perm) {
      return invalid("bands: " + std::to_string(bands) + " of " + std::to_string(rows) + " rows need " +
                     std::to_string(bands * rows) + " slots, num_perm is " + std::to_string(num_perm));
    }
    rule.banding = {.bands = bands, .rows = rows};
  } else {
    ASSIGN_OR_RETURN(rule.banding, choose_banding(threshold, recall, num_perm));
    rule.banding_chosen = true;
  }
  rule.min_equal = min_equal_slices(rule.threshold_ppm, num_perm);
  return rule;
}

absl::Status check_report_from(double from, double threshold) {
  if (std::llround(from * 1e6) < std::llround(threshold * 1e6)) return absl::OkStatus();
  return invalid(absl::StrCat("report_from is ", from, ", not below the threshold ", threshold,
                              ": what reaches the threshold is a duplicate"));
}

absl::Status report_from(Rule& rule, double from, double recall, int num_perm) {
  RETURN_IF_ERROR(within_number(limits::kReportFrom, from));
  RETURN_IF_ERROR(check_report_from(from, rule.threshold_ppm / 1e6));
  const auto ppm = static_cast<uint32_t>(std::llround(from * 1e6));
  if (rule.banding_chosen) {
    ASSIGN_OR_RETURN(rule.banding, choose_banding(from, recall, num_perm));
  }
  rule.min_equal = min_equal_slices(ppm, num_perm);
  rule.relations.similar_ppm = ppm;
  return absl::OkStatus();
}

RelationRule relations_named(std::span<const std::string> names) {
  const auto named = [&](Relation relation) {
    return std::find(names.begin(), names.end(), relation_name(relation)) != names.end();
  };
  return {.contained = named(Relation::contained),
          .contains = named(Relation::contains),
          .shares = named(Relation::shares),
          .similar_ppm = named(Relation::similar) ? kSimilarFrom : 0};
}

bool RelationRule::knows(Relation relation) const {
  switch (relation) {
    case Relation::contained:
      return on() && contained;
    case Relation::contains:
      return on() && contains;
    case Relation::shares:
      return on() && shares;
    case Relation::similar:
      return similar_ppm != 0;
  }
  return false;
}

std::string describe_rule(const Rule& rule) {
  auto line = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + value + "\n";
  };
  std::string out = line("threshold_ppm", std::to_string(rule.threshold_ppm)) +
                    line("bands", std::to_string(rule.banding.bands)) +
                    line("rows", std::to_string(rule.banding.rows)) +
                    line("verify", rule.verify == Verify::exact ? "exact" : "signature") +
                    line("min_equal", std::to_string(rule.min_equal)) +
                    line("max_listed", std::to_string(rule.max_listed)) +
                    line("max_checks", std::to_string(rule.max_checks)) +
                    line("expire_after_ms", std::to_string(rule.expire_after_ms));
  // Later settings appear only if they are in use, so that older directories keep their description.
  const uint64_t setting = rule.max_memory != 0 ? rule.documents_setting : rule.max_documents;
  if (setting != 0) out += line("max_documents", std::to_string(setting));
  if (rule.max_memory != 0) {
    out += line("max_memory", std::to_string(rule.max_memory)) +
           line("documents_in_memory", std::to_string(rule.documents_in_memory));
  }
  if (rule.replace) out += line("on_update", "replace");
  const RelationRule& r = rule.relations;
  if (r.any()) {
    std::string names = "near";
    for (const Relation relation : kRelations)
      if (r.knows(relation)) names += "," + std::string(relation_name(relation));
    out += line("relations", names);
  }
  if (r.similar_ppm != 0) out += line("report_from_ppm", std::to_string(r.similar_ppm));
  if (r.on()) {
    out += line("passage", std::to_string(r.passage)) +
           line("containment_ppm", std::to_string(r.containment_ppm)) +
           line("common_after", std::to_string(r.common_after)) +
           line("max_related", std::to_string(r.max_related)) +
           line("partial", r.partial_duplicate ? "duplicate" : "report");
  }
  if (rule.expire_after_ms != 0) {
    out += line("generation", std::to_string(rule.generation)) +
           line("watermark_rank", std::to_string(rule.watermark_rank));
  }
  return out;
}

void set_room(Rule& rule, uint64_t max_memory, uint64_t documents_in_memory, uint64_t documents_setting) {
  rule.max_memory = max_memory;
  rule.documents_in_memory = max_memory == 0 ? 0 : documents_in_memory;
  rule.documents_setting = documents_setting;
  rule.max_documents = max_memory == 0          ? documents_setting
                       : documents_setting == 0 ? documents_in_memory
                                                : std::min(documents_in_memory, documents_setting);
}

void take_room(Rule& rule, std::string_view described) {
  if (rule.max_memory == 0) return;
  const std::optional<uint64_t> documents = described_number(described, "documents_in_memory");
  if (documents) set_room(rule, rule.max_memory, *documents, rule.documents_setting);
}

bool take_banding(Rule& rule, std::string_view described) {
  if (!rule.banding_chosen) return false;
  const std::optional<uint64_t> bands = described_number(described, "bands");
  const std::optional<uint64_t> rows = described_number(described, "rows");
  if (!bands || !rows) return false;
  const Banding theirs{static_cast<int>(*bands), static_cast<int>(*rows)};
  if (theirs == rule.banding) return false;
  rule.banding = theirs;
  return true;
}

}  // namespace doppel
