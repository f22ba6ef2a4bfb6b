// doppel serve: the daemon. It reads the settings, catches signals and runs the mode that the settings name.
#include <CLI/CLI.hpp>
#include <thread>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "commands/commands.h"
#include "config/keys.h"
#include "daemon/signals.h"
#include "http/tls.h"
#include "kafka/topics/plan.h"
#include "roles/roles.h"
#include "state/scheme.h"

namespace doppel {
namespace {

void configure_log(const Options& options) { log::configure(options.log_format, options.log_level); }

// Handles SIGHUP: reads the certificates of the HTTP server and the settings again, applies those that may
// change at run time, and names the others.
void reload(const CommonFlags& flags, const Config& running) {
  http::ServedTls::read_all_again();
  const absl::StatusOr<Config> config = load(flags);
  if (!config.ok()) {
    log::error("the settings cannot be read again; nothing changes",
               {{"error", std_sv(config.status().message())}});
    return;
  }
  std::vector<std::string> later;
  for (size_t i = 0; i < config->settings.size(); ++i) {
    const Setting& now = config->settings[i];
    const bool at_once = now.key.starts_with("log.");
    if (!at_once && now.value != running.settings[i].value) later.push_back(now.key);
  }
  // Log while the more verbose of the two levels is in effect.
  const auto say = [&] {
    log::info("settings read again", {{"log_level", find_key("log.level")->get(config->options)},
                                      {"needs_restart", absl::StrJoin(later, ", ")}});
  };
  const log::Level level = config->options.log_level;
  const bool quieter = level > log::level();
  if (quieter) say();
  configure_log(config->options);
  if (!quieter) say();
}

int exit_code(const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return kExitDone;
  if (absl::IsInvalidArgument(status) || absl::IsNotFound(status) || says_differences(status))
    return kExitUsage;
  return absl::IsAborted(status) ? kExitReplaced : kExitStopped;
}

absl::Status run(const Config& config, const std::function<bool()>& stop,
                 const std::function<void(const absl::Status&)>& ending) {
  if (config.options.kafka.brokers.empty()) return serve_files(config, stop);
  if (!config.options.against.empty())
    return invalid(
        "against: not on Kafka, whose index log holds the whole index; put its originals into it once: "
        "doppel sign --from");
  RETURN_IF_ERROR(check_has_role(config.options));
  ASSIGN_OR_RETURN(const std::unique_ptr<kafka::Cluster> cluster, connect_kafka(config.options));
  if (config.options.cluster.signs()) return serve_signer(config, *cluster, stop);
  if (config.options.cluster.answers_only()) return serve_matcher(config, *cluster, stop);
  return serve_kafka(config, *cluster, {.stop = stop, .ending = ending, .real = true});
}

int serve(const CommonFlags& flags, const Config& config) {
  configure_log(config.options);
  notify::status("starting");
  Signals signals({.shutdown_timeout = std::chrono::milliseconds(config.options.shutdown_timeout_ms),
                   .timeout_code = kExitStopped,
                   .second_code = kExitInterrupted,
                   .reload = [&] { reload(flags, config); }});
  // Everything that waits calls this regularly. A call by the main loop also shows the supervisor that it is
  // alive.
  const std::thread::id main_loop = std::this_thread::get_id();
  const auto stop = [&] {
    if (std::this_thread::get_id() == main_loop) notify::alive();
    return signals.stop();
  };
  const auto ending = [&](const absl::Status& why) { signals.ends(exit_code(why)); };
  const absl::Status status = run(config, stop, ending);
  const int code = exit_code(status);
  if (code == kExitUsage) return fail("serve", status, kExitUsage);
  if (code != kExitDone) log::error("stopped by an error", {{"error", std_sv(status.message())}});
  return code;
}

}  // namespace

int serve_main(int argc, char** argv) {
  Signals::hold();
  CLI::App app(
      "Runs the daemon: it judges documents when they arrive, and publishes an event for each duplicate.\n\n"
      "With kafka.brokers it reads and writes Kafka topics. Without, it follows files: directories that "
      "receive\n"
      "documents, JSONL files that grow and are rotated, or stdin. It judges every document exactly once, "
      "whatever\n"
      "stops the process: start it again, and it continues. With --http it also takes documents by HTTP, "
      "and\n"
      "answers each with its verdict (docs/http.md). With --role it is a part of an index on many machines\n"
      "(docs/cluster.md).\n\n"
      "Examples:\n"
      "  doppel serve --state index -o duplicates.jsonl inbox/          text files, .jsonl, .json, .gz\n"
      "  doppel serve --state index -o duplicates.jsonl /var/log/crawl.jsonl\n"
      "  doppel serve --state index --http 127.0.0.1:9464               documents come by HTTP alone\n"
      "  doppel serve --config /etc/doppel.yaml\n"
      "  doppel serve --config /etc/doppel.yaml --role matcher --shards 0-31/64",
      "doppel serve");
  CommonFlags common;
  std::vector<std::string> paths;
  app.add_option("PATH", paths, "directories or files to follow, - for stdin (files.paths)");
  add_setting_flag(app, common, "-o,--output", "files.output");
  add_setting_flag(app, common, "--keep", "files.unique");
  add_setting_flag(app, common, "--rejects", "files.rejects");
  add_setting_flag(app, common, "--state", "state.directory");
  add_setting_flag(app, common, "--http", "http.listen");
  add_setting_flag(app, common, "-t,--threshold", "threshold");
  add_setting_flag(app, common, "--threads", "threads");
  add_setting_flag(app, common, "--role", "cluster.role");
  add_setting_flag(app, common, "--shards", "cluster.shards");
  add_setting_flag(app, common, "--log-format", "log.format");
  add_setting_flag(app, common, "--log-level", "log.level");
  add_common_flags(app, common);
  app.footer(
      "Signals: on SIGTERM and SIGINT it commits the current batch and exits with 0; a second signal ends it "
      "at once.\n"
      "On SIGHUP it reads the settings (log.*; the rest needs a restart) and the files of http.tls_* again.\n"
      "Exit codes: 0 done; 2 wrong usage or configuration; 3 stopped by an error, or not done within\n"
      "shutdown_timeout; 70 a defect was found (an invariant was broken), and nothing was written after it;\n"
      "75 another process has taken over the index (start it again, and it is a standby); 130 a second "
      "signal.\n"
      "Nothing is lost in any case.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  for (const std::string& path : paths) {
    if (path.find(',') == std::string::npos) continue;
    return fail("serve", path + ": write a path with a comma into the configuration file (files.paths)",
                kExitUsage);
  }
  if (!paths.empty()) common.sets.emplace_back("files.paths", absl::StrJoin(paths, ","));
  if (common.verbose) common.sets.emplace_back("log.level", "debug");
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("serve", config.status(), kExitUsage);
  return serve(common, *config);
}

}  // namespace doppel
