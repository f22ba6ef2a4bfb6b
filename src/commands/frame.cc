// Finds a command by its name, and implements the flags, messages and help that all commands share.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/memory_limit.h"
#include "base/status.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/describe.h"
#include "doppel/version.h"
#include "files/places.h"
#include "fmt/format.h"

namespace doppel {
namespace {

constexpr std::string_view kAbout =
    "doppel finds near-duplicate documents in a stream. It reads documents in order and decides for each one "
    "whether\n"
    "it repeats an earlier one: letter for letter, or nearly, like pages that differ in a date, a menu or a "
    "few "
    "sentences.\n"
    "The first document of its kind is an original, and doppel keeps it in an index. It reports later ones "
    "as copies.\n";

constexpr std::string_view kExamples =
    "examples:\n"
    "  doppel FOLDER                                 shows originals and their copies (doppel scan FOLDER)\n"
    "  doppel scan pages.jsonl > copies.jsonl        one line per copy: its original and similarity\n"
    "  doppel scan --state seen/ today/*.jsonl.gz    also compare with all earlier runs\n";

constexpr std::string_view kCompletion =
    "completion for a shell (bash, zsh or fish), or this help as a manual page (man)";

// If set, parse_flags() stores the command's description here instead of parsing (describe_commands()).
CommandDescription* described = nullptr;

constexpr size_t kHelpWidth = 80;  // width of the column with a flag's help

void print_help(std::span<const Command> commands) {
  size_t width = std::string_view("completion").size();
  for (const Command& command : commands) width = std::max(width, command.name.size());
  print_out("{}\nusage: doppel COMMAND [flags]\n\ncommands:\n", kAbout);
  for (const Command& command : commands) print_out("  {:<{}}  {}\n", command.name, width, command.summary);
  print_out("  {:<{}}  {}\n", "completion", width, kCompletion);
  print_out("\n{}\n'doppel help COMMAND' shows a command's flags, 'doppel config keys' every setting.\n",
            kExamples);
}

const Command* find_command(std::span<const Command> commands, std::string_view name) {
  auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

// What people try first, because other programs have it.
constexpr struct {
  std::string_view tried, meant;
} kMeant[] = {
    {"dedup", "doppel scan PATH... finds duplicates; --keep FILE writes the documents without them"},
    {"dedupe", "doppel scan PATH... finds duplicates; --keep FILE writes the documents without them"},
    {"deduplicate", "doppel scan PATH... finds duplicates; --keep FILE writes the documents without them"},
    {"find", "doppel scan PATH... finds duplicates"},
    {"diff", "doppel explain FILE FILE shows what differs"},
    {"compare", "doppel explain FILE FILE compares two documents"},
    {"version", "doppel --version prints it"},
    {"-V", "doppel --version prints it"},
    {"-r", "doppel scan FOLDER reads a folder with all below it"},
    {"-R", "doppel scan FOLDER reads a folder with all below it"},
};

int no_such_command(std::span<const Command> commands, std::string_view name) {
  for (const auto& [tried, meant] : kMeant) {
    if (name != tried) continue;
    print_err("doppel: {}: no such command; {}\n", name, meant);
    return kExitUsage;
  }
  if (name.starts_with('-')) {
    print_err("doppel: {}: flags follow a command, such as doppel scan; 'doppel --help' lists them\n", name);
    return kExitUsage;
  }
  if (name.find('/') != std::string_view::npos) {
    print_err("doppel: {}: no such file or folder\n", name);
    return kExitUsage;
  }
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  names.emplace_back("completion");
  print_err("doppel: {}: no such command{}; 'doppel --help' lists them\n", name, did_you_mean(name, names));
  return kExitUsage;
}

// Suggests a flag of the command, or of the subcommand that was used, for an unknown one.
std::string meant_flag(const CLI::App& app) {
  const CLI::App* used = &app;
  while (!used->get_subcommands().empty()) used = used->get_subcommands().back();
  std::vector<std::string> names;
  for (const CLI::Option* option : used->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& argument : app.remaining(true)) {
    if (argument == "-r" || argument == "-R" || argument == "--recursive")
      return "; a folder is read with all below it, so leave " + argument + " out";
    std::string meant = did_you_mean(argument.substr(0, argument.find('=')), names);
    if (!meant.empty()) return meant;
  }
  return {};
}

int help_for(std::span<const Command> commands, std::string_view name) {
  const Command* command = find_command(commands, name);
  if (command == nullptr) return no_such_command(commands, name);
  std::string own(command->name);
  std::string flag = "--help";
  char* argv[] = {own.data(), flag.data(), nullptr};
  return command->main(2, argv);
}

int completion_main(std::span<const Command> commands, int argc, char** argv) {
  const std::string_view what = argc > 2 ? argv[2] : "";
  if (argc == 3 && (what == "--help" || what == "-h")) {
    print_out("doppel completion bash|zsh|fish|man: {}\n\n  source <(doppel completion bash)\n", kCompletion);
    return kExitDone;
  }
  if (argc != 3 || (what != "bash" && what != "zsh" && what != "fish" && what != "man")) {
    print_err("doppel completion: name one of bash, zsh, fish or man\n");
    return kExitUsage;
  }
  const std::vector<CommandDescription> all = describe_commands(commands);
  print_out("{}", what == "man" ? manual_page(all, DOPPEL_VERSION_STRING, kAbout) : completion(what, all));
  return kExitDone;
}

}  // namespace

std::vector<CommandDescription> describe_commands(std::span<const Command> commands) {
  std::vector<CommandDescription> all;
  for (const Command& command : commands) {
    CommandDescription one;
    described = &one;
    std::string name(command.name);
    char* argv[] = {name.data(), nullptr};
    command.main(1, argv);
    described = nullptr;
    one.name = command.name;
    one.summary = command.summary;
    all.push_back(std::move(one));
  }
  return all;
}

namespace {

int run_named(std::span<const Command> commands, std::string_view first, int argc, char** argv) {
  if (first.empty()) {
    print_help(commands);
    return kExitUsage;
  }
  if (first == "--version") {
    print_out("doppel {}\n", DOPPEL_VERSION_STRING);
    return kExitDone;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    if (argc > 2 && argv[2] == std::string_view("completion")) {
      std::string flag = "--help";
      char* its[] = {argv[0], argv[2], flag.data(), nullptr};
      return completion_main(commands, 3, its);
    }
    if (argc > 2) return help_for(commands, argv[2]);
    print_help(commands);
    return kExitDone;
  }
  if (first == "completion") return completion_main(commands, argc, argv);
  if (const Command* command = find_command(commands, first); command != nullptr)
    return command->main(argc - 1, argv + 1);
  std::error_code none;
  const Command* scan = find_command(commands, "scan");
  if (scan != nullptr && (first == "-" || is_url(first) || std::filesystem::exists(first, none)))
    return scan->main(argc, argv);
  return no_such_command(commands, first);
}

}  // namespace

int run_command(std::span<const Command> commands, int argc, char** argv) {
  prepare_standard_streams();
  exit_without_memory(kExitStopped);
  const std::string_view first = argc > 1 ? argv[1] : "";
  const int code = run_named(commands, first, argc, argv);
  flush_out();
  if (stdout_error() == 0) return code;
  // A daemon's supervisor must see that it failed, so this keeps the code. The log has the reason.
  if (first == "serve" && code != kExitDone) return code;
  if (stdout_error() == EPIPE) end_as_closed();
  if (code == kExitStopped) return code;  // the command has printed the reason
  return fail(find_command(commands, first) != nullptr ? first : "",
              fmt::format("stdout: cannot be written: {}", std::strerror(stdout_error())), kExitStopped);
}

void add_common_flags(CLI::App& app, CommonFlags& flags) {
  app.add_option("--config", flags.config_file, "YAML file with settings (or in DOPPEL_CONFIG)")
      ->type_name("FILE");
  auto* set = app.add_option_function<std::string>(
      "--set",
      [&flags](const std::string& text) {
        size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
          throw CLI::ValidationError("--set", text + ": expected KEY=VALUE, such as state.fsync=commit");
        }
        flags.sets.emplace_back(text.substr(0, equals), text.substr(equals + 1));
      },
      "set any key for this run; may be repeated");
  set->type_name("KEY=VALUE")->trigger_on_parse();
  app.add_flag("-v,--verbose", flags.verbose, "log more details");
}

CLI::Option* add_setting_flag(CLI::App& app, CommonFlags& flags, const std::string& names,
                              const std::string& key) {
  const auto& keys = config_keys();
  auto info = std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& k) { return k.name == key; });
  DOPPEL_CHECK(info != keys.end(), "a flag of a command sets a key that there is", std::string_view(key));
  auto set = [&flags, &name = info->name](const std::string& value) { flags.sets.emplace_back(name, value); };
  std::string help = wrapped(fmt::format("{} Default: {}.", info->help, info->default_value), kHelpWidth);
  auto* option = app.add_option_function<std::string>(names, set, help);
  return option->type_name("VALUE")->trigger_on_parse();
}

void add_reading_flags(CLI::App& app, CommonFlags& flags) {
  add_setting_flag(app, flags, "--threads", "threads");
  add_setting_flag(app, flags, "--format", "input.format");
  add_setting_flag(app, flags, "--extract", "input.extract");
  add_setting_flag(app, flags, "--id-field", "input.id");
  add_setting_flag(app, flags, "--text-field", "input.text");
  add_setting_flag(app, flags, "--url-field", "input.url");
  add_setting_flag(app, flags, "--date-field", "input.date");
}

std::string wrapped(std::string_view text, size_t width) {
  std::string out;
  while (text.size() > width) {
    size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = text.find(' ');
    if (end == std::string_view::npos) break;
    out.append(text.substr(0, end)).append("\n");
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

std::optional<int> parse_flags(CLI::App& app, int argc, char** argv) {
  if (described != nullptr) {
    *described = describe(app);
    return kExitDone;
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    print_out("{}", app.help());
    return kExitDone;
  } catch (const CLI::ParseError& e) {
    print_err("{}: {}{}; '{} --help' shows the flags\n", app.get_name(), e.what(), meant_flag(app),
              app.get_name());
    return kExitUsage;
  }
}

ConfigInputs config_inputs(const CommonFlags& flags) {
  ConfigInputs inputs;
  const char* named = std::getenv("DOPPEL_CONFIG");
  inputs.file = !flags.config_file.empty() ? flags.config_file : named != nullptr ? named : "";
  inputs.environment = config_environment();
  inputs.sets = flags.sets;
  return inputs;
}

absl::StatusOr<Config> load(const CommonFlags& flags) { return load_config(config_inputs(flags)); }

int fail(std::string_view command, const absl::Status& error, int code) {
  return fail(command, std_sv(error.message()), code);
}

int fail(std::string_view command, std::string_view message, int code) {
  // The reader of stdout is gone, so the command ends without a message.
  if (stdout_error() == EPIPE && command != "serve") return code;
  while (!message.empty()) {
    size_t end = std::min(message.find('\n'), message.size());
    print_err("doppel{}{}: {}\n", command.empty() ? "" : " ", command, message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return code;
}

// doppel lab: starts doppel-lab, the program with the published experiments, which is installed beside
// doppel.

int lab_main(int argc, char** argv) {
  CLI::App app(
      "Runs the published experiments behind doppel. `doppel lab --help` lists them, `doppel lab NAME "
      "--help` "
      "shows the flags of one.",
      "doppel lab");
  app.set_help_flag();  // doppel-lab takes all flags
  app.allow_extras();
  if (auto code = parse_flags(app, argc, argv)) return *code;
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  ::execv((own.parent_path() / "doppel-lab").c_str(), argv);
  ::execvp("doppel-lab", argv);
  return fail(
      "lab",
      fmt::format("doppel-lab does not start ({}). It has the experiments and belongs beside {}: install "
                  "doppel's package, or build the target doppel_lab_cli",
                  std::strerror(errno), own.string()),
      kExitUsage);
}

}  // namespace doppel
