#include "commands/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace doppel {
namespace {

// Finds the key that a flag sets: the flag's help begins with the key's (add_setting_flag).
const KeyInfo* key_of(const FlagDescription& flag) {
  const std::string help = absl::StrReplaceAll(flag.help, {{"\n", " "}});
  const auto& keys = config_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& key) { return help.starts_with(key.help); });
  return found == keys.end() ? nullptr : &*found;
}

// `type` is CLI11's, such as "TEXT:{none,visible}", "UINT", "DIR".
void find_offer(FlagDescription& flag, std::string_view type) {
  if (const size_t begin = type.find('{'); begin != std::string_view::npos) {
    const std::string_view inside = type.substr(begin + 1, type.find('}') - begin - 1);
    flag.choices = absl::StrSplit(absl_sv(inside), ',');
  } else if (const KeyInfo* key = key_of(flag); key != nullptr) {
    flag.choices = choices_of(*key);
    if (flag.choices.empty() && key->type == "text") flag.offer = Offer::files;
  } else if (flag.value == "DIR") {
    flag.offer = Offer::directories;
  } else if (flag.value == "FILE" || flag.value == "PATH" || flag.value == "VALUE") {
    flag.offer = Offer::files;
  }
  if (!flag.choices.empty()) flag.offer = Offer::choices;
}

FlagDescription describe(const CLI::Option& option) {
  FlagDescription out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.names.empty()) out.positional = option.get_name(true, false);
  if (option.get_items_expected_max() != 0) {
    out.value = option.get_type_name();
    // CLI11's types contain ranges; help shows only the name.
    out.value = out.value.substr(0, out.value.find_first_of(": "));
    if (out.value.empty() || out.value == "TEXT") out.value = "VALUE";
  }
  out.help = option.get_description();
  if (!out.value.empty()) find_offer(out, option.get_type_name());
  return out;
}

}  // namespace

std::vector<std::string> choices_of(const KeyInfo& key) {
  constexpr std::string_view kOneOf = "one of ";
  if (key.type == "true or false") return {"true", "false"};
  if (!key.type.starts_with(kOneOf)) return {};
  return absl::StrSplit(key.type.substr(kOneOf.size()), ", ");
}

CommandDescription describe(const CLI::App& app) {
  CommandDescription out;
  out.name = app.get_name();
  out.name = out.name.substr(out.name.rfind(' ') + 1);
  out.about = app.get_description();
  out.summary = out.about.substr(0, out.about.find('\n'));
  out.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) out.flags.push_back(describe(*option));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out.subcommands.push_back(describe(*sub));
  return out;
}

}  // namespace doppel
