// doppel decontaminate: finds the documents of a corpus that contain items of an evaluation.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_split.h"
#include "base/standard_streams.h"
#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "commands/scan_summary.h"
#include "evals/decontaminate.h"
#include "fetch/fetch_source.h"
#include "files/output_file.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "insight/show.h"
#include "open/setup.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;

struct Flags {
  std::vector<std::string> paths, evals;
  std::string question_field, answer_field, output = "-", keep, keep_directory, config_file;
  double changed = .34;
  bool quiet = false;
};

// The line on the terminal, and messages above it.
class Screen {
 public:
  explicit Screen(bool quiet) : quiet_(quiet), shows_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~Screen() { clear(); }
  void clear() {
    if (on_screen_) print_err("\r\x1b[K");
    on_screen_ = false;
  }
  void say(const std::string& message) {
    if (quiet_ || count_++ >= kMessagesShown) return;
    clear();
    print_err("doppel decontaminate: {}\n", message);
    if (count_ == kMessagesShown)
      print_err("doppel decontaminate: further messages of this kind are only counted\n");
  }
  void update(const DecontaminateCounters& c, const Source& source) {
    const auto now = std::chrono::steady_clock::now();
    if (!shows_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const double s = seconds();
    std::string line = fmt::format("{} documents  {}/s  {:.0f} MB/s  {} with items", with_commas(c.documents),
                                   with_commas(static_cast<uint64_t>(static_cast<double>(c.documents) / s)),
                                   static_cast<double>(c.bytes) / 1e6 / s, with_commas(c.contaminated));
    const uint64_t total = source.bytes_total(), read = source.bytes_read();
    if (total != 0 && read != 0) {
      const double part = std::min(1.0, static_cast<double>(read) / static_cast<double>(total));
      line += fmt::format("  {:.0f} %  {} left", 100 * part, human_seconds(s / part - s));
    }
    print_err("\r{}\x1b[K", line);
    on_screen_ = true;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  bool quiet_, shows_, on_screen_ = false;
  uint64_t count_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

absl::Status check_places(const Options& o, const Flags& flags) {
  if (is_signed(o.input)) return invalid("signed records hold no texts in which items could be found");
  if (flags.output.ends_with(".parquet"))
    return invalid(fmt::format("--output: {}: the report is JSON lines; name it .jsonl", flags.output));
  std::vector<NamedPath> inputs{{"--config", flags.config_file}};
  for (const std::string& path : flags.evals) inputs.push_back({"--evals", path});
  for (const std::string& path : flags.paths) inputs.push_back({"input", path});
  for (const std::string& path : flags.paths) {
    if (path != "-" && !flags.keep_directory.empty() && lies_in(path, flags.keep_directory)) {
      return invalid(fmt::format("{} lies in {} (--keep), where doppel writes; name another directory", path,
                                 flags.keep_directory));
    }
  }
  return check_outputs(std::vector<NamedPath>{{"--output", flags.output}, {"--keep", flags.keep}}, inputs);
}

void print_not_looked_for(const Items& items, const std::vector<uint32_t>& which, std::string_view why) {
  if (which.empty()) return;
  const Item& first = items.items[which.front()];
  const std::string question = one_line(first.question, 100);
  const bool blank = question.find_first_not_of(" \t") == std::string::npos;
  print_err("not looked for: {}{}; the first: {}\n", counted(which.size(), "item"), why,
            blank ? fmt::format("{} of {}, whose question is empty", one_line(first.id, 100),
                                one_line(first.file, 1000))
                  : question);
}

void print_summary(const DecontaminateCounters& c, const Items& items, double seconds) {
  print_err("{}, {} in {} ({}/s, {:.1f} MB/s)\n", counted(c.documents, "document"), human_bytes(c.bytes),
            human_seconds(seconds),
            with_commas(static_cast<uint64_t>(static_cast<double>(c.documents) / std::max(seconds, 1e-9))),
            static_cast<double>(c.bytes) / 1e6 / std::max(seconds, 1e-9));
  print_err("  {} have items in them: {} of {} items, {} times, {} of these word for word\n",
            with_commas(c.contaminated), with_commas(c.items_found()), with_commas(items.items.size()),
            with_commas(c.findings), with_commas(c.word_for_word));
  if (items.rejected != 0) print_err("  {} could not be read\n", counted(items.rejected, "item"));
  if (c.rejected != 0) print_err("  {} could not be read; not kept\n", counted(c.rejected, "document"));
  if (c.problems != 0) print_err("  {} could not be read as a whole\n", counted(c.problems, "input"));
}

absl::StatusOr<int> run(const Options& o, Flags& flags) {
  RETURN_IF_ERROR(check_places(o, flags));
  Screen screen(flags.quiet);
  const auto say = [&](const std::string& message) { screen.say(message); };

  ItemFields fields;
  if (!flags.question_field.empty()) fields.question = absl::StrSplit(flags.question_field, ',');
  if (!flags.answer_field.empty()) fields.answer = absl::StrSplit(flags.answer_field, ',');
  const ItemRule rule{.changed_ppm = static_cast<uint32_t>(std::lround(flags.changed * 1e6))};
  ASSIGN_OR_RETURN(const Items items, read_items(flags.evals, fields, rule, say));
  if (items.items.empty()) return invalid("--evals: there are no items in these files");

  if (!flags.quiet) {
    print_not_looked_for(items, items.too_short, ", too short");
    print_not_looked_for(items, items.common, " of words that many items or most texts have");
  }

  FilesSinkOptions keep{.keep = flags.keep, .keep_directory = flags.keep_directory};
  FilesSourceOptions from{.paths = flags.paths};
  from.columns = o.input;
  from.batch_records = static_cast<size_t>(o.batch_documents);
  from.batch_bytes = o.batch_bytes;
  from.outputs = {{"--output", flags.output}, {"--keep", flags.keep}};
  if (!flags.keep_directory.empty()) from.output_directories.push_back(flags.keep_directory);
  if (keep.keep.ends_with(".parquet"))
    from.kept_columns = keep.kept_columns = std::make_shared<parquet::KeptColumns>();
  from.kept_in = flags.keep;
  from.say = say;
  from.stop = stop_asked;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open_files_source(from, ""));
  std::unique_ptr<FetchSource> fetching;
  if (const FetchOptions fetch = fetch_options(o, stop_asked); fetches(fetch)) {
    ASSIGN_OR_RETURN(fetching, make_fetch_source(*source, fetch));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> report, OutputFile::open(flags.output));
  const auto write = [&](std::string_view lines) {
    report->append(lines);
    return report->flush();
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<CleanOutput> output,
                   CleanOutput::open({.lines = write, .keep = keep}, say));
  Decontaminate job{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : *source,
                    .items = items,
                    .to = *output,
                    .format = o.input,
                    .threads = thread_count(o),
                    .stop = stop_asked,
                    .report = say,
                    .progress = [&](const DecontaminateCounters& c) { screen.update(c, *source); }};
  ASSIGN_OR_RETURN(const DecontaminateCounters counters, decontaminate(job));
  RETURN_IF_ERROR(report->finish());
  RETURN_IF_ERROR(output->finish());
  screen.clear();
  if (!flags.quiet) print_summary(counters, items, screen.seconds());
  print_not_kept("decontaminate", "clean", output->keeper(), keep, "--keep DIR/");
  if (stop_asked()) {
    print_err("doppel decontaminate: interrupted; everything up to here is written\n");
    return kExitInterrupted;
  }
  if (counters.read_nothing()) {
    print_err(
        "doppel decontaminate: no text was read, so nothing was looked through; name the field of the text "
        "(--text-field)\n");
    return kExitSomeFailed;
  }
  const uint64_t failed =
      items.rejected + counters.rejected + counters.problems + output->keeper().not_kept();
  return failed != 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace

int decontaminate_main(int argc, char** argv) {
  catch_stop_signals(kExitInterrupted);
  CLI::App app(
      "Finds the items of evaluations (benchmarks) in a corpus: a model must not be trained on them.\n\n"
      "An item is in a document if its question is there, word for word or with up to a third of its\n"
      "words changed (--changed), wherever it stands. Case, punctuation and line breaks do not count. A\n"
      "question of fewer than five words is looked for together with its answer. doppel writes a JSON\n"
      "line for each item in each document: which document, which item, the passage, and how much is\n"
      "changed. With --keep it writes the documents without items.\n\n"
      "Examples:\n"
      "  doppel decontaminate --evals gsm8k.jsonl --evals mmlu.parquet crawl/ > found.jsonl\n"
      "  doppel decontaminate --evals evals/ --keep clean.parquet -o found.jsonl crawl.parquet\n"
      "  doppel decontaminate --evals test.jsonl --question-field prompt --answer-field target c.jsonl.zst",
      "doppel decontaminate");
  Flags flags;
  CommonFlags common;
  app.add_option("PATH", flags.paths, "the corpus: files, directories, or - for stdin")->default_str("-");
  app.add_option_function<std::string>(
         "--evals", [&](const std::string& path) { flags.evals.push_back(path); },
         "items as JSON lines, Parquet or Arrow, with fields for question and answer; a file or a directory; "
         "may be repeated")
      ->required()
      ->type_name("FILE")
      ->trigger_on_parse();
  app.add_option("--question-field", flags.question_field,
                 "the fields of an item's question, with commas: the first that is there. Default: question, "
                 "query, prompt, problem, instruction, input, text")
      ->type_name("FIELDS");
  app.add_option("--answer-field", flags.answer_field,
                 "and of its answer. Default: answer, solution, target, output, completion, response")
      ->type_name("FIELDS");
  app.add_option("--changed", flags.changed, "how much of an item's words may be changed")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app.add_option("-o,--output", flags.output, "where the lines go; - is stdout")->capture_default_str();
  app.add_option("--keep", flags.keep,
                 "write the documents without items, unchanged, to this file; of Parquet, the rows with all "
                 "columns (FILE.parquet), else a line per row; or one file per input below a directory "
                 "(DIR/), where whole files are copied, too");
  add_reading_flags(app, common);
  app.add_flag("-q,--quiet", flags.quiet, "no progress, no messages, no summary");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 done, whether items were found or not; 1 done, but some items, documents or inputs "
      "could\n"
      "not be read; 2 wrong usage or configuration; 3 stopped by an error; 130 interrupted.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (flags.paths.empty()) flags.paths.emplace_back("-");
  flags.config_file = common.config_file;
  std::error_code none;
  if (flags.keep.ends_with('/') || std::filesystem::is_directory(flags.keep, none))
    std::swap(flags.keep, flags.keep_directory);
  const absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("decontaminate", config.status(), kExitUsage);
  const absl::StatusOr<int> code = run(config->options, flags);
  if (code.ok()) return *code;
  const bool usage = absl::IsInvalidArgument(code.status()) || absl::IsNotFound(code.status());
  return fail("decontaminate", code.status(), usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
