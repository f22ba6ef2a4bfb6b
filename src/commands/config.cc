// doppel config: checks a configuration, shows the effective values with their sources, and describes all
// settings.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "base/status.h"
#include "commands/commands.h"
#include "fetch/fetch_source.h"
#include "fmt/format.h"
#include "kafka/topics/plan.h"
#include "open/setup.h"

namespace doppel {
namespace {

// An empty configuration is valid, but nobody wants to check one, so `check` requires a file or a setting.
bool names_nothing(const CommonFlags& flags) {
  return flags.config_file.empty() && std::getenv("DOPPEL_CONFIG") == nullptr && flags.sets.empty() &&
         config_environment().empty();
}

// Asks the schema registry, if records need one.
absl::Status check_registry(const Options& o) {
  if (!needs_registry(o.input)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string says, make_http_registry(registry_options(o), nullptr)->reach());
  print_out("schema registry {}\n", says);
  return absl::OkStatus();
}

int check(const CommonFlags& flags, bool connect) {
  if (names_nothing(flags)) return fail("config", "check: name a FILE", kExitUsage);
  auto config = load(flags);
  if (!config.ok()) return fail("config", config.status(), kExitUsage);
  const Options& o = config->options;
  if (!o.kafka.brokers.empty()) {
    const absl::Status client = check_kafka_client(o), topics = check_kafka_topics(o);
    if (!client.ok()) fail("config", client, kExitUsage);
    if (!topics.ok()) fail("config", topics, kExitUsage);
    if (!client.ok() || !topics.ok()) return kExitUsage;
  } else if (connect) {
    return fail("config", "kafka.brokers is empty: there is nothing to connect to", kExitUsage);
  }
  const char* in_environment = std::getenv("DOPPEL_CONFIG");
  const std::string file = !flags.config_file.empty()  ? flags.config_file
                           : in_environment != nullptr ? in_environment
                                                       : "the configuration";
  std::vector<std::string> lines;
  const auto& keys = config_keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Setting& setting = config->settings[i];
    if (setting.value == keys[i].default_value) continue;
    lines.push_back(
        fmt::format("  {}: {} (default: {})\n", setting.key, setting.value, keys[i].default_value));
  }
  print_out("{} is fine: {}\n", file,
            lines.empty()       ? "all settings are the defaults"
            : lines.size() == 1 ? "1 setting differs from the defaults"
                                : fmt::format("{} settings differ from the defaults", lines.size()));
  for (const std::string& line : lines) print_out("{}", line);
  if (!connect) return kExitDone;
  log::configure(log::Form::text, flags.verbose ? log::Level::info : log::Level::error);
  const KafkaReport report = check_kafka(o);
  print_out("{}", report.text);
  const absl::Status registry = check_registry(o);
  if (!registry.ok()) fail("config", registry, kExitUsage);
  if (!report.status.ok())
    return fail("config", report.status, absl::IsInvalidArgument(report.status) ? kExitUsage : kExitStopped);
  if (registry.ok()) return kExitDone;
  return absl::IsUnavailable(registry) ? kExitStopped : kExitUsage;
}

// Prints a configuration file: `doppel config print > doppel.yaml` saves the effective settings.
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
    print_out("{:<{}}  {:<{}}  # {}\n", setting.key + ":", key_width, setting.value,
              std::min<size_t>(value_width, 40), setting.origin);
  }
  const Options& o = config->options;
  if (o.max_memory == 0) return kExitDone;
  const auto engine = engine_options(o, {});
  if (!engine.ok()) return fail("config", engine.status(), kExitUsage);
  print_out("# at most {} originals are kept (max_memory{})\n", engine->rule.max_documents,
            engine->rule.max_documents == o.max_documents ? " has room for more than max_documents" : "");
  return kExitDone;
}

int keys() {
  print_out(
      "Every setting. In the YAML file a key a.b is written as b below a; in the environment as DOPPEL_A_B; "
      "on the\n"
      "command line as --set a.b=VALUE. The command line overrides the environment, the environment the "
      "file.\n");
  for (const KeyInfo& key : config_keys()) {
    std::string help = absl::StrReplaceAll(wrapped(key.help, 100), {{"\n", "\n    "}});
    print_out("\n{}\n    {}; default: {}\n    {}\n", key.name, key.type, key.default_value, help);
  }
  return kExitDone;
}

}  // namespace

int config_main(int argc, char** argv) {
  CLI::App app("Checks and shows settings.", "doppel config");
  app.require_subcommand(1);
  CommonFlags check_flags, flags;
  bool connect = false;
  CLI::App* check_app =
      app.add_subcommand("check", "check FILE (with the environment and --set), and show what it changes");
  check_app->add_option("FILE", check_flags.config_file, "the YAML file");
  check_app->add_flag(
      "--connect", connect,
      "also check Kafka: the connection (TLS, SASL), and all topics with their rights and settings; and the "
      "schema registry, if one is needed");
  check_app->footer(
      "The command creates nothing and takes over nothing. Exit codes: 0 everything is right; 2 something "
      "must be\n"
      "changed; 3 no broker or schema registry answered.");
  add_common_flags(*check_app, check_flags);
  CLI::App* print_app = app.add_subcommand("print", "show every setting with its value and source");
  add_common_flags(*print_app, flags);
  app.add_subcommand("keys", "describe all settings");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (check_app->parsed()) return check(check_flags, connect);
  if (print_app->parsed()) return print(flags);
  return keys();
}

}  // namespace doppel
