#include "commands/describe.h"

#include <CLI/CLI.hpp>

namespace doppel {
namespace {

FlagDescription describe(const CLI::Option& option) {
  FlagDescription out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.names.empty()) out.positional = option.get_name(true, false);
  if (option.get_items_expected_max() != 0) {
    out.value = option.get_type_name();
    // Types of CLI11 carry their ranges; people read a name.
    out.value = out.value.substr(0, out.value.find_first_of(": "));
    if (out.value.empty() || out.value == "TEXT") out.value = "VALUE";
  }
  out.help = option.get_description();
  return out;
}

}  // namespace

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
