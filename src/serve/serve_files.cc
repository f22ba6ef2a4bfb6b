#include "serve/serve_files.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "serve/embedded_state.h"
#include "serve/files_sink.h"
#include "serve/forget_requests.h"
#include "serve/monitor.h"
#include "serve/report.h"
#include "serve/setup.h"
#include "serve/state_originals.h"
#include "serve/web.h"
#include "stream/files/follow_source.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

int64_t ms_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

bool is_below(const fs::path& path, const fs::path& directory) {
  const fs::path relative = path.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

// What we write must not come back as input.
absl::Status check_places(const Options& o) {
  const Options::Files& files = o.files;
  if (files.paths.empty()) {
    return invalid(
        "nothing to read: name files or directories (files.paths), or Kafka (kafka.brokers, kafka.topics)");
  }
  if (o.state_directory.empty()) {
    return invalid("state.directory: serve needs a place for its index, so that a new start goes on");
  }
  if (o.dry_run)
    return invalid("dry_run: not with files; doppel scan without --state judges and keeps nothing");
  std::error_code error;
  for (const std::string& input : files.paths) {
    if (!fs::is_directory(input, error)) continue;
    const fs::path directory = fs::weakly_canonical(input, error);
    for (const std::string& place : {files.output, files.unique, files.rejects, o.state_directory}) {
      if (place.empty() || place == "-") continue;
      if (is_below(fs::weakly_canonical(fs::absolute(place), error), directory)) {
        return invalid(fmt::format("{}: is below {}, which is read; what is written there would come back",
                                   place, input));
      }
    }
  }
  for (const std::string& input : files.paths) {
    for (const std::string& place : {files.output, files.unique, files.rejects}) {
      if (input != "-" && input == place) return invalid(fmt::format("{}: is both read and written", place));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status serve_files(const Config& config, const std::function<bool()>& stop_wished) {
  const Options& o = config.options;
  RETURN_IF_ERROR(check_places(o));
  RETURN_IF_ERROR(check_format(o.input));
  std::string note;
  ASSIGN_OR_RETURN(const HashKey key, choose_hash_key(o, note));
  if (!note.empty()) log::warn(note);
  ASSIGN_OR_RETURN(EngineOptions engine_opts, engine_options(o, key));
  Monitor monitor({.options = o, .rule = engine_opts.rule, .stop = stop_wished});
  const auto stop = [&] { return monitor.stop(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<http::Server> server, open_http(o));
  if (server != nullptr) monitor.answer(*server);
  log::info("starting", {{"input", absl::StrJoin(o.files.paths, ", ")},
                         {"output", o.files.output},
                         {"state", o.state_directory}});
  if (o.files.output == "-" && o.files.paths != std::vector<std::string>{"-"}) {
    log::warn("stdout cannot be cut back after a crash: some events may come twice; set files.output");
  }

  // The index and how far the input was read, as of the last commit that the outputs support.
  Clock::time_point start = Clock::now();
  notify::still_starting("loading the index");
  FilesSinkOptions sink_options{
      .mode = o.output.verdicts == "all" ? FilesOutput::all_events : FilesOutput::events,
      .output = o.files.output,
      .keep = o.files.unique,
      .rejects = o.files.rejects,
      .sync = o.fsync == "commit"};
  std::unique_ptr<FilesSink> sink;
  ASSIGN_OR_RETURN(const std::unique_ptr<StateDir> state,
                   open_embedded_state(
                       o, engine_opts,
                       [&](std::string_view position) { return FilesSink::supports(sink_options, position); },
                       [&] { return sink != nullptr ? sink->sync() : absl::OkStatus(); }));
  const Recovered& recovered = state->recovered();
  for (const std::string& told : recovered.notes) log::warn(told);
  engine_opts.initial_capacity = std::max<uint64_t>(1024, recovered.next_seq - recovered.first_row);
  Engine engine(engine_opts, state->bodies());
  if (!recovered.fresh) RETURN_IF_ERROR(restore_engine(*state, engine, thread_count(o), monitor.told()));
  log::info("index loaded", {{"documents", recovered.documents},
                             {"originals", engine.index().stats().live},
                             {"cut_bytes", recovered.cut_bytes},
                             {"ms", ms_since(start)}});

  // The outputs, cut to that commit. What this index did not write is not ours to cut.
  if (const std::string foreign = FilesSink::foreign_output(sink_options, recovered.sink_position);
      !foreign.empty()) {
    return invalid(
        fmt::format("{}: the file is there and not from this index ({}); move it away, or name another",
                    foreign, o.state_directory));
  }
  sink_options.context = {.scheme = fmt::format("{:016x}", key.derive(engine_opts.scheme.describe())),
                          .epoch = recovered.epoch};
  const std::unique_ptr<StoredOriginals> originals = stored_originals(*state, engine);
  sink_options.engine = &engine;
  sink_options.originals = originals.get();
  sink_options.lowest_live = recovered.lowest_live;
  Report report(engine.index());
  ASSIGN_OR_RETURN(sink, FilesSink::open(sink_options, recovered.sink_position,
                                         [&](const std::string& message) { report.complain(message); }));
  StateJournal journal(*state, engine, [&] { return sink->announced(); });
  RETURN_IF_ERROR(journal.commit_outputs(sink->position()));  // they are ours from here on

  start = Clock::now();
  FollowOptions follow;
  follow.files.paths = o.files.paths;
  follow.files.batch_records = static_cast<size_t>(o.batch_documents);
  follow.files.batch_bytes = o.batch_bytes;
  follow.files.stop = stop;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   open_follow_source(follow, recovered.source_position));
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(*source, fetch_options(o, stop), engine));
  std::shared_ptr<void> watched;
  if (fetching != nullptr) watched = monitor.watch(*fetching);
  monitor.progress(engine, *state);
  Web web(server.get(), {.config = config,
                         .engine = engine,
                         .bodies = state->bodies(),
                         .checkpoint = [&] { return state->checkpoint(); },
                         .snapshots = [&] { return state->checkpoint_stats(); }});
  monitor.ready(engine);
  log::info("ready", {{"input_listed_ms", ms_since(start)}, {"epoch", recovered.epoch}});
  notify::ready();

  ForgetRequests requests(o.state_directory, engine, state->bodies());
  Pipeline pipeline{.source = fetching != nullptr ? static_cast<Source&>(*fetching) : *source,
                    .engine = engine,
                    .sink = *sink,
                    .journal = &journal,
                    .format = o.input,
                    .threads = thread_count(o),
                    .stop = stop,
                    .wishes =
                        [&](Work& work) {
                          const bool files = requests.fill(work);
                          return web.wishes(work) || files || sink->has_more_to_tell();
                        },
                    .read_now = late_reader(fetching.get()),
                    .observe =
                        [&](const Decided& decided, const BatchTimes& times) {
                          monitor.metrics().observe(decided, times);
                          web.observe(decided);
                        },
                    .progress =
                        [&](const Counters& counters) {
                          monitor.progress(engine, *state);
                          requests.settled();
                          web.progress(counters);
                          report.progress(counters);
                        }};
  ASSIGN_OR_RETURN(const Counters counters, run_pipeline(pipeline));
  RETURN_IF_ERROR(sink->finish());
  RETURN_IF_ERROR(state->checkpoint());
  report.end(counters);
  if (fetching != nullptr) report_fetches(fetching->counts());
  return absl::OkStatus();
}

}  // namespace doppel
