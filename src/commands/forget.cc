// doppel forget: asks the daemon that owns the index to forget originals by id or tag.
#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/offsets.h"
#include "config/values.h"
#include "daemon/requests.h"
#include "fmt/format.h"
#include "state/file.h"

namespace doppel {
namespace {

using Steady = std::chrono::steady_clock;

// Waits for the answer, until the daemon has made no progress for `wait_seconds`.
absl::Status await(const Options& o, const RequestFile& request, int wait_seconds) {
  const std::string& name = request.name;
  const auto patience = std::chrono::seconds(wait_seconds);
  auto end = Steady::now() + patience, show = Steady::now() + std::chrono::seconds(1);
  RequestProgress seen;
  while (Steady::now() < end) {
    const bool left = is_left(o.state_directory, request);
    if (const auto forgotten = take_answer(o.state_directory, name)) {
      print_out("forgot {} original{}\n", *forgotten, *forgotten == 1 ? "" : "s");
      return *forgotten != 0 ? absl::OkStatus() : absl::NotFoundError("there is no such original");
    }
    if (!left) return request_is_gone();
    if (const auto now = request_progress(o.state_directory, name); now && *now != seen) {
      seen = *now;
      end = Steady::now() + patience;
      if (Steady::now() >= show && seen.of != 0) {
        show = Steady::now() + std::chrono::seconds(1);
        print_err("doppel forget: {} {} of {} originals\n", seen.stage == "searching" ? "searched" : "forgot",
                  seen.done, seen.of);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return absl::DeadlineExceededError(fmt::format("no answer and no progress within {} s: {}", wait_seconds,
                                                 kept_until(name, request.expires_ms)));
}

absl::Status forget(const Options& o, const std::string& line, int wait_seconds, int64_t lasts_ms) {
  if (o.dry_run) return invalid("dry_run: not with forget, which leaves a request");
  if (o.state_directory.empty()) return invalid("state.directory: name the directory of the index");
  if (!exists(o.state_directory)) return invalid(o.state_directory + ": there is no such directory");
  RequestFile request{.name = {}, .ending = std::string(kForgetRequest), .line = line};
  request.expires_ms = Clock::unix_ms() + lasts_ms;
  ASSIGN_OR_RETURN(request.name, leave_request(o.state_directory, line, request.expires_ms));
  if (directory_in_use(o.state_directory)) return await(o, request, wait_seconds);
  print_out("no daemon uses {} now; one that starts in time carries it out: {}\n", o.state_directory,
            kept_until(request.name, request.expires_ms));
  return absl::OkStatus();
}

}  // namespace

int forget_main(int argc, char** argv) {
  CLI::App app(
      "Forgets originals: their next copy is unique again, and consumers get original-removed. The daemon "
      "that owns\n"
      "the state directory searches for them in the background and removes them with its next batches, "
      "through the\n"
      "index log, so restarts and rebuilds keep the removal.\n\n"
      "Examples:\n"
      "  doppel forget --config doppel.yaml --id https://example.org/page\n"
      "  doppel forget --config doppel.yaml --where crawl=2026-11",
      "doppel forget");
  CommonFlags common;
  std::string id, event_id, where;
  int wait = 30;
  std::string lasts = kRequestLasts;
  auto* by_id = app.add_option("--id", id, "the document's id, as events show it");
  auto* by_event = app.add_option("--event-id", event_id, "its event_id: topic/partition/offset");
  auto* by_tag = app.add_option("--where", where, "all originals with this tag: NAME=VALUE");
  by_id->excludes(by_event)->excludes(by_tag);
  by_event->excludes(by_tag);
  app.add_option("--wait", wait, "seconds to wait for an answer, or for progress")->capture_default_str();
  app.add_option("--expires", lasts, kExpiresHelp)->capture_default_str();
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (id.empty() && event_id.empty() && where.empty())
    return fail("forget", "name the originals: --id, --event-id or --where", kExitUsage);
  if (!where.empty() && where.find('=') == std::string::npos)
    return fail("forget", "--where: expected NAME=VALUE, such as crawl=2026-11", kExitUsage);
  const std::optional<int64_t> lasts_ms = parse_duration(lasts);
  if (!lasts_ms) return fail("forget", "--expires: expected a duration, such as 10m or 2d", kExitUsage);
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("forget", config.status(), kExitUsage);
  const std::string request = !id.empty()         ? "id=" + id
                              : !event_id.empty() ? "event_id=" + event_id
                                                  : "tag=" + where;
  absl::Status status = forget(config->options, request, wait, *lasts_ms);
  if (status.ok()) return kExitDone;
  if (absl::IsNotFound(status)) return fail("forget", status, kExitSomeFailed);
  return fail("forget", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

}  // namespace doppel
