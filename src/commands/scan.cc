// doppel scan: the detector over files, directories or stdin. Reads the settings, opens state, input and
// outputs, and lets the pipeline run.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <csignal>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "serve/embedded_state.h"
#include "serve/files_sink.h"
#include "serve/setup.h"
#include "stream/files/files_source.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 20;

struct ScanFlags {
  std::vector<std::string> paths;
  FilesSinkOptions sink;
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
  // A closed pipe and a file size limit come back as errors of write().
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

// Messages about single records and inputs: the first ones are shown, the rest is counted.
class Messages {
 public:
  explicit Messages(bool quiet) : quiet_(quiet) {}
  void attach(Progress* progress) { progress_ = progress; }
  void say(const std::string& message) {
    if (count_++ >= kMessagesShown || quiet_) return;
    if (progress_ != nullptr) progress_->clear();
    fmt::print(stderr, "doppel scan: {}\n", message);
    if (count_ == kMessagesShown) fmt::print(stderr, "doppel scan: further ones are only counted\n");
  }

 private:
  bool quiet_;
  Progress* progress_ = nullptr;
  uint64_t count_ = 0;
};

void print_summary(const Counters& c, const Engine& engine, const Bodies& bodies, double seconds) {
  const IndexStats stats = engine.index().stats();
  const uint64_t judged = c.unique + c.duplicates();
  fmt::print(stderr, "{} documents, {} in {} ({}/s, {:.1f} MB/s)\n", with_commas(c.records),
             human_bytes(c.bytes), human_seconds(seconds),
             with_commas(static_cast<uint64_t>(c.records / std::max(seconds, 1e-9))),
             c.bytes / 1e6 / std::max(seconds, 1e-9));
  fmt::print(stderr, "  {} unique, {} duplicates ({} exact, {} near){}\n", with_commas(c.unique),
             with_commas(c.duplicates()), with_commas(c.exact), with_commas(c.near),
             judged == 0 ? "" : fmt::format(", {:.1f} % of documents", 100.0 * c.duplicates() / judged));
  if (c.unscored != 0) fmt::print(stderr, "  {} without text (unscored)\n", with_commas(c.unscored));
  for (const auto& [reason, count] : c.skipped_by)
    fmt::print(stderr, "  {} skipped: {}\n", with_commas(count), reason);
  if (c.rejected != 0) fmt::print(stderr, "  {} rejected\n", with_commas(c.rejected));
  if (c.problems != 0)
    fmt::print(stderr, "  {} inputs could not be read as a whole\n", with_commas(c.problems));
  fmt::print(stderr, "  index: {} originals, {} in memory, {} on disk\n", with_commas(stats.live),
             human_bytes(stats.row_bytes + stats.table_bytes), human_bytes(bodies.bytes()));
  if (c.match.checks_capped != 0) {
    fmt::print(stderr, "  {} documents had more candidates than max_checks\n",
               with_commas(c.match.checks_capped));
  }
  if (c.listings_capped != 0) {
    fmt::print(stderr, "  {} times a band was full (max_listed)\n", with_commas(c.listings_capped));
  }
}

absl::StatusOr<int> scan(const Config& config, ScanFlags& flags) {
  const Options& o = config.options;
  Messages messages(flags.quiet);
  auto tell = [&](const std::string& text) {
    if (!flags.quiet && !text.empty()) fmt::print(stderr, "doppel scan: {}\n", text);
  };

  // The rule and the key.
  std::string key_note;
  ASSIGN_OR_RETURN(HashKey key, choose_hash_key(o, key_note));
  tell(key_note);
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
    for (const std::string& note : recovered.notes) tell(note);
    engine_opts.initial_capacity = std::max<uint64_t>(1024, recovered.next_seq - recovered.first_row);
  } else {
    ASSIGN_OR_RETURN(temporary, temporary_bodies(o.temporary_directory));
  }
  Bodies& bodies = state != nullptr ? state->bodies() : *temporary;
  Engine engine(engine_opts, bodies);
  if (state != nullptr && !recovered.fresh) {
    RETURN_IF_ERROR(restore_engine(*state, engine, thread_count(o)));
    tell(fmt::format("going on after {} documents, {} originals known", with_commas(recovered.documents),
                     with_commas(engine.index().stats().live)));
  }

  // Input and outputs, where the last commit left them.
  FilesSourceOptions source_options{.paths = flags.paths};
  source_options.batch_records = o.batch_documents;
  source_options.batch_bytes = o.batch_bytes;
  source_options.stop = [] { return g_interrupted != 0; };
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   open_files_source(source_options, recovered.source_position));
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(*source, fetch_options(o, source_options.stop), engine));
  flags.sink.context = {.scheme = fmt::format("{:016x}", key.derive(engine_opts.scheme.describe())),
                        .epoch = recovered.epoch};
  ASSIGN_OR_RETURN(sink, FilesSink::open(flags.sink, recovered.sink_position,
                                         [&](const std::string& message) { messages.say(message); }));

  Progress progress(*source, engine.index(), !flags.quiet);
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
                    .progress = [&](const Counters& counters) { progress.update(counters); }};
  ASSIGN_OR_RETURN(Counters counters, run_pipeline(pipeline));
  RETURN_IF_ERROR(sink->finish());
  if (state != nullptr) RETURN_IF_ERROR(state->checkpoint());

  progress.clear();
  if (!flags.quiet) print_summary(counters, engine, bodies, progress.seconds());
  if (g_interrupted != 0) {
    tell("interrupted; everything up to here is written");
    return kExitInterrupted;
  }
  return counters.rejected + counters.problems != 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace

int scan_main(int argc, char** argv) {
  CLI::App app(
      "Says for every document whether it repeats an earlier one.\n\n"
      "Reads files, directories or stdin in order: JSONL (.jsonl, .ndjson, .json; also .gz, .zst) one "
      "document a line,\n"
      "any other file one document. Writes one JSON line per duplicate, or per document with --all.\n\n"
      "Examples:\n"
      "  doppel scan crawl.jsonl.gz > duplicates.jsonl\n"
      "  doppel scan --all --threshold 0.7 articles/ | jq .verdict\n"
      "  doppel scan --state index -o duplicates.jsonl --keep unique.jsonl crawl-*.jsonl",
      "doppel scan");
  ScanFlags flags;
  CommonFlags common;
  app.add_option("PATH", flags.paths, "files, directories, or - for stdin")->default_str("-");
  app.add_option("-o,--output", flags.sink.output, "where the lines go; - is stdout")->capture_default_str();
  auto* all = app.add_flag("--all", flags.all, "a line per document, in input order, with its verdict");
  app.add_flag("--clusters", flags.clusters, "a line per cluster: the original and its duplicates")
      ->excludes(all);
  app.add_option("--keep", flags.sink.keep, "write the unique lines, unchanged, to this file");
  app.add_option("--keep-files", flags.sink.keep_files, "copy unique whole files below this directory");
  app.add_option("--rejects", flags.sink.rejects,
                 "write lines that could not be read, unchanged, to this file");
  add_setting_flag(app, common, "--state", "state.directory");
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--threads", "threads");
  add_setting_flag(app, common, "--format", "input.format");
  add_setting_flag(app, common, "--id-field", "input.id");
  add_setting_flag(app, common, "--text-field", "input.text");
  add_setting_flag(app, common, "--url-field", "input.url");
  add_setting_flag(app, common, "--date-field", "input.date");
  app.add_flag("-q,--quiet", flags.quiet, "no progress, no messages, no summary");
  add_common_flags(app, common);
  app.footer(
      "Exit codes: 0 done; 1 done, but some records were rejected or inputs could not be read; 2 wrong usage "
      "or\n"
      "configuration; 3 stopped by an error (what was written is consistent, with --state a new run goes "
      "on);\n"
      "130 interrupted (likewise).");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (flags.paths.empty()) flags.paths.emplace_back("-");
  flags.sink.mode = flags.all        ? FilesOutput::verdicts
                    : flags.clusters ? FilesOutput::clusters
                                     : FilesOutput::events;

  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("scan", config.status(), kExitUsage);
  if (flags.clusters && !config->options.state_directory.empty()) {
    return fail(
        "scan",
        "--clusters shows one run as a whole and cannot be continued: with --state write events (or --all) "
        "and group them by cluster_id",
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
