// The studies' own slips, and where each is shown.
#include <cmath>

#include "fmt/format.h"
#include "lab/experiments.h"
#include "lab/k_shingles.h"

namespace doppel::lab {
namespace {

// The study's loop over divisors, read literally: min_error is where minError begins, and `lowered` whether
// the loop lowers it.
int literal_bands(int n, double threshold, double min_error, bool lowered) {
  int best = 0;
  for (int b = 1; b <= n; ++b) {
    if (n % b != 0) continue;
    const double absolute = std::abs(reached_threshold(n, b) - threshold);
    if (!(absolute < min_error)) continue;
    best = b;
    if (lowered) min_error = absolute;
  }
  return best;
}

Table list_of_slips() {
  const double exact = std::pow(.94, 50);
  Table table{.name = "slips",
              .title = "What the studies say, and what is correct",
              .caption = "1 run, scale 1; only the named tables involve chance.",
              .columns = {"the study says", "it is", "shown in"},
              .rows = {}};
  auto row = [&](const std::string& says, const std::string& is, const std::string& shown) {
    table.row({text(says), text(is), text(shown)});
  };
  row("table 2: 5.005e7 comparisons with 150 permutations",
      fmt::format("500,500 pairs x 150 = {:.4e}; 5.005e7 is 100 permutations", 500'500.0 * 150),
      "time, comparisons");
  row("one in 1.6 will fail",
      fmt::format(".642 is the share found, with .94^50 rounded to .05; with exact {:.4f} it is {:.3f}, and "
                  "one in {:.2f} fails",
                  exact, 1 - std::pow(1 - exact, 20), 1 / std::pow(1 - exact, 20)),
      "theory, \"One in 1.6 will fail\"");
  row("when the threshold is higher, more false positives",
      "reversed: fewer false positives, more false negatives", "theory, below or above");
  row("about 4 million 32-bit integers", fmt::format("2^32 = {:.0f}, 4 billion", std::pow(2, 32)),
      "theory, hashed shingles");
  row("keep the pair if `absolute < minError`",
      "says not where minError begins nor that it is lowered; see below", "the table below");
  row("union: add what is \"not contained in S1\"",
      "right for two sets; with a third one, elements of S2 are added again; it has to be: not in the union",
      "the table below");
  row("increasing permutations increases false positives",
      "the bands do; at fixed bands permutations change nothing", "near-duplicates, it is the bands");
  return table;
}

Table loop_table() {
  Table table{
      .name = "slips_min_error",
      .title = "The loop over divisors of n = 500, read in three ways",
      .caption = "1 run, scale 1. Correct: minError begins at infinity and is lowered. 0: nothing is kept.",
      .columns = {"threshold", "as it must be", "begins at 0", "begins at 1, never lowered"},
      .rows = {}};
  for (double t : {0.0, .2, .42, .64, .8, 1.0}) {
    table.row({num(t, 2), num(literal_bands(500, t, INFINITY, true), 0),
               num(literal_bands(500, t, 0, true), 0), num(literal_bands(500, t, 1, false), 0)});
  }
  return table;
}

// The union of three sets by the rule "add what is not contained in S1", and by the correct one.
Table union_table() {
  const std::vector<std::vector<std::string>> sets{{"a", "b"}, {"b", "c"}, {"c", "d"}};
  Table table{
      .name = "slips_union",
      .title = "The union of {a, b}, {b, c}, {c, d}",
      .caption =
          "1 run, scale 1. A row that occurs twice gets two hash values, so the estimate is for other sets.",
      .columns = {"rule", "rows", "how many"},
      .rows = {}};
  for (bool right : {false, true}) {
    std::vector<std::string> rows = sets[0];
    auto contains = [](const std::vector<std::string>& all, const std::string& x) {
      for (const std::string& y : all) {
        if (x == y) return true;
      }
      return false;
    };
    for (size_t s = 1; s < sets.size(); ++s) {
      for (const std::string& x : sets[s]) {
        if (!contains(right ? rows : sets[0], x)) rows.push_back(x);
      }
    }
    table.row({text(right ? "not in the union yet" : "not contained in S1"), text(joined(rows)),
               count(rows.size())});
  }
  return table;
}

}  // namespace

absl::StatusOr<Report> slips_experiment(const LabOptions& options) {
  Report report{.name = "slips", .title = "The studies' own slips", .command = options.command, .blocks = {}};
  report.add(list_of_slips());
  report.add(loop_table());
  report.add(union_table());
  return report;
}

}  // namespace doppel::lab
