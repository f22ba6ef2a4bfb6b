// doppel scan: the detector over files, directories or stdin. Reads the settings, opens state, input and
// outputs, and lets the pipeline run.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>

#include <filesystem>
#include <functional>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "commands/say.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "serve/cdxj_output.h"
#include "serve/embedded_state.h"
#include "serve/files_sink.h"
#include "serve/setup.h"
#include "stream/files/files_source.h"
#include "stream/files/listing.h"
#include "stream/files/places.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;

struct ScanFlags {
  std::vector<std::string> paths;
  FilesSinkOptions sink;
  std::string config_file, cdxj;
  bool all = false, clusters = false, quiet = false;
};

volatile std::sig_atomic_t g_interrupted = 0;

// The first signal ends the run after the batch at hand; the second one ends it at once.
void on_signal(int) {
  if (g_interrupted != 0) _exit(kExitInterrupted);
  g_interrupted = 1;
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // comes back as an error of write()
}

// Messages about single records and inputs: the first ones are shown, the rest is counted.
class Messages {
 public:
  explicit Messages(bool quiet) : quiet_(quiet) {}
  void attach(Progress* progress) { progress_ = progress; }
  void say(const std::string& message) {
    if (count_++ >= kMessagesShown || quiet_) return;
    if (progress_ != nullptr) progress_->clear();
    print_err("doppel scan: {}\n", message);
    if (count_ == kMessagesShown) print_err("doppel scan: further messages of this kind are only counted\n");
  }

 private:
  bool quiet_;
  Progress* progress_ = nullptr;
  uint64_t count_ = 0;
};

void print_summary(const Counters& c, const Engine& engine, const Bodies& bodies, double seconds) {
  const OriginalsStats stats = engine.originals().stats();
  const uint64_t unique = c.unique - c.bytes_unique, copies = c.duplicates() - c.bytes_copies;
  const uint64_t bytes_only = c.bytes_unique + c.bytes_copies;
  const uint64_t documents = c.records - c.skipped - bytes_only;
  print_err("{} documents{}, {} in {} ({}/s, {:.1f} MB/s)\n", with_commas(documents),
            documents == c.records ? "" : fmt::format(" in {} records", with_commas(c.records)),
            human_bytes(c.bytes), human_seconds(seconds),
            with_commas(static_cast<uint64_t>(c.records / std::max(seconds, 1e-9))),
            c.bytes / 1e6 / std::max(seconds, 1e-9));
  print_err(
      "  {} unique, {} duplicates ({} exact, {} near){}\n", with_commas(unique), with_commas(copies),
      with_commas(c.exact - c.bytes_copies), with_commas(c.near),
      unique + copies == 0 ? "" : fmt::format(", {:.1f} % of documents", 100.0 * copies / (unique + copies)));
  if (bytes_only != 0) {
    print_err("  {} other records compared by payload digest alone: {} unique, {} duplicates\n",
              with_commas(bytes_only), with_commas(c.bytes_unique), with_commas(c.bytes_copies));
  }
  if (c.unscored != 0) print_err("  {} without text (unscored)\n", with_commas(c.unscored));
  for (const auto& [reason, count] : c.skipped_by)
    print_err("  {} skipped: {}\n", with_commas(count), reason);
  if (c.rejected != 0) print_err("  {} rejected\n", with_commas(c.rejected));
  if (c.problems != 0) print_err("  {} inputs could not be read as a whole\n", with_commas(c.problems));
  print_err("  index: {} originals, {} in memory, {} on disk\n", with_commas(stats.live),
            human_bytes(stats.row_bytes + stats.table_bytes), human_bytes(bodies.bytes()));
  if (c.match.checks_capped != 0) {
    print_err("  {} documents had more candidates than max_checks\n", with_commas(c.match.checks_capped));
  }
  if (c.listings_capped != 0) {
    print_err("  {} times a band was full (max_listed)\n", with_commas(c.listings_capped));
  }
}

std::vector<NamedPath> outputs_of(const ScanFlags& flags) {
  return {{"--output", flags.sink.output},
          {"--keep", flags.sink.keep},
          {"--rejects", flags.sink.rejects},
          {"--cdxj", flags.cdxj}};
}

// Nothing is written over what is read, nor into the state directory.
absl::Status check_places(const Config& config, const ScanFlags& flags) {
  const Options& o = config.options;
  for (const auto& [what, path] : outputs_of(flags)) {
    if (!path.ends_with(".parquet") && !path.ends_with(".arrow") && !path.ends_with(".feather")) continue;
    const bool table = what == "--keep" || (what == "--output" && flags.sink.mode == FilesOutput::verdicts);
    if (!path.ends_with(".parquet") || !table) {
      return invalid(fmt::format(
          "{}: {}: doppel writes JSON lines here, not Parquet or Arrow; name a file .jsonl. As Parquet it "
          "writes "
          "verdicts (--all -o FILE.parquet) and the unique rows of Parquet files (--keep FILE.parquet)",
          what, path));
    }
    if (!o.state_directory.empty()) {
      return invalid(
          fmt::format("{}: {}: not with --state: a Parquet file is written at once, and a run that was "
                      "interrupted could not go on with it; write JSON lines, or leave --state out",
                      what, path));
    }
  }
  if (is_signed(o.input)) {
    for (const auto& [what, value] :
         {std::pair("--keep", flags.sink.keep + flags.sink.keep_directory),
          std::pair("--keep-files", flags.sink.keep_files), std::pair("--cdxj", flags.cdxj)}) {
      if (value.empty()) continue;
      return invalid(
          fmt::format("{}: not with input.format: signed, which holds no documents; write verdicts "
                      "(--all), and choose from the documents by them",
                      what));
    }
  }
  if (o.dry_run && !o.state_directory.empty())
    return invalid("dry_run: not with --state, which remembers; without it scan judges and keeps nothing");
  if (o.dry_run && !(flags.sink.keep_files + flags.sink.keep_directory).empty())
    return invalid("dry_run: not with --keep or --keep-files, which write");
  for (const auto& [what, path] : outputs_of(flags)) {
    if (o.dry_run && !path.empty() && path != "-")
      return invalid(fmt::format("dry_run: not with {}, which writes {}", what, path));
  }
  std::vector<NamedPath> inputs{{"--config", flags.config_file}, {"hash_key_file", o.hash_key_file}};
  for (const std::string& path : flags.paths) inputs.push_back({"input", path});
  for (const std::string& path : o.warc_cdxj) inputs.push_back({"warc.cdxj", path});
  const std::vector<NamedPath> outputs = outputs_of(flags);
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  for (const auto& [what, path] : outputs) {
    if (path.empty() || path == "-" || o.state_directory.empty() || !lies_in(path, o.state_directory))
      continue;
    return invalid(fmt::format("{}: {} lies in the state directory {}; name a place outside", what, path,
                               o.state_directory));
  }
  for (const std::string& path : flags.paths) {
    const auto refuse = [&](const std::string& what, const std::string& directory) {
      return invalid(fmt::format("{} lies in {} ({}), where doppel writes; name another directory", path,
                                 directory, what));
    };
    if (path == "-") continue;
    if (!o.state_directory.empty() && lies_in(path, o.state_directory))
      return refuse("--state", o.state_directory);
    if (!flags.sink.keep_files.empty() && lies_in(path, flags.sink.keep_files))
      return refuse("--keep-files", flags.sink.keep_files);
    if (!flags.sink.keep_directory.empty() && lies_in(path, flags.sink.keep_directory))
      return refuse("--keep", flags.sink.keep_directory);
  }
  return absl::OkStatus();
}

// What this run writes is left out where a directory is read.
void leave_out_outputs(FilesSourceOptions& source, const Options& o, const ScanFlags& flags,
                       std::string_view position) {
  for (const NamedPath& output : outputs_of(flags)) {
    if (FilesSink::is_known(position, output.path)) {
      source.own_outputs.push_back(output.path);
    } else {
      source.outputs.push_back(output);
    }
  }
  for (const std::string& directory : {o.state_directory, flags.sink.keep_files, flags.sink.keep_directory}) {
    if (!directory.empty()) source.output_directories.push_back(directory);
  }
}

absl::StatusOr<int> scan(const Config& config, ScanFlags& flags) {
  RETURN_IF_ERROR(check_places(config, flags));
  Options o = config.options;
  std::unique_ptr<CdxjOutput> cdxj;
  RETURN_IF_ERROR(learn_signed_format(flags.paths, !o.state_directory.empty(), o.input));
  if (!o.state_directory.empty() || !flags.cdxj.empty()) {
    ASSIGN_OR_RETURN(const Listing listing, list_files({.paths = flags.paths}));
    // How their pages are read is a part of what an index that is kept was made with.
    o.input.warc_files =
        !o.state_directory.empty() && std::any_of(listing.files.begin(), listing.files.end(),
                                                  [](const InputFile& file) { return file.warc; });
    absl::flat_hash_map<std::string, uint64_t> sizes;
    for (const InputFile& file : listing.files) sizes[file.source()] = file.size;
    if (!flags.cdxj.empty()) cdxj = std::make_unique<CdxjOutput>(std::move(sizes));
  }
  Messages messages(flags.quiet);
  auto note = [&](const std::string& text) {
    if (!flags.quiet && !text.empty()) print_err("doppel scan: {}\n", text);
  };

  // The rule and the key.
  std::string key_note;
  ASSIGN_OR_RETURN(HashKey key, choose_hash_key(o, key_note));
  note(key_note);
  ASSIGN_OR_RETURN(EngineOptions engine_opts, engine_options(o, key));
  RETURN_IF_ERROR(check_format(o.input));

  // What an earlier run left, or a place for this run alone.
  std::unique_ptr<StateDir> state;
  std::unique_ptr<Bodies> temporary;
  std::unique_ptr<FilesSink> sink;
  Recovered recovered;
  if (!o.state_directory.empty()) {
    flags.sink.sync = o.fsync == "commit";
    auto sync_outputs = [&] { return sink != nullptr ? sink->sync() : absl::OkStatus(); };
    auto supports = [&](std::string_view position) { return FilesSink::supports(flags.sink, position); };
    ASSIGN_OR_RETURN(state, open_embedded_state(o, engine_opts, supports, sync_outputs));
    recovered = state->recovered();
    RETURN_IF_ERROR(
        FilesSink::check_outputs_are_there(flags.sink, recovered.sink_position, o.state_directory));
    for (const std::string& each : recovered.notes) note(each);
    engine_opts.initial_capacity = std::max<uint64_t>(1024, recovered.next_seq - recovered.first_row);
  } else {
    ASSIGN_OR_RETURN(temporary, temporary_bodies(o.temporary_directory));
  }
  Bodies& bodies = state != nullptr ? state->bodies() : *temporary;
  Engine engine(engine_opts, bodies);
  if (state != nullptr && !recovered.fresh) {
    RETURN_IF_ERROR(restore_engine(*state, engine, thread_count(o)));
    note(fmt::format("continuing after {} documents, with {} originals", with_commas(recovered.documents),
                     with_commas(engine.originals().stats().live)));
  }

  // Input and outputs, where the last commit left them.
  FilesSourceOptions source_options{.paths = flags.paths};
  leave_out_outputs(source_options, o, flags, recovered.sink_position);
  source_options.batch_records = o.batch_documents;
  source_options.batch_bytes = o.batch_bytes;
  source_options.columns = o.input;
  source_options.charsets = o.input.format == "html";
  if (is_signed(o.input)) {
    source_options.layout = "signed";
    source_options.signed_scheme = engine_opts.scheme.describe();
  }
  source_options.stop = [] { return g_interrupted != 0; };
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   open_files_source(source_options, recovered.source_position));
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(*source, fetch_options(o, source_options.stop), engine));
  flags.sink.context = {.scheme = fmt::format("{:016x}", key.derive(engine_opts.scheme.describe())),
                        .epoch = recovered.epoch};
  ASSIGN_OR_RETURN(sink, FilesSink::open(flags.sink, recovered.sink_position,
                                         [&](const std::string& message) { messages.say(message); }));

  Progress progress(*source, engine.originals(), !flags.quiet);
  messages.attach(&progress);
  std::unique_ptr<StateJournal> journal;
  if (state != nullptr) journal = std::make_unique<StateJournal>(*state, engine);
  Pipeline pipeline{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : *source,
                    .engine = engine,
                    .sink = *sink,
                    .journal = journal.get(),
                    .format = o.input,
                    .threads = thread_count(o),
                    .stop = [] { return g_interrupted != 0; },
                    .read_now = late_reader(fetching.get()),
                    .observe =
                        [&](const Decided& decided, const BatchTimes&) {
                          if (cdxj != nullptr) cdxj->add(decided.batch);
                        },
                    .progress = [&](const Counters& counters) { progress.update(counters); }};
  ASSIGN_OR_RETURN(Counters counters, run_pipeline(pipeline));
  RETURN_IF_ERROR(sink->finish());
  if (cdxj != nullptr) RETURN_IF_ERROR(cdxj->write(flags.cdxj));
  if (state != nullptr) RETURN_IF_ERROR(state->checkpoint());

  progress.clear();
  if (!flags.quiet) print_summary(counters, engine, bodies, progress.seconds());
  if (g_interrupted != 0) {
    note("interrupted; everything up to here is written");
    return kExitInterrupted;
  }
  return counters.rejected + counters.problems != 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace

int scan_main(int argc, char** argv) {
  CLI::App app(
      "Decides for every document whether it repeats an earlier one.\n\n"
      "The command reads files, directories or stdin in order: JSONL (.jsonl, .ndjson, .json; also .gz, "
      ".zst) with one\n"
      "document per line, Parquet and Arrow with one per row, the records of WARC files (also inside WACZ "
      "files), and any other\n"
      "file as one document. It recognises Parquet, Arrow, gzip and zstd by their content. It writes one "
      "JSON line "
      "per\n"
      "duplicate, or per document with --all.\n\n"
      "Examples:\n"
      "  doppel scan crawl.jsonl.gz > duplicates.jsonl\n"
      "  doppel scan --all --threshold 0.7 articles/ | jq .verdict\n"
      "  doppel scan --text-field article --keep unique.parquet crawl.parquet more/ > duplicates.jsonl\n"
      "  doppel scan --state index -o duplicates.jsonl --keep unique.jsonl crawl-*.jsonl",
      "doppel scan");
  ScanFlags flags;
  CommonFlags common;
  app.add_option("PATH", flags.paths, "files, directories, or - for stdin")->default_str("-");
  app.add_option("-o,--output", flags.sink.output, "where the lines go; - is stdout")->capture_default_str();
  auto* all = app.add_flag("--all", flags.all,
                           "a line per document, in input order, with its verdict; with -o "
                           "FILE.parquet a row");
  app.add_flag("--clusters", flags.clusters, "a line per cluster: the original and its duplicates")
      ->excludes(all);
  app.add_option(
      "--keep", flags.sink.keep,
      "write the unique lines (or WARC records), unchanged, to this file; of Parquet, the rows with "
      "all columns (FILE.parquet), else a line per row; or one file per input below a directory "
      "(DIR/)");
  app.add_option("--keep-files", flags.sink.keep_files, "copy unique whole files below this directory");
  app.add_option("--rejects", flags.sink.rejects,
                 "write lines that could not be read, unchanged, to this file");
  app.add_option("--cdxj", flags.cdxj,
                 "write a CDXJ file of the captures in the WARC files that this run has read");
  add_setting_flag(app, common, "--state", "state.directory");
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_reading_flags(app, common);
  app.add_flag("-q,--quiet", flags.quiet, "no progress, no messages, no summary");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 done; 1 done, but some records were rejected or inputs could not be read; 2 wrong usage "
      "or\n"
      "configuration; 3 stopped by an error (the output is consistent, and with --state a new run "
      "continues);\n"
      "70 a defect of doppel was found, and nothing was written after it; 130 interrupted (as with 3).");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (flags.paths.empty()) flags.paths.emplace_back("-");
  flags.sink.mode = flags.all        ? FilesOutput::verdicts
                    : flags.clusters ? FilesOutput::clusters
                                     : FilesOutput::events;

  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("scan", config.status(), kExitUsage);
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
  catch_signals();
  absl::StatusOr<int> code = scan(*config, flags);
  if (code.ok()) return *code;
  const bool usage = code.status().code() == absl::StatusCode::kInvalidArgument ||
                     code.status().code() == absl::StatusCode::kNotFound;
  return fail("scan", code.status(), usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel
