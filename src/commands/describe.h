#pragma once
// Describes a command's CLI::App as data. The manual page and shell completion come from the same source as
// --help, so the three cannot differ.

#include <span>
#include <string>
#include <vector>

#include "commands/commands.h"

namespace doppel {

// What a shell offers to complete the value of a flag.
enum class Offer { nothing, choices, files, directories };

struct FlagDescription {
  std::vector<std::string> names;  // such as "-t", "--threshold"; empty: a positional argument
  std::string positional;          // such as "PATH"
  std::string value;               // such as "FILE"; empty: the flag takes no value
  std::string help;
  Offer offer = Offer::nothing;
  std::vector<std::string> choices;
};

struct CommandDescription {
  std::string name;     // such as "serve"
  std::string summary;  // one line
  std::string about, footer;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> subcommands;
};

CommandDescription describe(const CLI::App& app);
// The values of a setting that is one of a few words; otherwise empty.
std::vector<std::string> choices_of(const KeyInfo& key);

// Describes every command of the table, in order (frame.cc).
std::vector<CommandDescription> describe_commands(std::span<const Command> commands);

// Return the manual page in troff, and the completion script for a shell: bash, zsh or fish.
std::string manual_page(const std::vector<CommandDescription>& commands, std::string_view version,
                        std::string_view about);
std::string completion(std::string_view shell, const std::vector<CommandDescription>& commands);

}  // namespace doppel
