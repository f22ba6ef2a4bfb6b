// doppel serve: the daemon.
#include <CLI/CLI.hpp>
#include <csignal>

#include "base/status.h"
#include "commands/commands.h"
#include "serve/serve_kafka.h"

namespace doppel {
namespace {

volatile std::sig_atomic_t g_stop = 0;
void on_signal(int) { g_stop = 1; }

}  // namespace

int serve_main(int argc, char** argv) {
  CLI::App app("The daemon: reads documents from Kafka topics and publishes duplicate-of events.",
               "doppel serve");
  CommonFlags common;
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("serve", config.status(), kExitUsage);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  absl::Status status = serve_kafka(*config, [] { return g_stop != 0; });
  if (status.ok() || absl::IsCancelled(status)) return kExitDone;
  if (absl::IsAborted(status)) return fail("serve", status, 75);
  return fail("serve", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

}  // namespace doppel
