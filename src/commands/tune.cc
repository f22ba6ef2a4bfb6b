// doppel tune: shows what a threshold and a recall mean for bands, memory and work, and measures it on the
// user's own documents.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/say.h"
#include "commands/tune_report.h"
#include "commands/tune_sample.h"
#include "config/values.h"
#include "files/output_file.h"
#include "files/places.h"
#include "insight/plots.h"
#include "open/setup.h"

namespace doppel {
namespace {

struct TuneFlags {
  std::string memory, svg, config_file;
  std::vector<std::string> sample;
  uint64_t sample_documents = 20'000;
  bool json = false, ascii = false;
};

absl::Status tune(const Config& config, const TuneFlags& flags) {
  Options o = config.options;
  if (!flags.sample.empty()) RETURN_IF_ERROR(learn_signed_format(flags.sample, o.input));
  TuneReport report{.recall = o.recall, .banding_given = o.bands != 0 || o.rows != 0};
  const std::vector<NamedPath> outputs{{"--svg", flags.svg}};
  std::vector<NamedPath> inputs{{"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& path : flags.sample) inputs.push_back({"--sample", path});
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  if (!flags.memory.empty()) {
    std::optional<uint64_t> bytes = parse_size(flags.memory);
    if (!bytes || *bytes == 0) {
      return invalid("--memory " + shown(flags.memory) + " is not a size (such as 500MB, 8GiB)");
    }
    report.memory_budget = *bytes;
  }
  ASSIGN_OR_RETURN(HashKey key, hash_key_to_look_with(o));
  ASSIGN_OR_RETURN(report.engine, engine_options(o, key));
  if (!flags.sample.empty()) {
    TuneSampleOptions sample{
        .paths = flags.sample, .documents = flags.sample_documents, .format = o.input, .outputs = outputs};
    ASSIGN_OR_RETURN(report.sample, measure_sample(sample, report.engine));
    ASSIGN_OR_RETURN(report.extract, extract_of_pages(sample));
    if (!report.extract.empty()) {
      report.other_extract = report.extract == "main" ? "visible" : "main";
      sample.format.extract = report.other_extract;
      ASSIGN_OR_RETURN(report.other, measure_sample(sample, report.engine));
    }
  }
  if (!flags.svg.empty()) {
    RETURN_IF_ERROR(write_whole_output(flags.svg, tune_svg(report)));
    if (flags.svg == "-") return absl::OkStatus();
  }
  print_out("{}", flags.json ? tune_json(report) : tune_text(report, utf8_locale() && !flags.ascii));
  return absl::OkStatus();
}

}  // namespace

int tune_main(int argc, char** argv) {
  CLI::App app(
      "Shows the effect of a threshold before you use it: the probability that doppel finds a pair of each\n"
      "similarity, the cost in memory, disk and work, and the effect of other settings. With --sample it "
      "measures the\n"
      "same on your own documents and suggests a threshold for them.\n\n"
      "Examples:\n"
      "  doppel tune --threshold 0.7 --memory 8GiB\n"
      "  doppel tune --sample crawl.jsonl.gz --svg crawl.svg\n"
      "  doppel tune --bands 20 --rows 5 --json | jq .alternatives\n"
      "  doppel tune --relations near,contained,contains --passage-words 60",
      "doppel tune");
  TuneFlags flags;
  CommonFlags common;
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--recall", "recall");
  add_setting_flag(app, common, "--num-perm", "num_perm");
  add_setting_flag(app, common, "--bands", "bands");
  add_setting_flag(app, common, "--rows", "rows");
  add_setting_flag(app, common, "--relations", "relations");
  add_setting_flag(app, common, "--passage-words", "passage_words");
  app.add_option("--memory", flags.memory, "show how many originals fit into this much memory")
      ->type_name("SIZE");
  app.add_option("--svg", flags.svg,
                 "draw the curve (and the sample's similarities) into this file; - is stdout")
      ->type_name("FILE");
  app.add_option("--sample", flags.sample, "measure on these documents: files, directories, or - for stdin")
      ->type_name("PATH");
  app.add_option("--sample-documents", flags.sample_documents, "the first N of them at most")
      ->check(CLI::Range(uint64_t{2}, uint64_t{1'000'000}))
      ->type_name("N")
      ->capture_default_str();
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  app.add_flag("--json", flags.json, "one line of JSON instead of text");
  app.add_flag("--ascii", flags.ascii, "use ASCII only in the plots");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("tune", config.status(), kExitUsage);
  flags.config_file = common.config_file;
  absl::Status status = tune(*config, flags);
  if (status.ok()) return kExitDone;
  const bool usage =
      status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound;
  return fail("tune", status, usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
