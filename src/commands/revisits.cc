// doppel revisits: writes revisit records in place of copies, for web archives.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/progress.h"
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
  bool wacz = false, dry_run = false, verify = false;
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

// A table of what hosts or types save, the most first.
void print_parts(std::string_view title, const std::map<std::string, RewritePart>& parts) {
  std::vector<std::pair<std::string, RewritePart>> rows(parts.begin(), parts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.saved, a.second.others) > std::pair(b.second.saved, b.second.others);
  });
  constexpr size_t kRows = 10;
  print_err("\n{:<40} {:>10} {:>12} {:>12} {:>13}\n", title, "copies", "stored", "saved", "other copies");
  for (size_t i = 0; i < std::min(rows.size(), kRows); ++i) {
    const RewritePart& part = rows[i].second;
    print_err("{:<40} {:>10} {:>12} {:>12} {:>13}\n", one_line(rows[i].first, 40), with_commas(part.replaced),
              with_commas(part.bytes), with_commas(part.saved), with_commas(part.others));
  }
  if (rows.size() > kRows) print_err("and {} more\n", with_commas(rows.size() - kRows));
}

void print_report(const RewriteReport& report, const Counts& events, const RevisitsFlags& flags) {
  for (const std::string& problem : report.problems)
    print_err("doppel revisits: {}\n", one_line(problem, 1000));
  if (report.more_problems != 0)
    print_err("doppel revisits: {} more messages of that kind\n", with_commas(report.more_problems));
  const uint64_t saved = report.bytes - report.written;
  print_err("doppel revisits: {}{}, {}; {} copies replaced, {} saved{}\n",
            flags.dry_run ? "nothing is written (--dry-run): " : "", counted(report.files, "WARC file"),
            human_bytes(report.bytes), with_commas(report.replaced), human_bytes(saved),
            report.bytes == 0 ? "" : fmt::format(" ({:.1f} %)", 100.0 * saved / report.bytes));
  print_err("  before {} bytes, now {}\n", report.bytes, report.written);
  if (report.packed != 0) print_err("  {} written\n", counted(report.packed, "WACZ file"));
  for (const auto& [wacz, others] : report.needs) {
    for (const auto& [path, count] : others)
      print_err("  {} does not replay without {}: {} of its revisit records refer to it\n", wacz, path,
                with_commas(count));
  }
  if (report.arcs != 0)
    print_err("  {} ARC files are not written again, because they have no revisit records\n",
              with_commas(report.arcs));
  print_turned(report.turned);
  for (const auto& [reason, count] : report.kept)
    print_err("  {} copies stay: {}\n", with_commas(count), reason);
  print_err("  {} events of other copies; {} that could not be used\n", with_commas(events.others),
            with_commas(events.wrong));
  if (flags.verify)
    print_err("  verified: players find the original of {} of {} new revisit records\n",
              with_commas(report.verified), with_commas(report.replaced));
  if (!flags.dry_run) return;
  print_parts("host", report.hosts);
  print_parts("type", report.types);
}

int rewrite(const RevisitsFlags& flags) {
  for (const std::string& path : flags.paths) {
    if (!flags.dry_run && lies_in(path, flags.directory)) {
      return fail("revisits",
                  fmt::format("{} is in {} (--rewrite), where doppel writes; name another directory", path,
                              flags.directory),
                  kExitUsage);
    }
  }
  const absl::StatusOr<std::unique_ptr<Rewriter>> rewriter =
      Rewriter::open(flags.paths, flags.directory, flags.wacz);
  if (!rewriter.ok()) return fail("revisits", rewriter.status(), kExitUsage);
  absl::StatusOr<CopiesOfEvents> events = CopiesOfEvents::open(flags.input);
  if (!events.ok()) return stopped(events.status());
  if (const absl::Status status =
          events->each([&](PayloadCopy copy) { return (*rewriter)->add(std::move(copy)); }, say_wrong,
                       [&](const OtherCopy& copy) { (*rewriter)->add_other(copy); });
      !status.ok())
    return stopped(status);
  absl::Status status = flags.dry_run ? (*rewriter)->estimate() : (*rewriter)->write({flags.input});
  if (status.ok() && flags.verify) status = (*rewriter)->verify();
  if (status.ok() && flags.wacz) status = (*rewriter)->pack();
  if (!status.ok()) return stopped(status);
  const RewriteReport& report = (*rewriter)->report();
  print_report(report, events->counts(), flags);
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
      "  doppel revisits events.jsonl --dry-run crawl.warc.gz\n"
      "  doppel revisits events.jsonl --rewrite smaller/ --verify crawl.warc.gz",
      "doppel revisits");
  RevisitsFlags flags;
  app.add_option("EVENTS", flags.input, "a file of events, also packed with gzip or zstd, or - for stdin")
      ->capture_default_str();
  app.add_option(
      "WARC", flags.paths,
      "files and directories that --rewrite writes again, or --dry-run reads; none: the WARC files that "
      "the events name");
  auto* output =
      app.add_option("-o,--output", flags.output, "where the records go (.gz: a member each); - is stdout")
          ->capture_default_str();
  auto* to =
      app.add_option("--rewrite", flags.directory,
                     "write the WARC files again into this directory, with revisit records in place of "
                     "copies");
  auto* dry_run = app.add_flag("--dry-run", flags.dry_run,
                               "write nothing; say what --rewrite would save, by host and type");
  app.add_flag(
         "--verify", flags.verify,
         "after --rewrite: read what was written, and look up the original of each new revisit record by "
         "the URI, date and digest that it names")
      ->needs(to);
  app.add_flag(
         "--wacz", flags.wacz,
         "after --rewrite: write WACZ files for WACZ files, with a new index, new digests, and the pages "
         "and metadata that they had")
      ->needs(to);
  to->excludes(output);
  dry_run->excludes(output)->excludes(to);
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (to->count() != 0 && flags.directory.empty())
    return fail("revisits", "--rewrite: name a directory", kExitUsage);
  if (!flags.paths.empty() && flags.directory.empty() && !flags.dry_run)
    return fail("revisits", "WARC files are for --rewrite DIRECTORY and --dry-run", kExitUsage);
  return flags.directory.empty() && !flags.dry_run ? write_records(flags) : rewrite(flags);
}

}  // namespace doppel
