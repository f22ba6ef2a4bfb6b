// doppel revisits: revisit records in place of copies, for archives.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/status.h"
#include "commands/commands.h"
#include "commands/exit_codes.h"
#include "fmt/format.h"
#include "formats/revisits.h"

namespace doppel {

int revisits_main(int argc, char** argv) {
  CLI::App app(
      "Writes WARC 1.1 revisit records for the copies whose payload is that of their original, byte for "
      "byte.\n\n"
      "Reads duplicate-of events, as doppel scan and serve write them, and takes only those with "
      "relation.same_payload:\n"
      "playback resolves revisit records by digest, so a copy that is merely similar never becomes one.\n\n"
      "Example:\n"
      "  doppel scan --format warc crawl.warc.gz -o events.jsonl; doppel revisits events.jsonl -o "
      "revisits.warc",
      "doppel revisits");
  std::string input = "-", output = "-";
  app.add_option("EVENTS", input, "a file of events, or - for stdin")->capture_default_str();
  app.add_option("-o,--output", output, "where the records go; - is stdout")->capture_default_str();
  if (auto code = parse_flags(app, argc, argv)) return *code;
  std::ifstream file;
  if (input != "-") {
    file.open(input);
    if (!file) return fail("revisits", input + ": cannot be read", kExitUsage);
  }
  std::FILE* out = output == "-" ? stdout : std::fopen(output.c_str(), "wb");
  if (out == nullptr) return fail("revisits", output + ": cannot be written", kExitUsage);
  uint64_t line_number = 0, written = 0, others = 0, wrong = 0;
  std::istream& lines = input == "-" ? std::cin : file;
  for (std::string line; std::getline(lines, line);) {
    ++line_number;
    const absl::StatusOr<std::string> record = revisit_of_event(line);
    if (!record.ok()) {
      ++wrong;
      fmt::print(stderr, "doppel revisits: {}:{}: {}\n", input, line_number,
                 std_sv(record.status().message()));
    } else if (record->empty()) {
      ++others;
    } else {
      ++written;
      std::fwrite(record->data(), 1, record->size(), out);
    }
  }
  const bool failed = std::ferror(out) != 0 || (out != stdout ? std::fclose(out) : std::fflush(out)) != 0;
  if (failed) return fail("revisits", output + ": cannot be written", kExitStopped);
  fmt::print(stderr, "doppel revisits: {} records; {} events of other copies; {} that could not be used\n",
             written, others, wrong);
  return wrong != 0 ? kExitSomeFailed : kExitDone;
}

}  // namespace doppel
