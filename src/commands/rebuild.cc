// doppel rebuild: rebuilds an index from its log, its state directory, or the documents.
#include <CLI/CLI.hpp>

#include "base/standard_streams.h"
#include "base/status.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "formats/decoder.h"
#include "kafka/topics/plan.h"
#include "roles/roles.h"

namespace doppel {
namespace {

// Parses --since: an offset or a time.
absl::Status read_since(const std::string& text, RebuildOptions& out) {
  if (!text.empty() && text.size() < 13 && text.find_first_not_of("0123456789") == std::string::npos) {
    out.since_offset = std::stoll(text);
    return absl::OkStatus();
  }
  const auto ms = parse_time(text);
  if (!ms)
    return invalid(
        fmt::format("--since: {} is neither an offset nor a time such as 2026-01-31T12:00:00Z", text));
  out.since_ms = *ms;
  return absl::OkStatus();
}

}  // namespace

int rebuild_main(int argc, char** argv) {
  catch_stop_signals(kExitInterrupted);
  CLI::App app(
      "Rebuilds an index. After an interruption the same command continues.\n\n"
      "  --from log        restore the state directory from the index log; it is exact and needs no "
      "documents\n"
      "  --from state      publish a lost index log again from an intact state directory, to a new topic, or "
      "to\n"
      "                    another cluster (with --offsets)\n"
      "  --from documents  make a new index log and state directory from the current input topics. Set both "
      "to new\n"
      "                    names; other settings may change too. Then configure serve with them.\n\n"
      "Examples:\n"
      "  doppel rebuild --config doppel.yaml --from log\n"
      "  doppel rebuild --config doppel.yaml --from documents --since 2026-01-01 --set threshold=0.7 \\\n"
      "      --set kafka.index_log=doppel-index-2 --set state.directory=/var/lib/doppel-2",
      "doppel rebuild");
  CommonFlags common;
  RebuildOptions options;
  options.stop = stop_asked;
  options.real = true;
  std::string from, since, on_missing = "stop";
  app.add_option("--from", from, "log, state or documents")
      ->required()
      ->check(CLI::IsMember({"log", "state", "documents"}));
  app.add_option("--since", since, "documents: begin at this offset of every partition, or at this time");
  app.add_flag("--publish", options.publish, "documents: also publish events (default: none)");
  app.add_option("--on-missing", on_missing,
                 "documents: what to do when a document cannot be read any more from its WARC file")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->capture_default_str();
  app.add_option("--missing-as-in", options.missing_as_in,
                 "documents: do not try the documents that the index of this log could not read, so that the "
                 "verdicts are the same");
  app.add_option(
      "--offsets", options.offsets,
      "state: where the input continues on another cluster: `keep` where it was (the topics hold the "
      "same records at the same offsets), or a file with a line TOPIC/PARTITION=WHERE for each "
      "partition, where WHERE is an offset, beginning, end, or a time");
  add_setting_flag(app, common, "--state", "state.directory");
  add_common_flags(app, common);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  options.from = from == "log"     ? RebuildOptions::From::log
                 : from == "state" ? RebuildOptions::From::state
                                   : RebuildOptions::From::documents;
  options.missing_stops = on_missing == "stop";
  absl::Status status = since.empty() ? absl::OkStatus() : read_since(since, options);
  if (!status.ok()) return fail("rebuild", status, kExitUsage);
  if (!options.offsets.empty() && options.from != RebuildOptions::From::state)
    return fail("rebuild", "--offsets: only with --from state; the others know where the input continues",
                kExitUsage);
  absl::StatusOr<Config> config = load(common);
  if (!config.ok()) return fail("rebuild", config.status(), kExitUsage);
  if (config->options.dry_run)
    return fail("rebuild", "dry_run: not with rebuild, which writes an index", kExitUsage);
  if (status = check_has_role(config->options); !status.ok()) return fail("rebuild", status, kExitUsage);
  const absl::StatusOr<std::unique_ptr<kafka::Cluster>> cluster = connect_kafka(config->options);
  if (!cluster.ok()) return fail("rebuild", cluster.status(), kExitUsage);
  status = rebuild(*config, **cluster, options);
  if (status.ok()) return kExitDone;
  if (absl::IsCancelled(status)) return fail("rebuild", status, kExitInterrupted);
  return fail("rebuild", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

}  // namespace doppel
