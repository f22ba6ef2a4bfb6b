#include "commands/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "fmt/format.h"

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

namespace {

// Writes the manual page in troff: every command with its flags, as --help shows them.

// Escapes backslashes and hyphens, so that troff prints them unchanged.
std::string escaped(std::string_view text) {
  return absl::StrReplaceAll(absl_sv(text), {{"\\", "\\e"}, {"-", "\\-"}});
}

// Escapes whole lines, so that none looks like a macro.
std::string lines(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with('.') || line.starts_with('\'')) out += "\\&";
    out.append(escaped(line)).append("\n");
    begin = end + 1;
  }
  return out;
}

// Keeps the line ends, because these texts contain examples and tables.
std::string as_it_stands(std::string_view text) { return ".PP\n.nf\n" + lines(text) + ".fi\n"; }

std::string flag(const FlagDescription& flag) {
  std::vector<std::string> names;
  names.reserve(flag.names.size());
  for (const std::string& name : flag.names) names.push_back("\\fB" + escaped(name) + "\\fR");
  std::string head = names.empty() ? "\\fI" + escaped(flag.positional) + "\\fR" : absl::StrJoin(names, ", ");
  if (!names.empty() && !flag.value.empty()) head += " \\fI" + escaped(flag.value) + "\\fR";
  return ".TP\n" + head + "\n" + lines(flag.help);
}

void section(const CommandDescription& command, const std::string& path, std::string& out) {
  out += fmt::format(".SS {}\n{}", escaped(path), lines(command.summary + "."));
  if (command.about != command.summary) out += as_it_stands(command.about);
  for (const FlagDescription& f : command.flags) {
    if (f.names.empty() || f.names.back() != "--help") out += flag(f);
  }
  if (!command.footer.empty()) out += as_it_stands(command.footer);
  for (const CommandDescription& sub : command.subcommands) section(sub, path + " " + sub.name, out);
}

}  // namespace

std::string manual_page(const std::vector<CommandDescription>& commands, std::string_view version,
                        std::string_view about) {
  std::string out = fmt::format(
      ".\\\" Made out of the commands' own help; do not edit.\n"
      ".TH DOPPEL 1 \"\" \"doppel {}\" \"User Commands\"\n"
      ".SH NAME\ndoppel \\- near\\-duplicate detection in a stream of documents\n"
      ".SH SYNOPSIS\n.B doppel\n.I COMMAND\n[\\fIflags\\fR]\n"
      ".SH DESCRIPTION\n{}"
      ".SH COMMANDS\n",
      version, lines(about));
  for (const CommandDescription& command : commands) section(command, "doppel " + command.name, out);
  out +=
      ".SH SETTINGS\n"
      "In the YAML file a key a.b is written as b below a; in the environment as DOPPEL_A_B; on the command\n"
      "line as \\fB\\-\\-set\\fR a.b=VALUE. The command line overrides the environment, the environment the "
      "file.\n";
  for (const KeyInfo& key : config_keys()) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}", escaped(key.name),
                       lines(fmt::format("{} ({}; default: {})", key.help, key.type, key.default_value)));
  }
  return out;
}

namespace {

// doppel completion: the completion scripts for shells, made from the flags that --help shows.

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

// The branches of a `case` statement that set the values of each key.
std::string bash_key_cases() {
  std::string out;
  for (const KeyInfo& key : config_keys()) {
    const std::vector<std::string> choices = choices_of(key);
    if (!choices.empty())
      out += fmt::format("      {}) values='{}' ;;\n", key.name, absl::StrJoin(choices, " "));
  }
  return out;
}

void bash_flag_cases(std::string& out, const std::string& command, const CommandDescription& described) {
  for (const FlagDescription& flag : described.flags) {
    if (flag.names.empty() || flag.value.empty()) continue;
    std::vector<std::string> patterns;
    patterns.reserve(flag.names.size());
    for (const std::string& name : flag.names) patterns.push_back(fmt::format("'{} {}'", command, name));
    const std::string pattern = absl::StrJoin(patterns, "|");
    if (flag.offer == Offer::choices) {
      out += fmt::format("    {}) offer=words values='{}' ;;\n", pattern, absl::StrJoin(flag.choices, " "));
    } else if (flag.offer == Offer::directories) {
      out += fmt::format("    {}) offer=directories ;;\n", pattern);
    } else if (flag.offer == Offer::nothing) {
      out += fmt::format("    {}) offer=nothing ;;\n", pattern);
    }
  }
  for (const CommandDescription& sub : described.subcommands) bash_flag_cases(out, command, sub);
}

// The script for bash. Zsh runs the same script through bashcompinit.
std::string bash_words(const std::vector<CommandDescription>& commands) {
  std::string out =
      "# Made by doppel completion; do not edit.\n"
      "_doppel() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before= words= values= offer= key= prefix= at=$COMP_CWORD\n"
      "  COMPREPLY=()\n"
      "  [ \"$COMP_CWORD\" -lt 1 ] || before=${COMP_WORDS[COMP_CWORD-1]}\n"
      // Bash splits KEY=VALUE into three words, zsh does not.
      "  if [ \"$word\" = = ]; then\n"
      "    word=\n"
      "    at=$((at + 1))\n"
      "    before='='\n"
      "  fi\n"
      "  if [ \"$before\" = = ] && [ \"$at\" -gt 3 ]; then\n"
      "    before=${COMP_WORDS[at-2]}\n"
      "    case ${COMP_WORDS[at-3]} in\n"
      "      --set) key=$before ;;\n"
      "      =) [ \"${COMP_WORDS[at-4]}\" != --set ] || key=$before ;;\n"
      "    esac\n"
      "  elif [ \"$before\" = --set ] && [[ $word == *=* ]]; then\n"
      "    key=${word%%=*}\n"
      "    prefix=$key=\n"
      "    word=${word#*=}\n"
      "  fi\n";
  out += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ] || {{ [ \"$COMP_CWORD\" -eq 2 ] && [ \"$before\" = help ]; }}; then\n"
      "    COMPREPLY=($(compgen -W '{} completion help --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n",
      absl::StrJoin(command_names(commands), " "));
  out += "  if [ -n \"$key\" ]; then\n    case $key in\n" + bash_key_cases() +
         "    esac\n"
         "    if [ -n \"$values\" ]; then\n"
         "      COMPREPLY=($(compgen -P \"$prefix\" -W \"$values\" -- \"$word\"))\n"
         "    else\n"
         "      compopt -o filenames 2>/dev/null\n"
         "      COMPREPLY=($(compgen -P \"$prefix\" -f -- \"$word\"))\n"
         "    fi\n"
         "    return\n"
         "  fi\n";
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
      "    completion) words='bash zsh fish man' ;;\n"
      "  esac\n"
      "  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CommandDescription& command : commands) bash_flag_cases(out, command.name, command);
  out +=
      "  esac\n"
      "  if [ \"$offer\" = words ]; then\n"
      "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
      "  elif [ \"$offer\" = directories ]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY=($(compgen -d -- \"$word\"))\n"
      "  elif [ \"$offer\" = nothing ]; then\n"
      "    :\n"
      "  elif [[ $word == -* || ( $COMP_CWORD -eq 2 && $words != -* ) ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -F _doppel doppel\n";
  return out;
}

// Such as "verify=exact verify=signature bands=".
std::string setting_words() {
  std::vector<std::string> words;
  for (const KeyInfo& key : config_keys()) {
    const std::vector<std::string> choices = choices_of(key);
    for (const std::string& choice : choices) words.push_back(key.name + "=" + choice);
    if (choices.empty()) words.push_back(key.name + "=");
  }
  return absl::StrJoin(words, " ");
}

std::string fish_quoted(std::string_view text) {
  return "'" + absl::StrReplaceAll(absl_sv(text.substr(0, text.find('\n'))), {{"\\", "\\\\"}, {"'", "\\'"}}) +
         "'";
}

std::string fish_value(const FlagDescription& flag) {
  if (flag.value.empty()) return "";
  if (flag.value == "KEY=VALUE") return fmt::format(" -x -a '{}'", setting_words());
  if (flag.offer == Offer::choices) return fmt::format(" -x -a '{}'", absl::StrJoin(flag.choices, " "));
  if (flag.offer == Offer::directories) return " -x -a '(__fish_complete_directories)'";
  return flag.offer == Offer::files ? " -r -F" : " -x";
}

void fish_flags(std::string& out, const std::string& in, const CommandDescription& command) {
  for (const FlagDescription& flag : command.flags) {
    if (flag.names.empty()) continue;
    out += in;
    for (const std::string& name : flag.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    out += fmt::format("{} -d {}\n", fish_value(flag), fish_quoted(flag.help));
  }
  for (const CommandDescription& sub : command.subcommands) {
    fish_flags(out, fmt::format("complete -c doppel -n '__fish_seen_subcommand_from {}'", sub.name), sub);
  }
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
    fish_flags(out, in, command);
  }
  out +=
      "complete -c doppel -n __fish_use_subcommand -f -a completion -d 'words for the shell'\n"
      "complete -c doppel -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish man'\n";
  return out;
}

}  // namespace

std::string completion(std::string_view shell, const std::vector<CommandDescription>& commands) {
  if (shell == "fish") return fish_words(commands);
  if (shell == "bash") return bash_words(commands);
  return "#compdef doppel\nautoload -U +X bashcompinit && bashcompinit\n" + bash_words(commands);
}

}  // namespace doppel
