#include "state/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/cord.h"
#include "base/status.h"
#include "base/strings.h"

namespace doppel {
namespace {

constexpr const char* kDifferences = "doppel/differences";  // marks an error

constexpr std::string_view kReadAgain =
    "; this version reads pages in another way: create the index again from the documents";

using Values = SchemeValues;

// The setting that a line of the scheme came from.
std::string asked(std::string_view name, std::string_view value) {
  if (name == "extract") return fmt::format("; that was input.extract: {}", value);
  return name == "against" ? "; give the directories of the indexes that it was compared with" : "";
}

uint64_t number(std::string_view digits) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

const IndexSetting* setting_named(std::string_view name) {
  for (const IndexSetting& setting : index_settings())
    if (setting.name() == name) return &setting;
  return nullptr;
}

// The setting that this line has in another unit; nullptr: none.
const IndexSetting* in_other_unit(std::string_view line) {
  const size_t unit = std::min(line.rfind('_'), line.size());
  const IndexSetting* const setting = setting_named(line.substr(0, unit));
  if (setting == nullptr) return nullptr;
  switch (setting->limit.unit) {
    case Limit::Unit::millionth:
      return line.substr(unit) == "_ppm" ? setting : nullptr;
    case Limit::Unit::millisecond:
      return line.substr(unit) == "_ms" ? setting : nullptr;
    default:
      return nullptr;
  }
}

// Lines that follow from settings: if one of these differs, they are not worth a word.
constexpr std::pair<std::string_view, std::string_view> kFollows[] = {
    {"min_equal", "threshold"}, {"min_equal", "num_perm"},      {"min_equal", "report_from"},
    {"min_equal", "relations"}, {"generation", "expire_after"}, {"watermark_rank", "expire_after"}};

// The name of a normaliser, which a version follows; the default has only a version.
std::string normaliser_kind(std::string_view stored) {
  const std::string_view kind = stored.substr(0, stored.find('-'));
  return std::string(kind == "loose" || kind == "none" ? kind : "default");
}

// Two values that differ, as people write them.
std::pair<std::string, std::string> shown(const std::string& name, const std::string& a,
                                          const std::string& b) {
  if (name == "normaliser" && normaliser_kind(a) != normaliser_kind(b))
    return {normaliser_kind(a), normaliser_kind(b)};
  if (name != "expire_after") return {a, b};
  const auto duration = [](const std::string& ms) {
    return ms == "0" ? "never" : write_duration(static_cast<int64_t>(number(ms)));
  };
  return {duration(a), duration(b)};
}

bool has_relations(const std::map<std::string, std::string>& settings) {
  return settings.contains("relations") || settings.contains("prints");
}

}  // namespace

SchemeValues scheme_values(std::string_view lines) {
  SchemeValues values;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    values[line.substr(0, equals)] = equals == std::string_view::npos ? "" : line.substr(equals + 1);
  }
  return values;
}

std::map<std::string, std::string> scheme_settings(std::string_view lines) {
  const SchemeValues values = scheme_values(lines);
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : values) {
    if (const IndexSetting* const setting = in_other_unit(name)) {
      out[std::string(setting->name())] = setting->limit.unit == Limit::Unit::millionth
                                              ? fmt::format("{:g}", static_cast<double>(number(value)) / 1e6)
                                              : std::string(value);
    } else if (name != "passage") {
      out[std::string(name)] = value;
    } else if (const auto words = values.find("shingle_words"); words != values.end()) {
      out["passage_words"] = fmt::format("{}", number(value) + number(words->second) - 1);
    }
  }
  return out;
}

std::optional<std::string> StoredSettings::text(const IndexSetting& setting) const {
  if (setting.kept == IndexSetting::Kept::no || values_.empty()) return std::nullopt;
  const auto found = values_.find(std::string(setting.name()));
  if (found != values_.end())
    return setting.name() == "normaliser" ? normaliser_kind(found->second) : found->second;
  return setting.kept == IndexSetting::Kept::if_set ? std::optional(text_of(setting, IndexSettings()))
                                                    : std::nullopt;
}

std::optional<uint64_t> StoredSettings::number(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(doppel::number(found->second));
}

std::vector<std::string> scheme_differences(std::string_view stored, std::string_view now) {
  auto before = scheme_settings(stored);
  auto after = scheme_settings(now);
  if (has_relations(before) != has_relations(after)) {
    for (auto* const side : {&before, &after}) {
      if (has_relations(*side) && !side->contains("relations"))
        (*side)["relations"] = fmt::format("passages of {} words", (*side)["passage_words"]);
      side->erase("prints");
      for (const IndexSetting& setting : index_settings())
        if (setting.group == IndexSetting::Group::relations && setting.kept == IndexSetting::Kept::always)
          side->erase(std::string(setting.name()));
    }
  }
  // A setting that is kept only if it is set has its default on the other side.
  for (const IndexSetting& setting : index_settings()) {
    const std::string name(setting.name());
    if (setting.kept != IndexSetting::Kept::if_set || before.contains(name) == after.contains(name)) continue;
    (before.contains(name) ? after : before)[name] = text_of(setting, IndexSettings());
  }
  for (const auto& [line, cause] : kFollows) {
    const auto was = before.find(std::string(cause)), now_is = after.find(std::string(cause));
    if (was == before.end() || now_is == after.end() || was->second == now_is->second) continue;
    before.erase(std::string(line));
    after.erase(std::string(line));
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : before) {
    const auto other = after.find(name);
    if (other == after.end()) {
      // Checked when the first WARC record arrives, because only such records depend on it.
      if (name == "pages") continue;
      out.push_back(fmt::format("{}: the index was made with {}, now it is not set{}", name, value,
                                asked(name, value)));
    } else if (other->second != value) {
      const auto [was, now_is] = shown(name, value, other->second);
      std::string line = fmt::format("{}: the index was made with {}, now {}", name, was, now_is);
      if (name == "hash_key_fingerprint")
        line += "; its key belongs in hash.key of the state directory, or in hash_key_file";
      line += asked(name, value);
      const bool pages = name == "pages";
      const std::string_view extract = std::string_view(value).substr(0, value.find(' '));
      if (pages && extract != std::string_view(other->second).substr(0, other->second.find(' '))) {
        line += asked("extract", extract);
      } else if (pages || name == "html") {
        line += kReadAgain;
      }
      out.push_back(std::move(line));
    }
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) {
      out.push_back(fmt::format("{}: the index was made without it, now {}", name, value));
    }
  }
  return out;
}

std::optional<std::string> scheme_line(std::string_view stored, std::string_view line) {
  const Values values = scheme_values(stored);
  const auto found = values.find(line.substr(0, line.find('=')));
  if (found == values.end()) return std::nullopt;
  return fmt::format("{}={}\n", found->first, found->second);
}

std::vector<std::string> signed_differences(std::string_view signed_with, std::string_view now) {
  const auto before = scheme_values(signed_with);
  const auto after = scheme_values(now);
  std::vector<std::string> out;
  const auto differs = [&](std::string_view name, std::string_view signed_value, std::string_view value) {
    std::string line =
        fmt::format("{}: the records were signed with {}, this run expects {}", name, signed_value, value);
    if (name == "hash_key_fingerprint") line += " (hash_key_file or DOPPEL_HASH_KEY must be the signer's)";
    if (name == "extract" || name == "html" || name == "charset")
      line += " (input.signed_format and input.extract say how they were read)";
    out.push_back(std::move(line));
  };
  for (const auto& [name, value] : before) {
    const auto other = after.find(name);
    if (other != after.end() ? other->second != value : name != "pages")
      differs(name, value, other == after.end() ? "none" : other->second);
  }
  for (const auto& [name, value] : after)
    if (!before.contains(name) && name != "pages") differs(name, "none", value);
  return out;
}

namespace {

constexpr std::string_view kMemory = "max_memory";
constexpr std::string_view kDocuments = "max_documents";
constexpr std::string_view kInMemory = "documents_in_memory";

std::string_view value_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string_view() : found->second;
}

// By the name of the setting, or of its line.
bool is_accepted(const std::vector<std::string>& accepted, std::string_view name) {
  return std::any_of(accepted.begin(), accepted.end(), [&](std::string_view given) {
    const IndexSetting* const setting = in_other_unit(given);
    return (setting != nullptr ? setting->name() : given) == name;
  });
}

// Whether an earlier version made the directory. It stored only the smaller one of max_documents and the
// number for max_memory.
bool holds_only_the_number(const Values& before, const Values& after) {
  if (before.contains(kMemory) || !after.contains(kMemory) || !before.contains(kDocuments)) return false;
  return !after.contains(kDocuments) ||
         number(value_of(before, kDocuments)) <= number(value_of(after, kDocuments));
}

// The stored documents_in_memory that stays in force; empty: none.
std::string_view kept_room(const Values& before, const Values& after,
                           const std::vector<std::string>& accepted) {
  if (!after.contains(kMemory)) return {};
  if (value_of(before, kMemory) == value_of(after, kMemory)) return value_of(before, kInMemory);
  if (!holds_only_the_number(before, after) || is_accepted(accepted, kMemory)) return {};
  const std::string_view documents = value_of(before, kDocuments);
  // max_documents was the limit, and still is.
  const bool set =
      documents == value_of(after, kDocuments) && number(value_of(after, kInMemory)) >= number(documents);
  return set ? std::string_view() : documents;
}

}  // namespace

std::vector<std::string> rule_differences(std::string_view stored, std::string_view now,
                                          const std::vector<std::string>& accepted) {
  const Values before = scheme_values(stored);
  const Values after = scheme_values(now);
  std::vector<std::string> out = scheme_differences(stored, now);
  std::erase_if(out, [&](const std::string& difference) {
    const std::string_view name = std::string_view(difference).substr(0, difference.find(':'));
    if (name == kInMemory) return true;  // it follows from max_memory
    if ((name == kDocuments || name == kMemory) && holds_only_the_number(before, after)) return true;
    const bool shapes = name == "bands" || name == "rows";
    return !shapes && is_accepted(accepted, name);
  });
  return out;
}

std::string rule_in_force(std::string_view stored, std::string_view now,
                          const std::vector<std::string>& accepted) {
  std::string out(now);
  const std::string_view room = kept_room(scheme_values(stored), scheme_values(now), accepted);
  if (room.empty()) return out;
  const size_t value = out.find(std::string(kInMemory) + "=") + kInMemory.size() + 1;
  return out.replace(value, out.find('\n', value) - value, room);
}

absl::Status refuse_differences(const std::string& what, const std::vector<std::string>& differences) {
  if (differences.empty()) return absl::OkStatus();
  std::string message = what;
  for (const std::string& difference : differences) message.append("\n  ").append(difference);
  absl::Status out = absl::FailedPreconditionError(message);
  out.SetPayload(kDifferences, absl::Cord());
  return out;
}

bool says_differences(const absl::Status& status) { return status.GetPayload(kDifferences).has_value(); }

absl::StatusOr<Scheme> scheme_of_index(Scheme now, std::string_view stored) {
  // Lines that not every scheme has tell how texts were made from records.
  now.text.clear();
  const std::string described = now.describe();
  const SchemeValues known = scheme_values(described);
  for (std::string_view rest = stored; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    if (!known.contains(line.substr(0, line.find('=')))) now.text += line;
    rest.remove_prefix(end);
  }
  RETURN_IF_ERROR(
      refuse_differences("the index cannot be handed on:", scheme_differences(stored, now.describe())));
  return now;
}

}  // namespace doppel
