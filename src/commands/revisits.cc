// doppel revisits: writes revisit records in place of copies, for web archives.
#include <CLI/CLI.hpp>
#include <utility>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/exit_codes.h"
#include "commands/progress.h"
#include "commands/say.h"
#include "files/output_file.h"
#include "files/places.h"
#include "files/revisits/revisit_records.h"
#include "files/revisits/rewrite.h"
#include "insight/show.h"

namespace doppel {
namespace {

struct RevisitsFlags {
  std::string input = "-", output = "-", directory;
  std::vector<std::string> paths;
};

using Counts = CopiesOfEvents::Counts;

int exit_code(const Counts& events) {
  return events.wrong + events.verdicts != 0 ? kExitSomeFailed : kExitDone;
}

void say_wrong(const std::string& message) { print_err("doppel revisits: {}\n", one_line(message, 1000)); }

int stopped(const absl::Status& status) {
  return fail("revisits", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
}

void print_verdicts(const Counts& events) {
  if (events.verdicts == 0) return;
  print_err(
      "doppel revisits: {} lines are verdicts (scan --all), which do not name the records; give the events "
      "that scan writes without --all\n",
      with_commas(events.verdicts));
}

void print_turned(uint64_t turned) {
  if (turned == 0) return;
  print_err("  {} originals of events are later than a copy: they refer to the earliest capture now\n",
            with_commas(turned));
}

int write_records(const RevisitsFlags& flags) {
  const NamedPath outputs[] = {{"--output", flags.output}};
  const NamedPath inputs[] = {{"events", flags.input}};
  if (const absl::Status status = check_outputs(outputs, inputs); !status.ok())
    return fail("revisits", status, kExitUsage);
  absl::StatusOr<CopiesOfEvents> events = CopiesOfEvents::open(flags.input);
  if (!events.ok()) return stopped(events.status());
  const absl::StatusOr<std::unique_ptr<WholeOutput>> out = WholeOutput::open(flags.output);
  if (!out.ok()) return fail("revisits", out.status(), kExitUsage);
  const absl::StatusOr<RevisitRecordsReport> report = each_revisit_record(
      *events,
      [&](std::string_view record) {
        const absl::Status status = (*out)->append(record);
        return status.ok() ? status : absl::AbortedError(status.message());
      },
      say_wrong);
  if (!report.ok()) return stopped(report.status());
  if (const absl::Status status = (*out)->finish(); !status.ok())
    return fail("revisits", status, kExitStopped);
  const Counts& counts = events->counts();
  print_err("doppel revisits: {} records; {} events of other copies; {} that could not be used\n",
            report->records, counts.others, counts.wrong);
  print_turned(report->turned);
  if (report->refused != 0) {
    print_err(
        "  {} originals of events are later than a copy, and are in files without copies: they have no "
        "record\n",
        with_commas(report->refused));
  }
  if (report->same != 0)
    print_err("  {} events refer to a record that occurs twice: they have no record\n",
              with_commas(report->same));
  print_verdicts(counts);
  return exit_code(counts);
}

void print_report(const RewriteReport& report, const Counts& events) {
  for (const std::string& problem : report.problems)
    print_err("doppel revisits: {}\n", one_line(problem, 1000));
  if (report.more_problems != 0)
    print_err("doppel revisits: {} more messages of that kind\n", with_commas(report.more_problems));
  const uint64_t saved = report.bytes - report.written;
  print_err("doppel revisits: {}, {}; {} copies replaced, {} saved{}\n", counted(report.files, "WARC file"),
            human_bytes(report.bytes), with_commas(report.replaced), human_bytes(saved),
            report.bytes == 0 ? "" : fmt::format(" ({:.1f} %)", 100.0 * saved / report.bytes));
  print_err("  before {} bytes, now {}\n", report.bytes, report.written);
  if (report.arcs != 0)
    print_err("  {} ARC files are not written again, because they have no revisit records\n",
              with_commas(report.arcs));
  print_turned(report.turned);
  for (const auto& [reason, count] : report.kept)
    print_err("  {} copies stay: {}\n", with_commas(count), reason);
  print_err("  {} events of other copies; {} that could not be used\n", with_commas(events.others),
            with_commas(events.wrong));
}

int rewrite(const RevisitsFlags& flags) {
  for (const std::string& path : flags.paths) {
    if (lies_in(path, flags.directory)) {
      return fail("revisits",
                  fmt::format("{} is in {} (--rewrite), where doppel writes; name another directory", path,
                              flags.directory),
                  kExitUsage);
    }
  }
  const absl::StatusOr<std::unique_ptr<Rewriter>> rewriter = Rewriter::open(flags.paths, flags.directory);
  if (!rewriter.ok()) return fail("revisits", rewriter.status(), kExitUsage);
  absl::StatusOr<CopiesOfEvents> events = CopiesOfEvents::open(flags.input);
  if (!events.ok()) return stopped(events.status());
  if (const absl::Status status =
          events->each([&](PayloadCopy copy) { return (*rewriter)->add(std::move(copy)); }, say_wrong);
      !status.ok())
    return stopped(status);
  if (const absl::Status status = (*rewriter)->write({flags.input}); !status.ok()) return stopped(status);
  const RewriteReport& report = (*rewriter)->report();
  print_report(report, events->counts());
  print_verdicts(events->counts());
  return report.problems.empty() ? exit_code(events->counts()) : kExitSomeFailed;
}

}  // namespace

int revisits_main(int argc, char** argv) {
  CLI::App app(
      "Writes WARC 1.1 revisit records for copies whose payload is equal to their original's, byte for byte. "
      "With\n"
      "--rewrite it writes the WARC files again, with such records in place of the copies.\n\n"
      "The command reads duplicate-of events, as doppel scan and serve write them, and uses only those with\n"
      "relation.same_payload: playback resolves revisit records by digest, so a copy that is merely similar "
      "never\n"
      "becomes one. With --rewrite it replaces a copy only if the copy is where the event says, its stored "
      "payload is\n"
      "equal to the original's, and the original stays. It copies everything else as it is stored, and "
      "changes no input.\n\n"
      "Examples:\n"
      "  doppel scan crawl.warc.gz -o events.jsonl; doppel revisits events.jsonl -o revisits.warc\n"
      "  doppel revisits events.jsonl --rewrite smaller/ crawl.warc.gz",
      "doppel revisits");
  RevisitsFlags flags;
  app.add_option("EVENTS", flags.input, "a file of events, or - for stdin")->capture_default_str();
  auto* paths = app.add_option("WARC", flags.paths,
                               "files and directories that --rewrite writes again; none: the WARC files that "
                               "the events name");
  auto* output =
      app.add_option("-o,--output", flags.output, "where the records go (.gz: a member each); - is stdout")
          ->capture_default_str();
  auto* to =
      app.add_option("--rewrite", flags.directory,
                     "write the WARC files again into this directory, with revisit records in place of "
                     "copies");
  to->excludes(output);
  paths->needs(to);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (to->count() != 0 && flags.directory.empty())
    return fail("revisits", "--rewrite: name a directory", kExitUsage);
  return flags.directory.empty() ? write_records(flags) : rewrite(flags);
}

}  // namespace doppel
