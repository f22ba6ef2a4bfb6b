#include "roles/roles.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "daemon/daemon_parts.h"
#include "daemon/decide.h"
#include "daemon/forget_requests.h"
#include "daemon/report.h"
#include "daemon/web.h"
#include "fetch/fetch_source.h"
#include "files/byte_stream.h"
#include "files/follow/follow_source.h"
#include "files/places.h"
#include "files/write/files_sink.h"
#include "files/write/outputs.h"
#include "formats/presets.h"
#include "intake/intake.h"
#include "open/assemble.h"
#include "open/originals.h"
#include "open/setup.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

int64_t ms_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

std::vector<NamedPath> outputs_of(const Options& o) {
  return {
      {"files.output", o.files.output}, {"files.unique", o.files.unique}, {"files.rejects", o.files.rejects}};
}

// Whether documents may come by HTTP alone: somebody chose the address, so that a forgotten path is noticed.
bool is_service(const Config& config) {
  return !config.options.http.listen.empty() &&
         std::any_of(config.settings.begin(), config.settings.end(), [](const Setting& setting) {
           return setting.key == "http.listen" && setting.origin != "default";
         });
}

// Refuses outputs inside the inputs: doppel would read what it writes.
absl::Status check_places(const Config& config) {
  const Options& o = config.options;
  const Options::Files& files = o.files;
  if (files.paths.empty() && !is_service(config)) {
    return invalid(
        "nothing to read: name files or directories (files.paths), or Kafka (kafka.brokers, kafka.topics), "
        "or the address at which documents come (--http, http.listen)");
  }
  if (files.paths.empty() && is_signed(o.input))
    return invalid("input.format: documents that come by HTTP are not signed; name another format");
  if (o.state_directory.empty()) {
    return invalid(
        "state.directory: serve needs a directory for its index, so that the next start can continue");
  }
  if (o.dry_run)
    return invalid("dry_run: not with files; doppel scan without --state judges and keeps nothing");
  const std::vector<NamedPath> outputs = outputs_of(o);
  std::vector<NamedPath> inputs{{"hash_key_file", o.hash_key_file}};
  for (const std::string& input : files.paths) inputs.push_back({"files.paths", input});
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  std::error_code error;
  for (const std::string& input : files.paths) {
    if (!fs::is_directory(input, error)) continue;
    std::vector<NamedPath> written = outputs;
    written.push_back({"state.directory", o.state_directory});
    for (const auto& [what, place] : written) {
      if (place.empty() || place == "-" || !lies_in(place, input)) continue;
      return invalid(
          fmt::format("{}: is below {}, which is an input; doppel would read what it writes", place, input));
    }
  }
  for (const auto& [what, place] : outputs) {
    if (!place.empty() && place != "-" && lies_in(place, o.state_directory)) {
      return invalid(fmt::format("{}: {} is in the state directory {}; name a place outside it", what, place,
                                 o.state_directory));
    }
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// Documents by HTTP; null if there is no server. Beside files an insert needs the token, as every other
// change. Alone it needs the token if there is one.
std::shared_ptr<Intake> make_intake(const Options& o) {
  if (o.http.listen.empty() || is_signed(o.input)) return nullptr;
  const bool alone = o.files.paths.empty();
  return std::make_shared<Intake>(
      IntakeOptions{.format = o.input,
                    .access = alone ? http::Access::token_if_any : http::Access::token,
                    .to_disk = o.fsync == Fsync::commit});
}

}  // namespace

absl::Status serve_files(const Config& config, const std::function<bool()>& stop_requested) {
  const Options& o = config.options;
  RETURN_IF_ERROR(check_places(config));
  RETURN_IF_ERROR(check_format(o.input));
  RETURN_IF_ERROR(check_format_of_files(o.input.format));
  const std::shared_ptr<Intake> intake = make_intake(o);
  const auto add_routes = [&](http::Server& server) {
    if (intake != nullptr) intake->route(server);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<DaemonParts> daemon,
                   DaemonParts::begin(config, o, {.stop = stop_requested, .routes = add_routes}));
  Monitor& monitor = daemon->monitor;
  log::info("starting", {{"input", o.files.paths.empty() ? "HTTP" : absl::StrJoin(o.files.paths, ", ")},
                         {"output", o.files.output},
                         {"state", o.state_directory}});
  if (o.files.output == "-" && o.files.paths != std::vector<std::string>{"-"}) {
    log::warn(
        "doppel cannot truncate stdout after a crash, so some events may appear twice; set files.output");
  }

  // Load the index and the position of the input, as of the last commit that the outputs support.
  Clock::time_point start = Clock::now();
  notify::still_starting("loading the index");
  FilesSinkOptions sink_options{
      .mode = o.output.verdicts == Verdicts::all ? FilesOutput::all_events : FilesOutput::events,
      .output = o.files.output,
      .keep = o.files.unique,
      .rejects = o.files.rejects,
      .sync = o.fsync == Fsync::commit};
  if (o.cut != CutTexts::nothing) sink_options.cut = o.input;
  std::unique_ptr<FilesSink> sink;
  SessionOptions opening = session_options(o, daemon->engine);
  opening.supports = [&](std::string_view position) { return outputs_support(sink_options, position); };
  std::unique_ptr<Receipts> receipts;
  opening.state.sync_outputs = [&] {
    if (receipts != nullptr) RETURN_IF_ERROR(receipts->sync());
    return sink != nullptr ? sink->sync() : absl::OkStatus();
  };
  opening.check = [&](const Recovered& found) {
    for (const std::string& each : found.notes) log::warn(each);
    return check_outputs_are_there(sink_options, found.sink_position, o.state_directory);
  };
  opening.report = monitor.progress_reports();
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> index, open_session(std::move(opening)));
  Engine& engine = index->engine();
  StateDir& state = *index->state();
  const Recovered& recovered = index->recovered();
  log::info("index loaded", {{"documents", recovered.documents},
                             {"originals", index->own()},
                             {"against", index->from_others()},
                             {"cut_bytes", recovered.cut_bytes},
                             {"ms", ms_since(start)}});

  // Cut the outputs to that commit, but never a file that this index did not write.
  if (const std::string foreign = foreign_output(sink_options, recovered.sink_position); !foreign.empty()) {
    return invalid(
        fmt::format("{}: the file exists and is not from this index ({}); move it away, or name another",
                    foreign, o.state_directory));
  }
  sink_options.context = {
      .scheme = fmt::format("{:016x}", daemon->key.derive(daemon->engine.scheme.describe())),
      .epoch = recovered.epoch};
  const std::unique_ptr<StoredOriginals> originals = stored_originals(state, engine);
  sink_options.engine = &engine;
  sink_options.originals = originals.get();
  sink_options.lowest_live = recovered.lowest_live;
  Report report(engine.originals());
  ASSIGN_OR_RETURN(sink, FilesSink::open(sink_options, recovered.sink_position,
                                         [&](const std::string& message) { report.complain(message); }));
  SessionJournal journal(*index, [&] { return sink->announced(); });
  RETURN_IF_ERROR(journal.commit_outputs(sink->position()));  // the outputs belong to this index from here on

  start = Clock::now();
  const Fd no_intake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int bell = intake != nullptr ? intake->bell() : no_intake.get();
  std::unique_ptr<Source> files, inserted;
  if (!o.files.paths.empty()) {
    FollowOptions follow{
        .files = files_source_options(o, o.files.paths, daemon->engine.scheme, o.files.unique), .bell = bell};
    // Symbolic links among the inputs may still lead to these.
    follow.finder.left_out = {o.state_directory};
    for (const auto& [what, path] : outputs_of(o)) {
      if (!path.empty() && path != "-") follow.finder.left_out.push_back(path);
    }
    follow.files.stop = daemon->stopper();
    ASSIGN_OR_RETURN(files, open_follow_source(follow, recovered.source_position));
  }
  if (intake != nullptr) inserted = intake->source(files.get());
  Source& source = inserted != nullptr ? *inserted : *files;
  ASSIGN_OR_RETURN(const std::unique_ptr<FetchSource> fetching,
                   fetch_from(source, fetch_options(o, daemon->stopper()), engine));
  std::shared_ptr<void> watched;
  if (fetching != nullptr) watched = monitor.watch(*fetching);
  monitor.progress(engine, state);
  const std::unique_ptr<KeptOriginals> kept = kept_originals(state, engine);
  Forgetting forgetting(*kept, index->bodies());
  ForgetRequests requests(o.state_directory, forgetting);
  Web web(daemon->server.get(), {.config = config,
                                 .engine = engine,
                                 .originals = *kept,
                                 .bodies = index->bodies(),
                                 .forgetting = &forgetting,
                                 .checkpoint = [&] { return state.checkpoint(); },
                                 .snapshots = [&] { return state.checkpoint_stats(); },
                                 .bell = bell});
  std::function<absl::Status(const Batch&, Work&)> recall;
  std::unique_ptr<Sink> keeping;
  if (intake != nullptr) {
    std::vector<std::string> notes;
    ASSIGN_OR_RETURN(receipts, Receipts::open(o.state_directory, state.epoch(), recovered.documents, notes));
    for (const std::string& each : notes) log::warn(each);
    recall = [&](const Batch& batch, Work& work) { return intake->recall(batch, work); };
    keeping = intake->sink(*sink);
    intake->open(sink_options.context, recovered.documents, engine, *receipts);
  }
  monitor.ready(engine);
  log::info("ready", {{"input_listed_ms", ms_since(start)}, {"epoch", recovered.epoch}});
  notify::ready();

  KnownAgain known_again(engine.originals().next_seq(), engine.originals().first_own());
  const absl::Status decided =
      decide(*daemon, {.source = source,
                       .fetching = fetching.get(),
                       .engine = engine,
                       .state = state,
                       .sink = keeping != nullptr ? *keeping : *sink,
                       .journal = &journal,
                       .known_again = &known_again,
                       .web = web,
                       .report = report,
                       .requests =
                           [&](Work& work) {
                             requests.look();
                             return forgetting.fill(work) || sink->has_more_to_write();
                           },
                       .settled =
                           [&] {
                             forgetting.settled();
                             requests.answer();
                           },
                       .recall = std::move(recall),
                       .observe =
                           [&](const Decided&) {
                             if (intake != nullptr) intake->committed();
                           }});
  if (intake != nullptr) intake->close();
  RETURN_IF_ERROR(decided);
  RETURN_IF_ERROR(sink->finish());
  return state.checkpoint();
}

}  // namespace doppel
