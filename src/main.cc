#include "commands/commands.h"

int main(int argc, char** argv) {
  static constexpr doppel::Command kCommands[] = {
      {"scan", "find duplicates in files, directories or stdin", doppel::scan_main},
      {"sign", "make signed records of documents, which scan and serve decide without the texts",
       doppel::sign_main},
      {"serve", "run the daemon: read documents from Kafka or files, publish events", doppel::serve_main},
      {"rebuild", "rebuild an index from its log, its state or the documents", doppel::rebuild_main},
      {"forget", "forget originals by id or tag", doppel::forget_main},
      {"offsets", "show and change where an index continues to read its topics", doppel::offsets_main},
      {"requests", "show what offsets and forget have asked the daemon for, and cancel it",
       doppel::requests_main},
      {"deadletters", "show what could not be judged, and send it to its topics again",
       doppel::deadletters_main},
      {"clusters", "collect events into whole clusters", doppel::clusters_main},
      {"health", "check whether a daemon is alive, or ready", doppel::health_main},
      {"inspect", "show and verify the contents of a state directory", doppel::inspect_main},
      {"revisits", "write revisit records in place of copies with the same payload, for web archives",
       doppel::revisits_main},
      {"report", "show what the WARC files of an archive hold, and what copies take", doppel::report_main},
      {"decontaminate", "find the items of evaluations in a corpus, and keep the documents without them",
       doppel::decontaminate_main},
      {"tune", "show the effect of a threshold, and suggest one for your documents", doppel::tune_main},
      {"explain", "show why two documents are duplicates or not", doppel::explain_main},
      {"text", "show which part of a document is compared", doppel::text_main},
      {"config", "check settings, and show their values and sources", doppel::config_main},
      {"lab", "run the published experiments behind doppel on this machine", doppel::lab_main},
  };
  return doppel::run_command(kCommands, argc, argv);
}
