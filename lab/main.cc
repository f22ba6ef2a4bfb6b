// doppel-lab: runs the published experiments behind doppel and writes tables, plots and a page. `doppel lab`
// starts it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "commands/commands.h"
#include "files/output_file.h"
#include "files/places.h"
#include "fmt/format.h"
#include "lab/experiments.h"
#include "lab/map_reduce.h"

namespace doppel {
namespace {

using lab::LabOptions;
using lab::Report;

struct LabFlags {
  LabOptions options;
  bool quick = false, full = false;
  std::string csv, svg, html, markdown;
};

absl::Status write_file(const LabFlags& flags, const std::string& path, std::string_view bytes) {
  const NamedPath outputs[] = {{"written", path}};
  const NamedPath inputs[] = {{"--data", flags.options.data}, {"--truth", flags.options.truth}};
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  return write_whole_output(path, bytes);
}

absl::Status write_reports(const LabFlags& flags, const std::vector<Report>& reports) {
  std::string pages =
      "# The published experiments, run here\n\n"
      "`doppel lab` repeats the experiments of five published systems and studies behind doppel, as their "
      "authors described them, on generated documents or on yours (`--data`). Every table shows the authors' "
      "figures beside ours, with the number of runs and the scale: the size of the data as a share of the "
      "study's size. `--markdown` writes this page, and `scripts/wrap-markdown` wraps it.\n\n"
      "* `doppel lab all` takes minutes, `--quick` seconds. `--full` has the studies' sizes and runs. "
      "`--seed` repeats a run.\n"
      "* `--csv DIR`, `--svg DIR` and `--html FILE` write the same results as numbers, pictures and one "
      "page.\n"
      "* `doppel lab map`, `reduce`, `pairs` and `sets` are the parts of the streaming job. "
      "`scripts/lab-hadoop` runs them in a real Hadoop and in a pipe with `sort`.\n\n";
  const std::filesystem::path markdown(flags.markdown);
  const std::string pictures = markdown.stem().string();
  for (const Report& report : reports) {
    for (const lab::Block& block : report.blocks) {
      if (const auto* table = std::get_if<lab::Table>(&block)) {
        if (!flags.csv.empty())
          RETURN_IF_ERROR(write_file(flags, flags.csv + "/" + table->name + ".csv", csv(*table)));
      } else if (const auto* plot = std::get_if<lab::Plot>(&block)) {
        const std::string picture = svg(*plot, report.command);
        if (!flags.csv.empty())
          RETURN_IF_ERROR(write_file(flags, flags.csv + "/" + plot->name + ".csv", csv(*plot)));
        if (!flags.svg.empty())
          RETURN_IF_ERROR(write_file(flags, flags.svg + "/" + plot->name + ".svg", picture));
        if (!flags.markdown.empty()) {
          RETURN_IF_ERROR(write_file(
              flags, (markdown.parent_path() / pictures / (plot->name + ".svg")).string(), picture));
        }
      }
    }
    pages += lab::markdown(report, pictures);
  }
  if (!flags.html.empty()) RETURN_IF_ERROR(write_file(flags, flags.html, lab::html_page(reports)));
  if (!flags.markdown.empty()) RETURN_IF_ERROR(write_file(flags, flags.markdown, pages));
  return absl::OkStatus();
}

// Shows the current step on one line of the terminal; the next step overwrites it.
class ProgressLine {
 public:
  void show(std::string_view text) {
    if (!wanted_) return;
    const std::lock_guard lock(mutex_);
    print_err("\r\033[K{}", text);
  }
  ~ProgressLine() {
    if (wanted_) print_err("\r\033[K");
  }

 private:
  bool wanted_ = isatty(2) != 0;
  std::mutex mutex_;
};

// The user's command line, quoted for a shell, without the flags for outputs, which do not change the
// results.
std::string command_line(int argc, char** argv) {
  std::string line = "doppel";
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view flag = word.substr(0, word.find('='));
    if (flag == "--csv" || flag == "--svg" || flag == "--html" || flag == "--markdown") {
      if (flag == word) ++i;
      continue;
    }
    const bool plain = !word.empty() && word.find_first_of(" '\"$&|<>*?\\") == std::string_view::npos;
    line += plain ? fmt::format(" {}", word) : fmt::format(" '{}'", word);
  }
  return line;
}

// Checks, before hours of work, that no output overwrites the documents or their true pairs or lies among
// them.
absl::Status check_places(const LabFlags& flags) {
  const std::vector<NamedPath> outputs{{"--html", flags.html}, {"--markdown", flags.markdown}};
  const std::vector<NamedPath> inputs{{"--data", flags.options.data}, {"--truth", flags.options.truth}};
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  if (flags.options.data.empty()) return absl::OkStatus();
  for (const auto& [flag, path] : {NamedPath{"--html", flags.html}, NamedPath{"--markdown", flags.markdown},
                                   NamedPath{"--csv", flags.csv}, NamedPath{"--svg", flags.svg}}) {
    if (path.empty() || !lies_in(path, flags.options.data)) continue;
    return invalid(fmt::format("{}: {} is in {}, which is an input (--data); name another place", flag, path,
                               flags.options.data));
  }
  return absl::OkStatus();
}

int run_experiments(LabFlags& flags, const std::vector<const lab::Experiment*>& wanted) {
  if (const absl::Status status = check_places(flags); !status.ok()) return fail("lab", status, kExitUsage);
  if (flags.quick) flags.options.size = lab::Size::quick;
  if (flags.full) flags.options.size = lab::Size::full;
  std::vector<Report> reports;
  {
    ProgressLine progress;
    flags.options.progress = [&progress](std::string_view text) { progress.show(text); };
    for (const lab::Experiment* experiment : wanted) {
      const lab::Stopwatch watch;
      absl::StatusOr<Report> report = experiment->run(flags.options);
      absl::Status status = report.status();
      if (status.ok()) status = check_finite(*report);
      if (!status.ok()) {
        const bool usage = status.code() != absl::StatusCode::kInternal;
        return fail(fmt::format("lab {}", experiment->name), status, usage ? kExitUsage : kExitStopped);
      }
      progress.show("");
      print_out("{}seed {}, {:.1f} s\n\n", lab::terminal_text(*report), flags.options.seed, watch.seconds());
      flush_out();
      reports.push_back(*std::move(report));
    }
  }
  const absl::Status status = write_reports(flags, reports);
  return status.ok() ? kExitDone : fail("lab", status, kExitStopped);
}

void add_flags(CLI::App& app, LabFlags& flags, bool own_data) {
  LabOptions& o = flags.options;
  app.add_option("--seed", o.seed, "of everything that is drawn")->capture_default_str();
  app.add_option("--runs", o.runs,
                 "number of runs with new random data; default: as --quick or --full define")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("--scale", o.scale, "share of the study's number of documents")
      ->check(CLI::Range(0.001, 100.0))
      ->type_name("SHARE");
  auto* quick = app.add_flag("--quick", flags.quick, "small sizes, few runs: seconds");
  app.add_flag("--full", flags.full, "the study's sizes and runs")->excludes(quick);
  app.add_option("--threads", o.threads, "that compute; none of the results depends on it")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_flag("--wide", o.wide, "64-bit arithmetic where the study's wraps at 32 bits");
  if (own_data) {
    app.add_option("--data", o.data,
                   "your own documents instead of generated ones: a folder of text files, or what the "
                   "experiment names")
        ->type_name("PATH");
    app.add_option("--truth", o.truth, "the true pairs of --data, if the experiment needs them")
        ->type_name("FILE");
  }
  auto banding = [&o](const std::string& text) {
    int rows = 0;
    int bands = 0;
    char end = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &rows, &bands, &end) != 2 || rows < 1 || bands < 1 ||
        rows > 1000 || bands > 1000) {
      throw CLI::ValidationError("--banding", text + ": expected ROWSxBANDS, such as 6x18");
    }
    o.bandings.emplace_back(rows, bands);
  };
  app.add_option_function<std::string>("--banding", banding, "an S-curve to draw (theory); may be repeated")
      ->type_name("RxB")
      ->trigger_on_parse();
  app.add_option("--csv", flags.csv, "every table and plot as CSV into this folder")->type_name("DIR");
  app.add_option("--svg", flags.svg, "every plot as SVG into this folder")->type_name("DIR");
  app.add_option("--html", flags.html, "everything as one page")->type_name("FILE");
  app.add_option("--markdown", flags.markdown, "everything as Markdown; the plots go into a folder beside it")
      ->type_name("FILE");
}

// The parts of a streaming job. Each reads stdin and writes stdout.
struct StreamFlags {
  lab::MapReduceOptions options;
  double threshold = .9;
  uint64_t sets = 50'000;
  std::string part;
};

void add_streaming(CLI::App& app, StreamFlags& flags) {
  lab::MapReduceOptions& o = flags.options;
  auto part = [&](const char* name, const char* about) {
    CLI::App* sub = app.add_subcommand(name, about);
    sub->add_option("--max-shingle", o.max_shingle, "the largest shingle; equal in all parts of a job")
        ->check(CLI::Range(1u, 4'000'000'000u))
        ->capture_default_str();
    sub->add_option("--seed", o.seed, "of all functions; equal in all parts of a job")->capture_default_str();
    sub->callback([&flags, name] { flags.part = name; });
    return sub;
  };
  auto banding = [&](CLI::App* sub) {
    sub->add_option("--rows", o.rows, "rows of a band")->check(CLI::Range(1, 1000))->capture_default_str();
    sub->add_option("--bands", o.bands, "bands")->check(CLI::Range(1, 1000))->capture_default_str();
  };
  auto threshold = [&](CLI::App* sub) {
    sub->add_option("-t,--threshold", flags.threshold, "Jaccard similarity of a pair, at least")
        ->check(CLI::Range(0.01, 1.0))
        ->capture_default_str();
  };
  banding(part("map", "streaming mapper: `ID SHINGLE ...` to `BAND BUCKET<TAB>ID SHINGLE ...`"));
  CLI::App* reduce = part("reduce", "streaming reducer: the mappers' lines, sorted, to `ID<TAB>ID`");
  banding(reduce);
  threshold(reduce);
  reduce->add_flag("--every-band", o.every_band,
                   "print a pair at every band that it shares, to see why one is enough");
  threshold(part("pairs", "`ID SHINGLE ...` to all pairs at the threshold, exactly"));
  part("sets", "generate sets with planted pairs between .85 and .97")
      ->add_option("--sets", flags.sets, "how many")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
}

absl::Status run_streaming(const StreamFlags& flags) {
  lab::MapReduceOptions o = flags.options;
  o.threshold_ppm = static_cast<uint32_t>(std::lround(flags.threshold * 1e6));
  std::ios::sync_with_stdio(false);
  StdoutBuffer buffer;
  std::ostream stdout_stream(&buffer);
  if (flags.part == "map") return run_mapper(o, std::cin, stdout_stream);
  if (flags.part == "reduce") {
    ASSIGN_OR_RETURN(const lab::ReduceCounters counters, run_reducer(o, std::cin, stdout_stream));
    print_err("reduce: {} records, {} candidates, {} similar, {} printed\n", counters.records,
              counters.candidates, counters.similar, counters.printed);
    return absl::OkStatus();
  }
  std::string out;
  if (flags.part == "sets") {
    if (o.max_shingle < 1000)
      return invalid("--max-shingle: sets have up to 200 shingles each; give at least 1000");
    for (const lab::ShingleSet& set : lab::make_sets(flags.sets, o.max_shingle, o.seed)) {
      append_set(set, out);
      out += '\n';
    }
  } else {
    ASSIGN_OR_RETURN(const std::vector<lab::ShingleSet> sets, lab::read_sets(std::cin, o.max_shingle));
    for (auto [a, b] : exact_pairs(sets, o.threshold_ppm)) out += fmt::format("{}\t{}\n", a, b);
  }
  write_out(out);
  return absl::OkStatus();
}

int experiments_main(int argc, char** argv) {
  CLI::App app(
      "Runs the published experiments behind doppel as their authors described them, on your documents or "
      "on\n"
      "generated ones, and shows each result beside the authors'.\n\n"
      "Examples:\n"
      "  doppel lab all --quick                        everything, in seconds\n"
      "  doppel lab all --html lab.html                everything, in minutes, as a page\n"
      "  doppel lab accuracy --data my-texts --svg .   one experiment, on your own documents",
      "doppel lab");
  app.require_subcommand(1);
  LabFlags flags;
  flags.options.threads = all_if_zero(0);
  flags.options.command = command_line(argc, argv);
  std::vector<const lab::Experiment*> wanted;
  for (const lab::Experiment& experiment : lab::experiments()) {
    CLI::App* sub = app.add_subcommand(std::string(experiment.name), std::string(experiment.summary));
    sub->description(fmt::format("{}\n\n{}", experiment.summary, experiment.about));
    add_flags(*sub, flags, true);
    sub->callback([&wanted, &experiment] { wanted.push_back(&experiment); });
  }
  CLI::App* all = app.add_subcommand("all", "every experiment, one after the other");
  add_flags(*all, flags, false);
  all->callback([&wanted] {
    for (const lab::Experiment& experiment : lab::experiments()) wanted.push_back(&experiment);
  });
  StreamFlags streaming;
  add_streaming(app, streaming);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (!streaming.part.empty()) {
    const absl::Status status = run_streaming(streaming);
    return status.ok() ? kExitDone : fail("lab " + streaming.part, status, kExitStopped);
  }
  return run_experiments(flags, wanted);
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  static constexpr doppel::Command kLab[] = {
      {"lab", "run the published experiments behind doppel on this machine", doppel::experiments_main}};
  std::string doppel = "doppel", lab = "lab";
  std::vector<char*> words{doppel.data(), lab.data()};
  words.insert(words.end(), argv + 1, argv + argc + 1);  // with the null pointer at their end
  return doppel::run_command(kLab, argc + 1, words.data());
}
