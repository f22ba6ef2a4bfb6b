#include "roles/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "daemon/daemon.h"
#include "daemon/report.h"
#include "daemon/requests.h"
#include "daemon/web.h"
#include "fetch/fetch_source.h"
#include "files/byte_stream.h"
#include "files/follow/follow_source.h"
#include "files/places.h"
#include "files/write/files_sink.h"
#include "files/write/outputs.h"
#include "formats/presets.h"
#include "intake/intake.h"
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

// One life of the daemon. serve_files() names its passes in order.
class FilesDaemon {
 public:
  FilesDaemon(const Config& config, std::function<bool()> stop)
      : config_(config), o_(config.options), stop_(std::move(stop)) {}

  absl::Status begin();
  absl::Status load_index();
  absl::Status open_outputs();
  absl::Status open_input();
  absl::Status open_intake();
  absl::Status follow();
  absl::Status end();

 private:
  const Config& config_;
  const Options& o_;
  const std::function<bool()> stop_;
  const std::shared_ptr<Intake> intake_ = make_intake(o_);  // null: no documents by HTTP
  std::unique_ptr<DaemonParts> daemon_;

  // The session syncs these two before each commit.
  FilesSinkOptions sink_options_;
  std::unique_ptr<FilesSink> sink_;
  std::unique_ptr<Receipts> receipts_;  // of intake_
  std::unique_ptr<Session> index_;

  std::unique_ptr<StoredOriginals> originals_;  // removed ones, for the sink
  std::unique_ptr<Report> report_;
  std::unique_ptr<SessionJournal> journal_;
  std::unique_ptr<Sink> answering_;  // intake_'s, over sink_

  std::unique_ptr<Source> files_, inserted_;
  std::unique_ptr<FetchSource> fetching_;
  std::shared_ptr<void> watched_;
};

// Begins to answer over HTTP: 503 until the index is loaded.
absl::Status FilesDaemon::begin() {
  RETURN_IF_ERROR(check_places(config_));
  RETURN_IF_ERROR(check_format(o_.input));
  RETURN_IF_ERROR(check_format_of_files(o_.input.format));
  const auto add_routes = [&](http::Server& server) {
    if (intake_ != nullptr) intake_->route(server);
  };
  ASSIGN_OR_RETURN(daemon_, DaemonParts::begin(config_, o_, {.stop = stop_, .routes = add_routes}));
  log::info("starting", {{"input", o_.files.paths.empty() ? "HTTP" : absl::StrJoin(o_.files.paths, ", ")},
                         {"output", o_.files.output},
                         {"state", o_.state_directory}});
  if (o_.files.output == "-" && o_.files.paths != std::vector<std::string>{"-"}) {
    log::warn(
        "doppel cannot truncate stdout after a crash, so some events may appear twice; set files.output");
  }
  return absl::OkStatus();
}

// Loads the index and the positions, as of the last commit that the outputs support.
absl::Status FilesDaemon::load_index() {
  const Clock::time_point start = Clock::now();
  notify::still_starting("loading the index");
  sink_options_ = {
      .mode = o_.output.verdicts == Verdicts::all ? FilesOutput::all_events : FilesOutput::events,
      .output = o_.files.output,
      .keep = o_.files.unique,
      .rejects = o_.files.rejects,
      .sync = o_.fsync == Fsync::commit};
  if (o_.cut != CutTexts::nothing) sink_options_.cut = o_.input;
  SessionOptions opening = session_with_outputs(o_, daemon_->engine, sink_options_, sink_,
                                                [](const std::string& note) { log::warn(note); });
  opening.state.sync_outputs = [this, sync_sink = std::move(opening.state.sync_outputs)] {
    if (receipts_ != nullptr) RETURN_IF_ERROR(receipts_->sync());
    return sync_sink();
  };
  opening.report = daemon_->monitor.progress_reports();
  ASSIGN_OR_RETURN(index_, open_session(std::move(opening)));
  const Recovered& recovered = index_->recovered();
  log::info("index loaded", {{"documents", recovered.documents},
                             {"originals", index_->own()},
                             {"against", index_->from_others()},
                             {"cut_bytes", recovered.cut_bytes},
                             {"ms", ms_since(start)}});
  return absl::OkStatus();
}

// Cuts the outputs to that commit, but never a file that this index did not write.
absl::Status FilesDaemon::open_outputs() {
  const Recovered& recovered = index_->recovered();
  if (const std::string foreign = foreign_output(sink_options_, recovered.sink_position); !foreign.empty()) {
    return invalid(
        fmt::format("{}: the file exists and is not from this index ({}); move it away, or name another",
                    foreign, o_.state_directory));
  }
  Engine& engine = index_->engine();
  originals_ = stored_originals(*index_->state(), engine);
  sink_options_.context = {
      .scheme = fmt::format("{:016x}", daemon_->key.derive(daemon_->engine.scheme.describe())),
      .epoch = recovered.epoch};
  sink_options_.engine = &engine;
  sink_options_.originals = originals_.get();
  sink_options_.lowest_live = recovered.lowest_live;
  report_ = std::make_unique<Report>(engine.originals());
  ASSIGN_OR_RETURN(sink_,
                   FilesSink::open(sink_options_, recovered.sink_position,
                                   [this](const std::string& message) { report_->complain(message); }));
  journal_ = std::make_unique<SessionJournal>(*index_, [this] { return sink_->announced(); });
  return journal_->commit_outputs(sink_->position());  // the outputs belong to this index from here on
}

// Opens the files where the last commit left them, and the documents by HTTP.
absl::Status FilesDaemon::open_input() {
  const Clock::time_point start = Clock::now();
  for (const std::string& path : o_.files.paths) {
    std::error_code none;
    if (path != "-" && !std::filesystem::exists(path, none))
      log::warn("there is no such file yet; doppel reads it when it comes", {{"path", path}});
  }
  if (!o_.files.paths.empty()) {
    FollowOptions follow{
        .files = files_source_options(o_, o_.files.paths, daemon_->engine.scheme, o_.files.unique),
        .bell = intake_ != nullptr ? intake_->bell() : -1};
    follow.files.judged_before = index_->recovered().documents;
    // Symbolic links among the inputs may still lead to these.
    follow.finder.left_out = {o_.state_directory};
    for (const auto& [what, path] : outputs_of(o_)) {
      if (!path.empty() && path != "-") follow.finder.left_out.push_back(path);
    }
    follow.files.stop = daemon_->stopper();
    ASSIGN_OR_RETURN(files_, open_follow_source(follow, index_->recovered().source_position));
  }
  if (intake_ != nullptr) inserted_ = intake_->source(files_.get());
  Source& source = inserted_ != nullptr ? *inserted_ : *files_;
  ASSIGN_OR_RETURN(fetching_, fetch_from(source, fetch_options(o_, daemon_->stopper()), index_->engine()));
  if (fetching_ != nullptr) watched_ = daemon_->monitor.watch(*fetching_);
  log::info("input opened", {{"ms", ms_since(start)}});
  return absl::OkStatus();
}

// Loads the answers that were given. From here on documents by HTTP wait for their verdict.
absl::Status FilesDaemon::open_intake() {
  if (intake_ == nullptr) return absl::OkStatus();
  const Clock::time_point start = Clock::now();
  const uint64_t documents = index_->recovered().documents;
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(receipts_, Receipts::open(o_.state_directory, index_->state()->epoch(), documents, notes));
  for (const std::string& note : notes) log::warn(note);
  log::info("answers loaded", {{"documents", receipts_->size()}, {"ms", ms_since(start)}});
  answering_ = intake_->sink(*sink_);
  intake_->open(sink_options_.context, documents, index_->engine(), *receipts_);
  return absl::OkStatus();
}

// Judges what comes until somebody stops the daemon, or the input ends.
absl::Status FilesDaemon::follow() {
  Engine& engine = index_->engine();
  StateDir& state = *index_->state();
  Monitor& monitor = daemon_->monitor;
  monitor.progress(engine, state);
  const std::unique_ptr<KeptOriginals> kept = kept_originals(state, engine);
  Forgetting forgetting(*kept, index_->bodies());
  ForgetRequests requests(o_.state_directory, forgetting);
  Web web(daemon_->server.get(), {.config = config_,
                                  .engine = engine,
                                  .originals = *kept,
                                  .bodies = index_->bodies(),
                                  .forgetting = &forgetting,
                                  .checkpoint = [&] { return state.checkpoint(); },
                                  .snapshots = [&] { return state.checkpoint_stats(); }});
  SameDocuments same_documents(engine.originals().next_seq(), engine.originals().first_own());
  Deciding deciding{.source = inserted_ != nullptr ? *inserted_ : *files_,
                    .fetching = fetching_.get(),
                    .engine = engine,
                    .state = state,
                    .sink = answering_ != nullptr ? *answering_ : *sink_,
                    .journal = journal_.get(),
                    .same_documents = &same_documents,
                    .web = web,
                    .report = *report_,
                    .requests =
                        [&](Work& work) {
                          requests.look();
                          return forgetting.fill(work) || sink_->has_more_to_write();
                        },
                    .settled =
                        [&] {
                          forgetting.settled();
                          requests.answer();
                        }};
  if (intake_ != nullptr) {
    deciding.recall = [this](const Batch& batch, Work& work) { return intake_->recall(batch, work); };
    deciding.observe = [this](const Decided&) { intake_->committed(); };
  }
  monitor.ready(engine);
  log::info("ready", {{"epoch", index_->recovered().epoch}});
  notify::ready();
  const absl::Status decided = decide(*daemon_, deciding);
  if (intake_ != nullptr) intake_->close();
  return decided;
}

absl::Status FilesDaemon::end() {
  RETURN_IF_ERROR(sink_->finish());
  return index_->state()->checkpoint();
}

}  // namespace

absl::Status serve_files(const Config& config, const std::function<bool()>& stop) {
  FilesDaemon daemon(config, stop);
  RETURN_IF_ERROR(daemon.begin());
  RETURN_IF_ERROR(daemon.load_index());
  RETURN_IF_ERROR(daemon.open_outputs());
  RETURN_IF_ERROR(daemon.open_input());
  RETURN_IF_ERROR(daemon.open_intake());
  RETURN_IF_ERROR(daemon.follow());
  return daemon.end();
}

}  // namespace doppel
