#include "commands/commands.h"

int main(int argc, char** argv) {
  static constexpr doppel::Command kCommands[] = {
      {"scan", "find duplicates in files, directories or stdin", doppel::scan_main},
      {"serve", "the daemon: documents from Kafka or files as they come, events out", doppel::serve_main},
      {"rebuild", "an index made again, from its log, its state or the documents", doppel::rebuild_main},
      {"forget", "originals forgotten by id or tag", doppel::forget_main},
      {"clusters", "events gathered into whole clusters", doppel::clusters_main},
      {"health", "whether a running daemon lives, or is ready", doppel::health_main},
      {"inspect", "what a state directory holds, and whether all of it is whole", doppel::inspect_main},
      {"revisits", "revisit records in place of copies with the same payload, for archives",
       doppel::revisits_main},
      {"tune", "what a threshold means, and which one fits your documents", doppel::tune_main},
      {"explain", "why two documents are, or are not, duplicates", doppel::explain_main},
      {"config", "check settings, show them and where they come from", doppel::config_main},
      {"batch", "the same as a streaming job: mapper, reducer, clusters for an archive's backfill",
       doppel::batch_main},
      {"lab", "the published experiments behind doppel, run on this machine", doppel::lab_main},
  };
  return doppel::run_command(kCommands, argc, argv);
}
