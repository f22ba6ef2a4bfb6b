// doppel requests: shows what commands have asked the daemon for, and takes it back.
#include "commands/requests.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/say.h"
#include "formats/decoder.h"
#include "state/file.h"

namespace doppel {

std::string list_of(const std::vector<RequestFile>& requests) {
  std::string out;
  if (!requests.empty())
    out = fmt::format("{:<32} {:<20} {:<10} {}\n", "request", "expires", "stage", "command");
  for (const RequestFile& request : requests) {
    const std::string expires = request.stage != "waiting" ? "no more"
                                : request.expires_ms == kNeverExpires
                                    ? "never"
                                    : format_time(request.expires_ms / 1000 * 1000);
    out += fmt::format("{:<32} {:<20} {:<10} {}\n", request.name, expires,
                       request.expired() && request.stage == "waiting" ? "expired" : request.stage,
                       request.command());
  }
  return out;
}

int requests_main(int argc, char** argv) {
  CLI::App app(
      "Shows the requests of doppel offsets and doppel forget that no daemon has answered yet, and cancels "
      "them. A\n"
      "request that no daemon begins before it expires (10 minutes, or --expires of the command) is never "
      "carried out.\n\n"
      "Examples:\n"
      "  doppel requests show --config doppel.yaml\n"
      "  doppel requests cancel 1764337459123456789-4711 --config doppel.yaml",
      "doppel requests");
  CommonFlags common;
  std::string what;
  std::vector<std::string> names;
  app.add_option("what", what, "show or cancel")->required()->check(CLI::IsMember({"show", "cancel"}));
  app.add_option("name", names, "cancel: the requests, as show names them");
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if ((what == "show") != names.empty())
    return fail("requests", "cancel takes the names of requests, and show takes nothing", kExitUsage);
  const absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("requests", config.status(), kExitUsage);
  const std::string& directory = config->options.state_directory;
  if (directory.empty())
    return fail("requests", "state.directory: name the directory of the index", kExitUsage);
  if (!exists(directory)) return fail("requests", directory + ": there is no such directory", kExitUsage);
  if (what == "show") {
    const std::string list = list_of(requests_in(directory));
    print_out("{}", list.empty() ? "there are no requests\n" : list);
    return kExitDone;
  }
  for (const std::string& name : names) {
    const absl::Status status = cancel_request(directory, name);
    if (!status.ok()) return fail("requests", status, kExitSomeFailed);
    print_out("{}: cancelled\n", name);
  }
  return kExitDone;
}

}  // namespace doppel
