// doppel scan: runs the detector over files, directories or stdin. It reads the settings, opens state, input
// and outputs, and runs the pipeline.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_join.h"
#include "base/standard_streams.h"
#include "base/status.h"
#include "base/strings.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "commands/scan_places.h"
#include "commands/scan_report.h"
#include "commands/scan_summary.h"
#include "fetch/downloads.h"
#include "fetch/fetch_source.h"
#include "files/output_file.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "files/read/listing.h"
#include "files/warc/captures.h"
#include "files/write/files_sink.h"
#include "files/write/outputs.h"
#include "fmt/format.h"
#include "formats/json/json_value.h"
#include "insight/scan_page.h"
#include "insight/show.h"
#include "open/setup.h"
#include "state/scheme.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;
constexpr size_t kLinesOfSummary = 7;  // that usually follow the groups, with the next prompt

// Prints the first messages about single records and inputs; the others are only counted.
class Messages {
 public:
  explicit Messages(StatusLine& line) : line_(line) {}
  void say(const std::string& message) {
    if (count_++ >= kMessagesShown) return;
    line_.message(message);
    if (count_ == kMessagesShown) line_.message("further messages of this kind are only counted");
  }

 private:
  StatusLine& line_;
  uint64_t count_ = 0;
};

// Prints which captures have no line in the CDXJ file, and why. Returns their number.
uint64_t say_without_entry(const CdxjOutput& cdxj) {
  const auto say = [](uint64_t captures, std::string_view why, std::string_view first) {
    if (captures == 0) return;
    print_err("doppel scan: --cdxj: {} captures have no line, because {}{}\n", with_commas(captures), why,
              first);
  };
  say(cdxj.without_line(), "several records share one gzip member or zstd frame, as in ",
      one_line(cdxj.first_without_line(), 1000) + "; write it again: warcio recompress");
  say(cdxj.without_key(), "a key cannot be made of their URI and date; the first URI: ",
      one_line(cdxj.first_without_key(), 1000));
  return cdxj.without_line() + cdxj.without_key();
}

// The options to read the same input once more: what is written by now is ours.
FilesSourceOptions to_read_again(FilesSourceOptions options) {
  for (const NamedPath& output : options.outputs) options.own_outputs.push_back(output.path);
  options.outputs.clear();
  options.kept_in.clear();
  return options;
}

// One run. scan() names its passes in order.
class ScanRun {
 public:
  ScanRun(const Config& config, ScanFlags& flags)
      : o_(config.options), flags_(flags), line_("scan", flags.quiet), listing_(line_), messages_(line_) {}

  absl::Status prepare();
  absl::Status open_index();
  absl::Status open_input();
  absl::Status open_outputs();
  absl::Status judge();
  absl::Status end_outputs();
  absl::Status show();
  int exit_code() const;

 private:
  void note(const std::string& text) { line_.message(text); }  // on any thread
  bool first_run() const { return index_->recovered().fresh; }
  bool finds_left_out() const { return !flags_.sink.keep_files.empty() && first_run(); }
  void say_what_is_missing();
  absl::Status write_page();

  Options o_;
  ScanFlags& flags_;
  StatusLine line_;
  ListingProgress listing_;
  Messages messages_;
  std::optional<HashKey> key_;
  EngineOptions engine_options_;
  std::unique_ptr<FilesSink> sink_;  // outlives the index, which syncs it
  std::unique_ptr<Session> index_;

  std::shared_ptr<RemoteFiles> remote_;  // null: no input is behind a URL
  FilesSourceOptions source_options_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<FetchSource> fetching_;
  std::unique_ptr<Progress> progress_;  // of source_

  std::unique_ptr<BestRows> best_;      // --best
  std::vector<std::string> fields_;     // of the first record, for a message about it
  std::unique_ptr<CdxjOutput> cdxj_;    // --cdxj
  std::unique_ptr<ScanGroups> groups_;  // on a terminal
  std::unique_ptr<ScanReport> report_;  // --html
  LeftOut left_out_;                    // --keep-files

  Counters counters_;
  uint64_t without_entry_ = 0;  // captures that --cdxj has no line for
};

// Checks what the flags say together, and how the records are read.
absl::Status ScanRun::prepare() {
  RETURN_IF_ERROR(learn_signed_format(flags_.paths, o_.input));
  if (!flags_.best.empty()) {
    o_.input.best = flags_.best;
    RETURN_IF_ERROR(check_best(o_, flags_));
    best_ = std::make_unique<BestRows>(*Best::parse(o_.input.best),
                                       flags_.best == "oldest" || flags_.best == "newest");
    flags_.sink.keep_later = true;
  }
  if (std::any_of(flags_.paths.begin(), flags_.paths.end(), is_url)) {
    ASSIGN_OR_RETURN(S3Settings s3, s3_settings([](const char* name) { return std::getenv(name); }));
    remote_ = make_downloads({.directory = std::filesystem::temp_directory_path().string(),
                              .s3 = std::move(s3),
                              .stop = stop_asked,
                              .say = [this](const std::string& message) { note(message); }});
  }
  if (!flags_.cdxj.empty()) {
    ASSIGN_OR_RETURN(const Listing listing,
                     list_files({.paths = flags_.paths, .remote = remote_, .listing = [this](uint64_t files) {
                                   listing_.update(files);
                                 }}));
    absl::flat_hash_map<std::string, uint64_t> sizes;
    for (const InputFile& file : listing.files) sizes[file.source()] = file.size;
    cdxj_ = std::make_unique<CdxjOutput>(std::move(sizes), flags_.cdx ? IndexForm::cdx : IndexForm::cdxj);
  }
  std::string key_note;
  ASSIGN_OR_RETURN(key_, choose_hash_key(o_, key_note));
  note(key_note);
  ASSIGN_OR_RETURN(engine_options_, engine_options(o_, *key_));
  return check_format(o_.input);
}

// Opens the index of earlier runs, or a temporary one for this run.
absl::Status ScanRun::open_index() {
  flags_.sink.sync = !o_.state_directory.empty() && o_.fsync == Fsync::commit;
  ASSIGN_OR_RETURN(index_,
                   open_session(session_with_outputs(o_, engine_options_, flags_.sink, sink_,
                                                     [this](const std::string& message) { note(message); })));
  if (!o_.against.empty()) note(fmt::format("against {}", counted(index_->from_others(), "original")));
  if (!first_run()) {
    note(fmt::format("continuing after {}, with {}", counted(index_->recovered().documents, "document"),
                     counted(index_->own(), "original")));
  }
  return absl::OkStatus();
}

// Opens the input where the last commit left it.
absl::Status ScanRun::open_input() {
  const Recovered& recovered = index_->recovered();
  source_options_ = files_source_options(o_, flags_.paths, engine_options_.scheme, flags_.sink.keep);
  source_options_.columns = o_.input;
  source_options_.judged_before = recovered.documents;
  source_options_.remote = remote_;
  source_options_.kept_in = flags_.sink.keep;
  leave_out_outputs(source_options_, o_, flags_, recovered.sink_position);
  source_options_.by_date = flags_.order == "date";
  if (!flags_.sink.keep_directory.empty()) source_options_.rest_directory = flags_.sink.keep_directory;
  if (flags_.sink.keep.ends_with(".parquet"))
    source_options_.kept_columns = flags_.sink.kept_columns = std::make_shared<parquet::KeptColumns>();
  source_options_.listing = [this](uint64_t files) { listing_.update(files); };
  source_options_.say = [this](const std::string& text) { note(text); };
  source_options_.stop = stop_asked;
  ASSIGN_OR_RETURN(source_, open_files_source(source_options_, recovered.source_position));
  ASSIGN_OR_RETURN(fetching_,
                   fetch_from(*source_, fetch_options(o_, source_options_.stop), index_->engine()));
  return absl::OkStatus();
}

// Opens the outputs where the last commit left them.
absl::Status ScanRun::open_outputs() {
  const Recovered& recovered = index_->recovered();
  if (o_.cut != CutTexts::nothing) flags_.sink.cut = o_.input;
  flags_.sink.context = {.scheme = fmt::format("{:016x}", key_->derive(engine_options_.scheme.describe())),
                         .epoch = recovered.epoch};
  ASSIGN_OR_RETURN(sink_, FilesSink::open(flags_.sink, recovered.sink_position,
                                          [&](const std::string& message) { messages_.say(message); }));
  if (flags_.groups) groups_ = std::make_unique<ScanGroups>();
  if (!flags_.html.empty()) report_ = std::make_unique<ScanReport>(index_->engine().originals().next_seq());
  return absl::OkStatus();
}

absl::Status ScanRun::judge() {
  Engine& engine = index_->engine();
  progress_ = std::make_unique<Progress>(*source_, engine.originals(), line_);
  SessionJournal journal(*index_);
  SameDocuments same_documents(engine.originals().next_seq(), engine.originals().first_own());
  absl::Status gathered;
  Pipeline pipeline = assemble(o_, engine, index_->state(), outer_of(*source_, fetching_.get()), *sink_);
  pipeline.journal = &journal;
  pipeline.same_documents = &same_documents;
  pipeline.better.reset();  // the sink chooses the best copies at the end
  pipeline.stop = stop_asked;
  pipeline.read_now = late_reader(fetching_.get());
  pipeline.observe = [&](const Decided& decided, const BatchTimes&) {
    if (cdxj_ != nullptr && first_run()) cdxj_->add(decided.batch);
    if (best_ != nullptr) {
      best_->add(decided);
      if (fields_.empty() && !decided.batch.records.empty())
        fields_ = names_of_fields(decided.batch.records.front().value);
    }
    if (finds_left_out()) left_out_.add(decided);
    if (groups_ != nullptr && gathered.ok()) gathered = groups_->add(decided);
    if (report_ != nullptr && gathered.ok()) gathered = report_->add(decided);
  };
  pipeline.progress = [&](const Counters& counters) { progress_->update(counters); };
  ASSIGN_OR_RETURN(counters_, run_pipeline(pipeline));
  return gathered;
}

// Writes what needs all verdicts, and commits.
absl::Status ScanRun::end_outputs() {
  if (best_ != nullptr && !stop_asked()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> again,
                     open_files_source(to_read_again(source_options_), ""));
    RETURN_IF_ERROR(keep_chosen(*again, best_->choose(), *sink_));
  }
  if (finds_left_out() && !stop_asked()) {
    left_out_.find(flags_.paths, {flags_.sink.output, flags_.sink.keep, flags_.sink.rejects, flags_.cdxj,
                                  flags_.sink.keep_files, flags_.sink.keep_directory, o_.state_directory});
    for (const std::string& file : left_out_.files())
      if (flags_.keep_all) RETURN_IF_ERROR(sink_->keeper().copy_file(file));
  }
  RETURN_IF_ERROR(sink_->finish());
  if (cdxj_ != nullptr && !first_run() && !stop_asked()) {
    // Also the captures that an earlier run has read.
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> all,
                     open_files_source(to_read_again(source_options_), ""));
    RETURN_IF_ERROR(cdxj_->add_all(*all, stop_asked));
  }
  if (cdxj_ != nullptr && !stop_asked()) RETURN_IF_ERROR(cdxj_->write(flags_.cdxj));
  if (report_ != nullptr && !stop_asked()) RETURN_IF_ERROR(write_page());
  return index_->state() != nullptr ? index_->state()->checkpoint() : absl::OkStatus();
}

absl::Status ScanRun::write_page() {
  ScanPage page = report_->page(counters_);
  page.input = absl::StrJoin(flags_.paths, "  ");
  page.rule = rule_in_words(engine_options_);
  const auto is_pipe = [](const std::string& path) {
    std::error_code none;
    return path == "-" || std::filesystem::is_fifo(path, none);
  };
  if (is_signed(o_.input)) {
    page.no_texts = "The input is signed records, which hold no texts.";
  } else if (std::any_of(flags_.paths.begin(), flags_.paths.end(), is_pipe)) {
    page.no_texts = "The input is a pipe, which cannot be read again: there are no texts here.";
  } else {
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> again,
                     open_files_source(to_read_again(source_options_), ""));
    RETURN_IF_ERROR(read_texts(*again, o_.input, page));
  }
  return write_whole_output(flags_.html, scan_page(page, engine_options_));
}

// Shows groups and summary.
absl::Status ScanRun::show() {
  line_.clear();
  if (groups_ != nullptr) {
    const ScreenSize screen = screen_size();
    write_out(groups_->text(std::max(screen.rows, 2 * kLinesOfSummary) - kLinesOfSummary, screen.columns));
    flush_out();
  }
  if (!flags_.quiet)
    print_summary(counters_, index_->engine(), index_->own_bodies(), progress_->seconds(),
                  sink_->keeper().cut(), o_.input.extract, groups_ != nullptr,
                  !(flags_.sink.keep + flags_.sink.keep_directory + flags_.sink.keep_files).empty());
  if (!stop_asked()) {
    say_what_is_missing();
    return absl::OkStatus();
  }
  note("interrupted; everything up to here is written");
  for (const auto& [what, path] : {NamedPath{"--cdxj", flags_.cdxj}, {"--html", flags_.html}}) {
    if (!path.empty()) note(fmt::format("{}: {} is not written; a run to the end writes it", what, path));
  }
  return absl::OkStatus();
}

// Even with --quiet, because the user may delete the records that were not kept.
void ScanRun::say_what_is_missing() {
  print_not_kept("scan", "unique", sink_->keeper(), flags_.sink, "--keep DIR/ or --keep-files DIR");
  if (best_ != nullptr && !best_->missing_field().empty()) {
    const std::string field = best_->missing_field();
    std::string meant = did_you_mean(field, fields_);
    if (meant.empty() && !fields_.empty()) meant = "; the fields are " + absl::StrJoin(fields_, ", ");
    print_err(
        "doppel scan: --best {}: no document has a number or a time in the field {}{}; the originals are "
        "kept\n",
        flags_.best, field, one_line(meant, 300));
  }
  if (!left_out_.files().empty()) {
    print_err("doppel scan: --keep-files: {} {}: {}; the first: {}{}\n",
              counted(left_out_.files().size(), "other file"), flags_.keep_all ? "copied, too" : "not copied",
              left_out_.kinds(), one_line(left_out_.files().front(), 1000),
              flags_.keep_all ? "" : "; --keep-all copies them, too");
  }
  if (cdxj_ != nullptr) without_entry_ = say_without_entry(*cdxj_);
}

int ScanRun::exit_code() const {
  if (stop_asked()) return kExitInterrupted;
  return counters_.rejected + counters_.problems + sink_->keeper().not_kept() + without_entry_ != 0
             ? kExitSomeFailed
             : kExitDone;
}

absl::StatusOr<int> scan(const Config& config, ScanFlags& flags) {
  RETURN_IF_ERROR(check_places(config, flags));
  ScanRun run(config, flags);
  RETURN_IF_ERROR(run.prepare());
  RETURN_IF_ERROR(run.open_index());
  RETURN_IF_ERROR(run.open_input());
  RETURN_IF_ERROR(run.open_outputs());
  RETURN_IF_ERROR(run.judge());
  RETURN_IF_ERROR(run.end_outputs());
  RETURN_IF_ERROR(run.show());
  return run.exit_code();
}

constexpr const char* kDescription =
    "Decides for every document whether it repeats an earlier one.\n\n"
    "The command reads files, directories or stdin in order: JSONL (.jsonl, .ndjson, .json) with one\n"
    "document per line, Parquet, Arrow and CSV with one per row, mbox with one per message, the\n"
    "records of WARC files (also inside WACZ files), and any other file as one document; packed with\n"
    "gzip or zstd, too. It writes one JSON line per duplicate, or per document with --all. On a\n"
    "terminal it shows originals and their copies instead.\n\n"
    "Examples:\n"
    "  doppel scan crawl.jsonl.gz > duplicates.jsonl\n"
    "  doppel scan --all --threshold 0.7 articles/ | jq .verdict\n"
    "  doppel scan --text-field article --keep unique.parquet crawl.parquet more/ > duplicates.jsonl\n"
    "  doppel scan --html report.html folder/ > duplicates.jsonl\n"
    "  doppel scan --state index -o duplicates.jsonl --keep unique.jsonl crawl-*.jsonl";

// Both must outlive the parsing.
void add_flags(CLI::App& app, ScanFlags& flags, CommonFlags& common) {
  app.add_option("PATH", flags.paths,
                 "files, directories, URLs (https://..., s3://BUCKET/PREFIX/), or - for stdin")
      ->default_str("-");
  app.add_option(
         "--list", flags.list,
         "read what this file names, too: a path or URL in each line, such as warc.paths.gz of Common "
         "Crawl")
      ->type_name("FILE");
  app.add_option("--list-root", flags.list_root, "what goes before the relative names in --list")
      ->type_name("ROOT");
  app.add_option("-o,--output", flags.sink.output,
                 "where the lines go; - is stdout. Without it a terminal shows groups: "
                 "originals and their copies");
  auto* all = app.add_flag("--all", flags.all,
                           "a line per document, in input order, with its verdict; with -o "
                           "FILE.parquet a row");
  app.add_flag("--clusters", flags.clusters, "a line per cluster: the original and its duplicates")
      ->excludes(all);
  app.add_option(
      "--keep", flags.sink.keep,
      "write the unique lines (or WARC records), unchanged, to this file; of Parquet, the rows with "
      "all columns (FILE.parquet), else a line per row; or one file per input below a directory "
      "(DIR/), where whole files are copied, too");
  app.add_option("--best", flags.best,
                 "keep of each document and its duplicates the best one: longest, shortest, newest, oldest, "
                 "FIELD:max or FIELD:min (a number or a time); reads the input twice")
      ->type_name("WHAT");
  app.add_option("--keep-files", flags.sink.keep_files, "copy unique whole files below this directory");
  app.add_flag("--keep-all", flags.keep_all,
               "copy with --keep-files also what is no document: PDF, images, hidden and empty files");
  app.add_option("--rejects", flags.sink.rejects,
                 "write lines that could not be read, unchanged, to this file, and the names of such files");
  app.add_option("--html", flags.html,
                 "write a page for a browser: what came how often, copies beside their originals, by folder "
                 "and host; reads the input a second time for the texts; - is stdout, in place of events")
      ->type_name("FILE");
  app.add_option(
      "--cdxj", flags.cdxj,
      "write a CDXJ file of all captures in the given WARC files, also of those that an earlier run "
      "with --state has read");
  app.add_option_function<std::string>(
         "--cdx",
         [&](const std::string& path) {
           flags.cdxj = path;
           flags.cdx = true;
         },
         "the same as classic CDX, for crawlers that leave out what is in it (wget --warc-dedup)")
      ->type_name("TEXT")
      ->excludes("--cdxj");
  app.add_option(
         "--order", flags.order,
         "files: as they are named; date: WARC records of all files by their dates, so that no original "
         "is later than its copy")
      ->check(CLI::IsMember({"files", "date"}))
      ->capture_default_str();
  add_setting_flag(app, common, "--state", "state.directory");
  app.add_option_function<std::string>(
         "--against", [&](const std::string& directory) { flags.against.push_back(directory); },
         "a state directory that is only read: what is in it is a duplicate of it; may be repeated")
      ->type_name("DIR")
      ->trigger_on_parse();
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  app.add_option_function<std::string>(
         "--relations",
         [&](const std::string& given) {
           // doppel always looks for near copies.
           const bool near = ("," + given + ",").find(",near,") != std::string::npos;
           common.sets.emplace_back("relations", near ? given : "near," + given);
         },
         "also look for copies of parts (contained, contains, shares) and for similar; with commas")
      ->type_name("LIST")
      ->trigger_on_parse();
  add_reading_flags(app, common);
  app.add_flag("-q,--quiet", flags.quiet, "no progress, no messages, no summary");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 done; 1 done, but some records were rejected or inputs could not be read; 2 wrong usage "
      "or\n"
      "configuration; 3 stopped by an error (the output is consistent, and with --state a new run "
      "continues);\n"
      "70 a defect of doppel was found, and nothing was written after it; 130 interrupted (as with 3).");
}

}  // namespace

int scan_main(int argc, char** argv) {
  catch_stop_signals(kExitInterrupted);
  CLI::App app(kDescription, "doppel scan");
  ScanFlags flags;
  CommonFlags common;
  add_flags(app, flags, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (!flags.list.empty()) {
    if (const absl::Status read = read_list(flags); !read.ok()) return fail("scan", read, kExitUsage);
  }
  if (flags.paths.empty() && ::isatty(STDIN_FILENO) != 0) {
    return fail(
        "scan",
        "name what to read: doppel scan FOLDER shows originals and their copies, doppel scan FILE... "
        "> events.jsonl\nwrites an event for each copy, and COMMAND | doppel scan - reads JSON lines; "
        "doppel scan --help has more",
        kExitUsage);
  }
  if (flags.paths.empty()) flags.paths.emplace_back("-");
  flags.sink.mode = flags.all        ? FilesOutput::verdicts
                    : flags.clusters ? FilesOutput::clusters
                                     : FilesOutput::events;
  flags.groups = app.count("--output") == 0 && !flags.all && !flags.clusters && ::isatty(STDOUT_FILENO) != 0;
  // A page on stdout takes the place of what is there by default.
  const bool page_on_stdout =
      flags.html == "-" && app.count("--output") == 0 && !flags.all && !flags.clusters;
  if (page_on_stdout) flags.groups = false;
  if (flags.groups || page_on_stdout) flags.sink.output.clear();

  if (!flags.against.empty()) common.sets.emplace_back("against", absl::StrJoin(flags.against, ","));
  absl::StatusOr<Config> config = load_config_of_index(config_inputs(common));
  if (!config.ok())
    return fail("scan", config.status(), says_differences(config.status()) ? kExitStopped : kExitUsage);
  if (flags.clusters && !config->options.state_directory.empty()) {
    return fail("scan",
                "--clusters covers one whole run and cannot be continued: with --state write events (or "
                "--all) and group them by cluster_id",
                kExitUsage);
  }
  flags.config_file = common.config_file;
  std::error_code none;
  if (flags.sink.keep.ends_with('/') || std::filesystem::is_directory(flags.sink.keep, none))
    std::swap(flags.sink.keep, flags.sink.keep_directory);
  if (!flags.sink.keep_directory.empty() && !config->options.state_directory.empty()) {
    return fail("scan",
                "--keep: --state does not support a directory, because it stores the length of each file; "
                "name a file",
                kExitUsage);
  }
  absl::StatusOr<int> code = scan(*config, flags);
  if (code.ok()) return *code;
  if (absl::IsCancelled(code.status())) return kExitInterrupted;
  const bool usage = code.status().code() == absl::StatusCode::kInvalidArgument ||
                     code.status().code() == absl::StatusCode::kNotFound;
  return fail("scan", code.status(), usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
