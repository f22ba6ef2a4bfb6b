#include "open/stored_settings.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/status.h"
#include "config/values.h"
#include "fmt/format.h"
#include "state/scheme.h"
#include "state/state_view.h"

namespace doppel {
namespace {

// Names in the data scheme and the rule that are also settings, with the same values.
constexpr std::string_view kSame[] = {
    "threshold",  "shingle_words", "min_shingles", "sketch",       "num_perm",      "max_record", "verify",
    "max_listed", "max_checks",    "bands",        "rows",         "max_documents", "max_memory", "on_update",
    "relations",  "passage_words", "containment",  "common_after", "max_related",   "partial"};

// Settings that an index records only if they are set, with their other values.
constexpr std::pair<std::string_view, std::string_view> kUnset[] = {{"min_shingles", "1"},
                                                                    {"max_documents", "0"},
                                                                    {"max_memory", "0"},
                                                                    {"on_update", "keep"},
                                                                    {"relations", "near"}};

const Setting& setting(const Config& config, std::string_view key) {
  return *std::find_if(config.settings.begin(), config.settings.end(),
                       [&](const Setting& each) { return each.key == key; });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of_index(const std::string& directory) {
  const Identity identity = stored_identity(directory);
  if (identity.rule.empty()) return {};
  const std::string lines = identity.data_scheme + "\n" + identity.rule;
  const std::map<std::string, std::string> stored = scheme_settings(lines);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : kUnset)
    if (!stored.contains(std::string(name))) out.emplace_back(name, value);
  for (const auto& [name, value] : stored) {
    if (name == "expire_after_ms") {
      const int64_t ms = std::stoll(value);
      out.emplace_back("expire_after", ms == 0 ? "never" : write_duration(ms));
    } else if (name == "normaliser") {
      // The version follows the name; the default has no name.
      const std::string kind = value.substr(0, value.find('-'));
      out.emplace_back(name, kind == "loose" || kind == "none" ? kind : "default");
    } else if (std::find(std::begin(kSame), std::end(kSame), name) != std::end(kSame)) {
      out.emplace_back(name, value);
    }
  }
  return out;
}

absl::StatusOr<Config> load_config_of_index(const ConfigInputs& inputs) {
  ASSIGN_OR_RETURN(Config given, load_config(inputs));
  const auto stored = settings_of_index(given.options.state_directory);
  if (stored.empty()) return given;
  ConfigInputs with_stored = inputs;
  with_stored.sets.insert(with_stored.sets.end(), stored.begin(), stored.end());
  ASSIGN_OR_RETURN(Config config, load_config(with_stored));
  std::vector<std::string> differences;
  for (const auto& [key, value] : stored) {
    const Setting& was = setting(config, key);
    const Setting& now = setting(given, key);
    // Bands that are not given follow from threshold and recall.
    if (now.origin == "default" || now.value == was.value) continue;
    if ((key == "bands" || key == "rows") && now.value == "0") continue;
    differences.push_back(fmt::format("{}: the index was made with {}, now {}", key, was.value, now.value));
  }
  RETURN_IF_ERROR(refuse_differences(
      fmt::format("{} holds an index that was made with other settings; leave them out to use its own:",
                  given.options.state_directory),
      differences));
  return config;
}

}  // namespace doppel
