// doppel completion: words for the shell, out of the same flags that --help shows; with `man`, the manual
// page.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "commands/describe.h"
#include "fmt/format.h"

namespace doppel {
namespace {

std::vector<std::string> flag_names(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const FlagDescription& flag : command.flags) {
    for (const std::string& name : flag.names) names.push_back(name);
  }
  for (const CommandDescription& sub : command.subcommands) {
    for (const FlagDescription& flag : sub.flags) {
      for (const std::string& name : flag.names) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

std::vector<std::string> command_names(const std::vector<CommandDescription>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandDescription& command : commands) names.push_back(command.name);
  return names;
}

std::string key_words() {
  std::vector<std::string> words;
  for (const KeyInfo& key : config_keys()) words.push_back(key.name + "=");
  return absl::StrJoin(words, " ");
}

// Bash and zsh take the same: zsh runs it through bashcompinit.
std::string bash_words(const std::vector<CommandDescription>& commands) {
  std::string out =
      "# Made by doppel completion; do not edit.\n"
      "_doppel() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before= words=\n"
      "  COMPREPLY=()\n"
      "  [ \"$COMP_CWORD\" -lt 1 ] || before=${COMP_WORDS[COMP_CWORD-1]}\n";
  out += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ] || {{ [ \"$COMP_CWORD\" -eq 2 ] && [ \"$before\" = help ]; }}; then\n"
      "    COMPREPLY=($(compgen -W '{} completion help --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n",
      absl::StrJoin(command_names(commands), " "));
  out += fmt::format(
      "  if [ \"$before\" = --set ]; then\n"
      "    compopt -o nospace 2>/dev/null\n"
      "    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      key_words());
  for (const CommandDescription& command : commands) {
    out += fmt::format("    {}) words='{}'", command.name, absl::StrJoin(flag_names(command), " "));
    if (!command.subcommands.empty()) {
      out += fmt::format("\n      [ \"$COMP_CWORD\" -ne 2 ] || words=\"{} $words\"",
                         absl::StrJoin(command_names(command.subcommands), " "));
    }
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $word == -* || ( $COMP_CWORD -eq 2 && $words != -* ) ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -F _doppel doppel\n";
  return out;
}

std::string fish_quoted(std::string_view text) {
  return "'" + absl::StrReplaceAll(absl_sv(text.substr(0, text.find('\n'))), {{"\\", "\\\\"}, {"'", "\\'"}}) +
         "'";
}

std::string fish_words(const std::vector<CommandDescription>& commands) {
  std::string out = "# Made by doppel completion; do not edit.\n";
  for (const CommandDescription& command : commands) {
    out += fmt::format("complete -c doppel -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
    const std::string in =
        fmt::format("complete -c doppel -n '__fish_seen_subcommand_from {}'", command.name);
    for (const CommandDescription& sub : command.subcommands)
      out += fmt::format("{} -a {} -d {}\n", in, sub.name, fish_quoted(sub.summary));
    for (const FlagDescription& flag : command.flags) {
      if (flag.names.empty()) continue;
      out += in;
      for (const std::string& name : flag.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += fmt::format("{} -d {}\n", flag.value.empty() ? "" : " -r", fish_quoted(flag.help));
    }
  }
  return out;
}

}  // namespace

std::string completion(std::string_view shell, const std::vector<CommandDescription>& commands) {
  if (shell == "fish") return fish_words(commands);
  if (shell == "bash") return bash_words(commands);
  return "#compdef doppel\nautoload -U +X bashcompinit && bashcompinit\n" + bash_words(commands);
}

}  // namespace doppel
