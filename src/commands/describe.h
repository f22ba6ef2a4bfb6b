#pragma once
// What a command's CLI::App says of itself, as data: the source of --help is also that of the manual page and
// of shell completion, so the three cannot differ.

#include <span>
#include <string>
#include <vector>

#include "commands/commands.h"

namespace doppel {

// What a shell offers for the value of a flag.
enum class Offer { nothing, choices, files, directories };

struct FlagDescription {
  std::vector<std::string> names;  // "-t", "--threshold"; empty: a positional
  std::string positional;          // "PATH"
  std::string value;               // "FILE"; empty: it takes none
  std::string help;
  Offer offer = Offer::nothing;
  std::vector<std::string> choices;
};

struct CommandDescription {
  std::string name;     // "serve"
  std::string summary;  // one line
  std::string about, footer;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> subcommands;
};

CommandDescription describe(const CLI::App& app);
// The words that a setting may be; empty: it is not one of a few.
std::vector<std::string> choices_of(const KeyInfo& key);

// Every command of the table, in its order (frame.cc).
std::vector<CommandDescription> describe_commands(std::span<const Command> commands);

// The text of a manual page, troff; the words for a shell: bash, zsh or fish.
std::string manual_page(const std::vector<CommandDescription>& commands, std::string_view version,
                        std::string_view about);
std::string completion(std::string_view shell, const std::vector<CommandDescription>& commands);

}  // namespace doppel
