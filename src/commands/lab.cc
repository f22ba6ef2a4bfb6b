// doppel lab: starts doppel-lab, the program with the published experiments, which is installed beside
// doppel.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands/commands.h"

namespace doppel {

int lab_main(int argc, char** argv) {
  CLI::App app(
      "Runs the published experiments behind doppel. `doppel lab --help` lists them, `doppel lab NAME "
      "--help` "
      "shows the flags of one.",
      "doppel lab");
  app.set_help_flag();  // doppel-lab takes all flags
  app.allow_extras();
  if (auto code = parse_flags(app, argc, argv)) return *code;
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  ::execv((own.parent_path() / "doppel-lab").c_str(), argv);
  ::execvp("doppel-lab", argv);
  return fail(
      "lab",
      fmt::format("doppel-lab does not start ({}). It has the experiments and belongs beside {}: install "
                  "doppel's package, or build the target doppel_lab_cli",
                  std::strerror(errno), own.string()),
      kExitUsage);
}

}  // namespace doppel
