// doppel revisits: revisit records in place of copies, for archives.
#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <iostream>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/exit_codes.h"
#include "commands/progress.h"
#include "commands/say.h"
#include "formats/revisits.h"
#include "insight/show.h"
#include "stream/files/places.h"
#include "stream/files/rewrite.h"
#include "stream/files/whole_output.h"

namespace doppel {
namespace {

struct RevisitsFlags {
  std::string input = "-", output = "-", directory;
  std::vector<std::string> paths;
};

// How many events there were of what kind.
struct Events {
  uint64_t used = 0, others = 0, wrong = 0;
};

// `use` says whether the event is of a copy by payload. The error stops it.
absl::StatusOr<Events> each_event(const std::string& input,
                                  const std::function<absl::StatusOr<bool>(std::string_view)>& use) {
  std::ifstream file;
  if (input != "-") {
    file.open(input);
    if (!file) return invalid(input + ": cannot be read");
  }
  std::istream& lines = input == "-" ? std::cin : file;
  Events out;
  uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const absl::StatusOr<bool> used = use(line);
    if (absl::IsInvalidArgument(used.status())) {
      ++out.wrong;
      print_err("doppel revisits: {}:{}: {}\n", input, number, std_sv(used.status().message()));
    } else if (!used.ok()) {
      return used.status();
    } else {
      ++(*used ? out.used : out.others);
    }
  }
  if (lines.bad()) return absl::DataLossError(absl_sv(input + ": cannot be read to its end"));
  return out;
}

int write_records(const RevisitsFlags& flags) {
  const NamedPath outputs[] = {{"--output", flags.output}};
  const NamedPath inputs[] = {{"events", flags.input}};
  if (const absl::Status status = check_outputs(outputs, inputs); !status.ok())
    return fail("revisits", status, kExitUsage);
  const absl::StatusOr<std::unique_ptr<WholeOutput>> out = WholeOutput::open(flags.output);
  if (!out.ok()) return fail("revisits", out.status(), kExitUsage);
  const auto events = each_event(flags.input, [&](std::string_view line) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const std::string record, revisit_of_event(line));
    if (record.empty()) return false;
    if (const absl::Status status = (*out)->append(record); !status.ok())
      return absl::AbortedError(status.message());
    return true;
  });
  if (!events.ok()) {
    return fail("revisits", events.status(),
                absl::IsInvalidArgument(events.status()) ? kExitUsage : kExitStopped);
  }
  if (const absl::Status status = (*out)->finish(); !status.ok())
    return fail("revisits", status, kExitStopped);
  print_err("doppel revisits: {} records; {} events of other copies; {} that could not be used\n",
            events->used, events->others, events->wrong);
  return events->wrong != 0 ? kExitSomeFailed : kExitDone;
}

void print_report(const RewriteReport& report, const Events& events) {
  for (const std::string& problem : report.problems)
    print_err("doppel revisits: {}\n", one_line(problem, 1000));
  if (report.more_problems != 0)
    print_err("doppel revisits: {} more messages of that kind\n", with_commas(report.more_problems));
  const uint64_t saved = report.bytes - report.written;
  print_err("doppel revisits: {} WARC files, {}; {} copies replaced, {} saved{}\n", with_commas(report.files),
            human_bytes(report.bytes), with_commas(report.replaced), human_bytes(saved),
            report.bytes == 0 ? "" : fmt::format(" ({:.1f} %)", 100.0 * saved / report.bytes));
  print_err("  before {} bytes, now {}\n", report.bytes, report.written);
  for (const auto& [reason, count] : report.kept)
    print_err("  {} copies stay: {}\n", with_commas(count), reason);
  print_err("  {} events of other copies; {} that could not be used\n", with_commas(events.others),
            with_commas(events.wrong));
}

int rewrite(const RevisitsFlags& flags) {
  for (const std::string& path : flags.paths) {
    if (lies_in(path, flags.directory)) {
      return fail("revisits",
                  fmt::format("{} lies in {} (--rewrite), where doppel writes; name another directory", path,
                              flags.directory),
                  kExitUsage);
    }
  }
  const absl::StatusOr<std::unique_ptr<Rewriter>> rewriter = Rewriter::open(flags.paths, flags.directory);
  if (!rewriter.ok()) return fail("revisits", rewriter.status(), kExitUsage);
  const auto events = each_event(flags.input, [&](std::string_view line) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const std::optional<PayloadCopy> copy, payload_copy_of_event(line));
    if (!copy) return false;
    RETURN_IF_ERROR((*rewriter)->add(*copy));
    return true;
  });
  if (!events.ok()) {
    return fail("revisits", events.status(),
                absl::IsInvalidArgument(events.status()) ? kExitUsage : kExitStopped);
  }
  if (const absl::Status status = (*rewriter)->write({flags.input}); !status.ok())
    return fail("revisits", status, absl::IsInvalidArgument(status) ? kExitUsage : kExitStopped);
  const RewriteReport& report = (*rewriter)->report();
  print_report(report, *events);
  return events->wrong != 0 || !report.problems.empty() ? kExitSomeFailed : kExitDone;
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
