#include "engine/rule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "engine/settings.h"

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
