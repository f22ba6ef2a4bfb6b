// The options of an index by name: one table of names, types and ranges.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"
#include "base/status.h"
#include "embed/options.h"
#include "engine/limits.h"
#include "state/state_dir.h"

namespace doppel {
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

constexpr std::string_view kRelationNames[] = {"near", "contained", "contains", "shares", "similar"};

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
  return option.name == "relations" ? relation_names(given).status() : absl::OkStatus();
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
  for (const absl::string_view each : absl::StrSplit(absl_sv(value), ',', absl::SkipWhitespace()))
    out.emplace_back(absl::StripAsciiWhitespace(each));
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

absl::StatusOr<std::string> relation_names(const std::vector<std::string>& given) {
  const auto has = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  for (const std::string& name : given) {
    if (!has(kRelationNames, name))
      return invalid(
          fmt::format("relations: \"{}\" is not one of near, contained, contains, shares, similar{}", name,
                      did_you_mean(name, {std::begin(kRelationNames), std::end(kRelationNames)})));
  }
  std::string out = "near";
  for (const std::string_view name : kRelationNames)
    if (name != "near" && has(given, name)) out += fmt::format(",{}", name);
  return out;
}

}  // namespace doppel
