#pragma once
// The common part of all commands: their table, flags, configuration, errors and exit codes.
//
// A command is one file with one function, int NAME_main(int argc, char** argv), where argv[0] is the
// command's name. It creates a CLI::App, adds its flags, calls parse_flags() and load(), and returns an
// exit code.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/standard_streams.h"
#include "config/config.h"
#include "fmt/format.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace doppel {

int scan_main(int argc, char** argv);
int sign_main(int argc, char** argv);
int serve_main(int argc, char** argv);
int rebuild_main(int argc, char** argv);
int forget_main(int argc, char** argv);
int deadletters_main(int argc, char** argv);
int offsets_main(int argc, char** argv);
int requests_main(int argc, char** argv);
int clusters_main(int argc, char** argv);
int health_main(int argc, char** argv);
int inspect_main(int argc, char** argv);
int revisits_main(int argc, char** argv);
int decontaminate_main(int argc, char** argv);
int report_main(int argc, char** argv);
int tune_main(int argc, char** argv);
int explain_main(int argc, char** argv);
int text_main(int argc, char** argv);
int config_main(int argc, char** argv);
int lab_main(int argc, char** argv);

struct Command {
  std::string_view name;
  std::string_view summary;  // one line for `doppel --help`
  int (*main)(int argc, char** argv);
};

// Runs the program: `doppel COMMAND ...`, `doppel help [COMMAND]`, `--help`, `--version`. `doppel PATH...` is
// the command scan, if there is one. Returns the exit code.
int run_command(std::span<const Command> commands, int argc, char** argv);

struct CommonFlags {
  std::string config_file;                                // --config; empty: load() uses DOPPEL_CONFIG
  std::vector<std::pair<std::string, std::string>> sets;  // --set and flags that set a key, in order
  bool verbose = false;
};

// Adds --config FILE, --set KEY=VALUE and -v. `flags` must outlive the parsing.
void add_common_flags(CLI::App& app, CommonFlags& flags);
// Adds a flag that sets a key, with the key's help: add_setting_flag(app, flags, "-t,--threshold",
// "threshold").
CLI::Option* add_setting_flag(CLI::App& app, CommonFlags& flags, const std::string& names,
                              const std::string& key);

// Adds the flags of commands that read documents on all cores: --threads, --format, --extract, and the fields
// of ids, texts, URLs and dates.
void add_reading_flags(CLI::App& app, CommonFlags& flags);

// Parses the flags. Returns an exit code if the command must end, because help or an error was printed.
std::optional<int> parse_flags(CLI::App& app, int argc, char** argv);

// Loads the configuration from the file, the environment and the flags.
absl::StatusOr<Config> load(const CommonFlags& flags);
ConfigInputs config_inputs(const CommonFlags& flags);  // what load() reads

// Breaks lines at `width`. Adds no line end at the end.
std::string wrapped(std::string_view text, size_t width);

// Prints every line of the error on stderr as "doppel scan: ..." and returns `code`.
int fail(std::string_view command, const absl::Status& error, int code);
int fail(std::string_view command, std::string_view message, int code);

// Exit codes of the commands; scripts may rely on them. If the reader of stdout is gone, a command ends by
// SIGPIPE (141 in a shell), but `serve` ends with 3.
inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed = 1;  // done, but records were rejected or inputs could not be read
inline constexpr int kExitUsage = 2;       // wrong usage or configuration; nothing was done
inline constexpr int kExitStopped = 3;     // stopped by an error, such as a full disk or a damaged state
inline constexpr int kExitBroken =
    kBrokenExitCode;                      // an invariant was broken; nothing was written after that
inline constexpr int kExitReplaced = 75;  // another process has taken over the index; a new start stands by
inline constexpr int kExitInterrupted = 130;  // interrupted; what was written is consistent

// Print to stdout and stderr. Unlike fmt::print(), these do not throw if the reader is gone or the disk is
// full.
template <typename... Values>
void print_out(fmt::format_string<Values...> format, Values&&... values) {
  write_out(fmt::format(format, std::forward<Values>(values)...));
}

template <typename... Values>
void print_err(fmt::format_string<Values...> format, Values&&... values) {
  write_err(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace doppel
