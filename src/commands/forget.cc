// doppel forget: originals are forgotten by id or tag, by the daemon that owns the index.
#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "base/status.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "serve/forget_requests.h"
#include "state/lock.h"

namespace doppel {
namespace {

absl::Status forget(const Options& o, const std::string& wish, int wait_seconds) {
  if (o.state_directory.empty()) return invalid("state.directory: which index? Name its directory");
  if (!exists(o.state_directory)) return invalid(o.state_directory + ": there is no such directory");
  ASSIGN_OR_RETURN(const std::string name, leave_request(o.state_directory, wish));
  const bool running = absl::IsUnavailable(lock_directory(o.state_directory).status());
  if (!running) {
    fmt::print("no daemon uses {} now: the wish is kept and carried out when one starts\n",
               o.state_directory);
    return absl::OkStatus();
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wait_seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (const auto forgotten = take_answer(o.state_directory, name)) {
      fmt::print("forgot {} original{}\n", *forgotten, *forgotten == 1 ? "" : "s");
      return *forgotten != 0 ? absl::OkStatus() : absl::NotFoundError("there is no such original");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return absl::DeadlineExceededError(
      fmt::format("no answer within {} s; the wish is kept and will be carried out", wait_seconds));
}

}  // namespace

int forget_main(int argc, char** argv) {
  CLI::App app(
      "Forgets originals: their next copy is new again, and original-removed tells the consumers. The daemon "
      "that owns "
      "the state directory does it, with its next batch, through the index log: it survives restarts and "
      "rebuilds.\n\n"
      "Examples:\n"
      "  doppel forget --config doppel.yaml --id https://example.org/page\n"
      "  doppel forget --config doppel.yaml --where crawl=2026-11",
      "doppel forget");
  CommonFlags common;
  std::string id, event_id, where;
  int wait = 30;
  auto* by_id = app.add_option("--id", id, "the document's id, as events show it");
  auto* by_event = app.add_option("--event-id", event_id, "its event_id: topic/partition/offset");
  auto* by_tag = app.add_option("--where", where, "all with this tag: NAME=VALUE");
  by_id->excludes(by_event)->excludes(by_tag);
  by_event->excludes(by_tag);
  app.add_option("--wait", wait, "seconds to wait for the daemon's answer")->capture_default_str();
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (id.empty() && event_id.empty() && where.empty())
    return fail("forget", "say what: --id, --event-id or --where", kExitUsage);
  if (!where.empty() && where.find('=') == std::string::npos)
    return fail("forget", "--where: expected NAME=VALUE, such as crawl=2026-11", kExitUsage);
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("forget", config.status(), kExitUsage);
  const std::string wish = !id.empty()         ? "id=" + id
                           : !event_id.empty() ? "event_id=" + event_id
                                               : "tag=" + where;
  absl::Status status = forget(config->options, wish, wait);
  if (status.ok()) return kExitDone;
  if (absl::IsNotFound(status)) return fail("forget", status, kExitSomeFailed);
  return fail("forget", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

}  // namespace doppel
