#include "commands/commands.h"

int main(int argc, char** argv) {
  static constexpr doppel::Command kCommands[] = {
      {"scan", "find duplicates in files, directories or stdin", doppel::scan_main},
      {"config", "check settings, show them and where they come from", doppel::config_main},
  };
  return doppel::run_command(kCommands, argc, argv);
}
