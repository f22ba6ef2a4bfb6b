// Writes the manual page in troff: every command with its flags, as --help shows them.
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "commands/describe.h"
#include "fmt/format.h"

namespace doppel {
namespace {

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

}  // namespace doppel
