// doppel explain: shows why two documents are duplicates of each other or not, and how they differ.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/explain_input.h"
#include "commands/explain_report.h"
#include "commands/say.h"
#include "files/output_file.h"
#include "files/places.h"
#include "insight/explanation.h"
#include "insight/plots.h"
#include "open/setup.h"

namespace doppel {
namespace {

struct ExplainFlags {
  std::vector<std::string> names;
  std::string in, html, config_file;
  size_t context = 12;
  bool json = false, ascii = false;
};

absl::Status explain_pair(const Config& config, const ExplainFlags& flags) {
  const Options& o = config.options;
  const std::vector<NamedPath> outputs{{"--html", flags.html}};
  std::vector<NamedPath> inputs{
      {"--in", flags.in}, {"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& name : flags.names) {
    if (flags.in.empty()) inputs.push_back({"document", name});
  }
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  ASSIGN_OR_RETURN(HashKey key, hash_key_to_look_with(o));
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(o, key));
  absl::StatusOr<ExplainPair> pair =
      flags.in.empty() ? two_files(flags.names[0], flags.names[1], o.input)
                       : two_ids(flags.in, flags.names[0], flags.names[1], o.input, outputs);
  if (!pair.ok()) return pair.status();
  const auto& [a, b] = *pair;
  const Explanation e = explain(engine, {a.name, a.text, a.scope}, {b.name, b.text, b.scope});
  const TextDiff diff = diff_texts(a.text, b.text, engine.scheme.normalisation);
  if (!flags.html.empty()) {
    RETURN_IF_ERROR(write_whole_output(flags.html, explain_page(e, diff)));
    if (flags.html == "-") return absl::OkStatus();
  }
  const ExplainStyle style{.colour = colour_wanted(STDOUT_FILENO),
                           .utf8 = utf8_locale() && !flags.ascii,
                           .context = flags.context};
  print_out("{}", flags.json ? explain_json(e, diff) : explain_text(e, diff, style));
  return absl::OkStatus();
}

}  // namespace

int explain_main(int argc, char** argv) {
  CLI::App app(
      "Shows why two documents are duplicates of each other or not: how similar they are, whether doppel "
      "would\n"
      "find the pair, what it would decide, and which passages differ.\n\n"
      "Examples:\n"
      "  doppel explain draft.txt final.txt\n"
      "  doppel explain --in crawl.jsonl page-17 page-4711 --html why.html\n"
      "  doppel explain --threshold 0.7 a.txt b.txt --json | jq .finding",
      "doppel explain");
  ExplainFlags flags;
  CommonFlags common;
  app.add_option("DOCUMENT", flags.names,
                 "two files, or with --in two ids or URLs; the first one counts as the earlier")
      ->expected(2)
      ->required();
  app.add_option("--in", flags.in, "the file that holds both, one JSON document per line")->type_name("FILE");
  app.add_option("--html", flags.html, "write a page with both texts side by side; - is stdout")
      ->type_name("FILE");
  app.add_option("--context", flags.context, "number of equal words to show beside a change")
      ->capture_default_str();
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  app.add_flag("--json", flags.json, "one line of JSON instead of text");
  app.add_flag("--ascii", flags.ascii, "use ASCII only, except for the documents' own text");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 explained, whatever the verdict; 2 wrong usage, or a document that does not exist; 3 "
      "stopped\n"
      "by an error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("explain", config.status(), kExitUsage);
  flags.config_file = common.config_file;
  absl::Status status = explain_pair(*config, flags);
  if (status.ok()) return kExitDone;
  const bool usage =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound;
  return fail("explain", status, usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
