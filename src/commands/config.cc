// doppel config: is this file right, what is in effect and from where, and what can be set at all.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "absl/strings/str_replace.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "serve/setup.h"

namespace doppel {
namespace {

int check(const std::string& file) {
  auto config = load_config({file, {}, {}});
  if (!config.ok()) return fail("config", config.status(), kExitUsage);
  std::vector<std::string> lines;
  const auto& keys = config_keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Setting& setting = config->settings[i];
    if (setting.value == keys[i].default_value) continue;
    lines.push_back(
        fmt::format("  {}: {} (default: {})\n", setting.key, setting.value, keys[i].default_value));
  }
  fmt::print("{} is fine: {}\n", file,
             lines.empty()       ? "all settings are the defaults"
             : lines.size() == 1 ? "1 setting differs from the defaults"
                                 : fmt::format("{} settings differ from the defaults", lines.size()));
  for (const std::string& line : lines) fmt::print("{}", line);
  return kExitDone;
}

// A configuration file again: `doppel config print > doppel.yaml` keeps what is in effect.
int print(const CommonFlags& flags) {
  auto config = load(flags);
  if (!config.ok()) return fail("config", config.status(), kExitUsage);
  size_t key_width = 0;
  size_t value_width = 0;
  for (const Setting& setting : config->settings) {
    key_width = std::max(key_width, setting.key.size() + 1);
    value_width = std::max(value_width, setting.value.size());
  }
  for (const Setting& setting : config->settings) {
    fmt::print("{:<{}}  {:<{}}  # {}\n", setting.key + ":", key_width, setting.value,
               std::min<size_t>(value_width, 40), setting.origin);
  }
  const Options& o = config->options;
  if (o.max_memory == 0) return kExitDone;
  const auto engine = engine_options(o, {});
  if (!engine.ok()) return fail("config", engine.status(), kExitUsage);
  fmt::print("# at most {} originals are kept (max_memory{})\n", engine->rule.max_documents,
             engine->rule.max_documents == o.max_documents ? " has room for more than max_documents" : "");
  return kExitDone;
}

int keys() {
  fmt::print(
      "Every setting. In the YAML file a key a.b is written as b below a; in the environment as DOPPEL_A_B; "
      "on the\n"
      "command line as --set a.b=VALUE. The command line overrides the environment, the environment the "
      "file.\n");
  for (const KeyInfo& key : config_keys()) {
    std::string help = absl::StrReplaceAll(wrapped(key.help, 100), {{"\n", "\n    "}});
    fmt::print("\n{}\n    {}; default: {}\n    {}\n", key.name, key.type, key.default_value, help);
  }
  return kExitDone;
}

}  // namespace

int config_main(int argc, char** argv) {
  CLI::App app("Checks and shows settings.", "doppel config");
  app.require_subcommand(1);
  std::string file;
  CommonFlags flags;
  CLI::App* check_app = app.add_subcommand("check", "is FILE a right configuration, and what does it change");
  check_app->add_option("FILE", file, "the YAML file")->required();
  CLI::App* print_app = app.add_subcommand("print", "every setting in effect, and where it comes from");
  add_common_flags(*print_app, flags);
  app.add_subcommand("keys", "reference of all settings");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (check_app->parsed()) return check(file);
  if (print_app->parsed()) return print(flags);
  return keys();
}

}  // namespace doppel
