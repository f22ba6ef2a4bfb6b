#include "commands/scan_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/progress.h"
#include "commands/say.h"
#include "formats/bytes/charset.h"
#include "insight/show.h"

namespace doppel {

void print_summary(const Counters& c, const Engine& engine, const Bodies& bodies, double seconds,
                   const Keeper::Cut& cut, std::string_view extract, bool groups) {
  const OriginalsStats stats = engine.originals().stats();
  const uint64_t unique = c.unique - c.bytes_unique, copies = c.duplicates() - c.bytes_copies;
  const uint64_t bytes_only = c.bytes_unique + c.bytes_copies;
  const uint64_t documents = c.records - c.skipped - bytes_only;
  print_err("{}{}, {} in {} ({}/s, {:.1f} MB/s)\n", counted(documents, "document"),
            documents == c.records ? "" : fmt::format(" in {}", counted(c.records, "record")),
            human_bytes(c.bytes), human_seconds(seconds),
            with_commas(static_cast<uint64_t>(c.records / std::max(seconds, 1e-9))),
            c.bytes / 1e6 / std::max(seconds, 1e-9));
  print_err(
      "  {} unique, {} ({} exact, {} near){}\n", with_commas(unique), counted(copies, "duplicate"),
      with_commas(c.exact - c.bytes_copies), with_commas(c.near),
      unique + copies == 0 ? "" : fmt::format(", {:.1f} % of documents", 100.0 * copies / (unique + copies)));
  if (bytes_only != 0) {
    print_err("  {} other records compared by payload digest alone: {} unique, {}\n", with_commas(bytes_only),
              with_commas(c.bytes_unique), counted(c.bytes_copies, "duplicate"));
  }
  if (c.pages != 0) {
    print_err("  {} compared by {}\n", counted(c.pages, "page"),
              extract == "none"      ? "their markup (input.extract)"
              : extract == "visible" ? "their visible text"
                                     : "their main text");
  }
  if (!c.guessed_charsets.empty()) {
    std::string charsets;
    uint64_t texts = 0;
    for (const auto& [charset, count] : c.guessed_charsets) {
      charsets +=
          fmt::format("{}{} {}", charsets.empty() ? "" : ", ", shown_charset(charset), with_commas(count));
      texts += count;
    }
    print_err("  {} in a charset that was guessed: {}\n", counted(texts, "text"), charsets);
  }
  if (c.too_large != 0) {
    print_err("  {} of them because their texts are too large to be held (above 16 MiB)\n",
              with_commas(c.too_large));
  }
  if (c.again != 0) print_err("  {} of them were in the index already\n", with_commas(c.again));
  if (c.unscored != 0) print_err("  {} without a text of their own (unscored)\n", with_commas(c.unscored));
  for (const auto& [reason, count] : c.skipped_by)
    print_err("  {} skipped: {}\n", with_commas(count), reason);
  if (c.rejected != 0) print_err("  {} rejected\n", with_commas(c.rejected));
  if (c.problems != 0) print_err("  {} could not be read as a whole\n", counted(c.problems, "input"));
  const Seq given = engine.originals().first_own();
  print_err("  index: {}{}, {} in memory, {} on disk\n", counted(stats.live - given, "original"),
            given == 0 ? "" : fmt::format(" in addition to {} of --against", with_commas(given)),
            human_bytes(stats.memory_bytes()), human_bytes(bodies.bytes()));
  if (c.match.checks_capped != 0) {
    print_err("  {} had more candidates than max_checks\n", counted(c.match.checks_capped, "document"));
  }
  if (c.contained + c.contains + c.shares != 0) {
    print_err("  of the unique ones, {} are parts of others; {} have others in them; {} share a passage\n",
              with_commas(c.contained), with_commas(c.contains), with_commas(c.shares));
  }
  if (cut.documents != 0) {
    print_err("  passages cut out of {} unique ones, {}{}\n", with_commas(cut.documents),
              human_bytes(cut.bytes),
              cut.emptied == 0 ? "" : fmt::format("; nothing is left of {}", with_commas(cut.emptied)));
  }
  if (c.partial != 0)
    print_err("  of the duplicates, {} are a part of their original\n", with_commas(c.partial));
  if (c.prints_capped != 0)
    print_err("  {} times a passage was in too many originals to be listed (max_listed)\n",
              with_commas(c.prints_capped));
  if (c.listings_capped != 0) {
    print_err("  {} times a band was full (max_listed)\n", with_commas(c.listings_capped));
  }
  if (groups && copies + c.bytes_copies != 0)
    print_err("  -o FILE writes an event for each duplicate, --keep FILE the unique documents\n");
}

}  // namespace doppel
