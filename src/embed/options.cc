#include "embed/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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
#include "engine/settings.h"
#include "state/scheme.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

using Options = Index::Options;
using Strings = std::vector<std::string>;

// The given value of a setting as text_of() has it, or nothing.
absl::StatusOr<std::optional<std::string>> given_text(const IndexSetting& setting, const Options& given) {
  using Text = absl::StatusOr<std::optional<std::string>>;
  if (!setting.option) return std::nullopt;
  return std::visit(
      [&](auto member) -> Text {
        const auto& option = given.*member;
        using Value = std::remove_cvref_t<decltype(option)>;
        if constexpr (std::is_same_v<Value, std::optional<bool>>) {
          if (option) return std::string(setting.choices()[*option ? 1 : 0]);
        } else if constexpr (std::is_same_v<Value, std::optional<Strings>>) {
          if (option) return chosen_relations(*option);
        } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
          if (option) return fmt::format("{:g}", std::round(*option * 1e6) / 1e6);  // as an index stores it
        } else if constexpr (std::is_same_v<Value, std::optional<int>> ||
                             std::is_same_v<Value, std::optional<int64_t>>) {
          if (option) return fmt::format("{}", *option);
        }
        return std::nullopt;
      },
      *setting.option);
}

std::string option_name(const IndexSetting& setting) {
  if (setting.limit.unit == Limit::Unit::millisecond) return std::string(setting.name()) + "_ms";
  return std::string(setting.name_of_bool.empty() ? setting.name() : setting.name_of_bool);
}

// The value of an option, given the text of its setting.
std::string_view shown(const IndexSetting& setting, std::string_view text) {
  if (!std::holds_alternative<std::optional<bool> Options::*>(*setting.option)) return text;
  return text == setting.choices()[1] ? "true" : "false";
}

// Chooses each value: the index's, the given one, or the default. FailedPrecondition names those where the
// first two differ.
absl::StatusOr<IndexSettings> choose_settings(const Options& given, const StoredSettings& stored) {
  IndexSettings out;
  std::vector<std::string> differences;
  for (const IndexSetting& setting : index_settings()) {
    const std::optional<std::string> was = stored.text(setting);
    ASSIGN_OR_RETURN(const std::optional<std::string> now, given_text(setting, given));
    if (was && now && *was != *now)
      differences.push_back(fmt::format("{}: the index was made with {}, now {}", option_name(setting),
                                        shown(setting, *was), shown(setting, *now)));
    if (was || now) take_text(setting, was ? *was : *now, out);
  }
  RETURN_IF_ERROR(refuse_differences("the index was made with other options; leave them out to use its own:",
                                     differences));
  return out;
}

}  // namespace

absl::StatusOr<EngineOptions> embed_options(const Index::Options& given, std::string_view stored_lines,
                                            const HashKey& key) {
  RETURN_IF_ERROR(check_options(given));
  const StoredSettings stored(stored_lines);
  ASSIGN_OR_RETURN(const IndexSettings settings, choose_settings(given, stored));
  if (settings.verify != Verify::exact && relations_named(settings.relations).needs_prints())
    return invalid("relations need the sets that verify_by_signature leaves out");
  ASSIGN_OR_RETURN(EngineOptions out, engine_options_of(settings, key));
  out.rule.min_equal = static_cast<int>(stored.number("min_equal").value_or(out.rule.min_equal));
  set_room(out.rule, settings.max_memory, stored.number("documents_in_memory").value_or(0),
           settings.max_documents);
  RETURN_IF_ERROR(within_tables(out.rule.banding.bands, given.shards));
  out.shards = given.shards;
  out.track_ids = true;
  return out;
}

// The options of an index by name: those of the table of settings, and those that no index keeps.

namespace {

struct NamedOption {
  std::string name;
  IndexOption member;
  const Limit* range = nullptr;
};

const NamedOption kOthers[] = {
    {"hash_key", &Options::hash_key},
    {"shards", &Options::shards, &limits::kShards},
    {"against", &Options::against},
    {"memory", &Options::memory, &limits::kMemory},
    {"threads", &Options::threads, &limits::kThreads},
    {"create_if_missing", &Options::create_if_missing},
};

const std::vector<NamedOption>& named_options() {
  static const std::vector<NamedOption> all = [] {
    std::vector<NamedOption> out;
    for (const IndexSetting& setting : index_settings())
      if (setting.option) out.push_back({option_name(setting), *setting.option, &setting.limit});
    out.insert(out.end(), std::begin(kOthers), std::end(kOthers));
    return out;
  }();
  return all;
}

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
  for (const NamedOption& option : named_options()) {
    if (option.name == name)
      return std::visit([&](auto member) { return assign(option, value, this->*member); }, option.member);
  }
  std::vector<std::string> names;
  for (const NamedOption& option : named_options()) names.emplace_back(option.name);
  return invalid(fmt::format("{}: an index has no such option{}", name, did_you_mean(name, names)));
}

absl::Status check_options(const Index::Options& given) {
  for (const NamedOption& option : named_options())
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
