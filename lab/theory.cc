// The theory, drawn: shingles and their hashes, the characteristic matrix, the permutation experiment,
// bands, S-curves.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/collection.h"
#include "lab/duplicate_finder.h"
#include "lab/experiments.h"
#include "lab/k_shingles.h"
#include "lab/theory.h"
#include "text/hash_key.h"

namespace doppel::lab {
namespace {

double meets(double s, int rows, int bands) { return 1 - std::pow(1 - std::pow(s, rows), bands); }

// A well-mixed 32-bit hash of a string.
uint32_t hash32(std::string_view text) {
  uint64_t h = text.size();
  for (char c : text) h = mix64(h ^ static_cast<unsigned char>(c));
  return static_cast<uint32_t>(h >> 32);
}

std::string listed(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  std::string out;
  for (const std::string& item : items) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", item);
  return out;
}

void small_examples(Report& report) {
  const ShingleStrings two = k_shingles("abcdabd", {.k = 2});
  const std::vector<std::string> words = word_shingles("it is trivial to show", 3);
  report.say(
      fmt::format("The 2-shingles of \"abcdabd\" are {} different ones (\"ab\" is there twice): {}. The "
                  "3-shingles of words of \"it is trivial to "
                  "show\" are {}: {}.",
                  two.size(), listed({two.begin(), two.end()}), words.size(), listed(words)));
}

absl::Status hashed_shingles(const LabOptions& options, Report& report) {
  std::string text;
  std::string what;
  if (!options.data.empty()) {
    ASSIGN_OR_RETURN(const Collection own, read_folder(options.data));
    for (const std::string& one : own.texts) text += one + " ";
    what = options.data;
  } else {
    const Prose prose(options.seed);
    Random random(options.seed, 1);
    text = joined(prose.words(static_cast<size_t>(options.by_size(20'000, 150'000, 300'000)), random));
    what = "generated prose";
  }
  Table table{.name = "theory_hashed_shingles",
              .title = "Shingles of k characters, hashed to 32 bits",
              .caption = fmt::format(
                  "1 run, scale 1: {} characters of {}, seed {}. 20^k: as if a text used 20 characters "
                  "equally often. Expected: n^2 / 2^33. "
                  "2^32 is 4,294,967,296: 4 billion, and not \"about 4 million\" as the study says.",
                  with_commas(text.size()), what, options.seed),
              .columns = {"k", "distinct shingles n", "20^k", "20^k / length", "20^k / 2^32",
                          "expected collisions", "counted"},
              .rows = {}};
  for (int k = 4; k <= 8; ++k) {
    options.progress(fmt::format("theory: shingles of {} characters", k));
    const ShingleStrings shingles = k_shingles(text, {.k = k, .lower_case = true});
    absl::flat_hash_set<uint32_t> hashes;
    for (const std::string& shingle : shingles) hashes.insert(hash32(shingle));
    const auto n = static_cast<double>(shingles.size());
    const double possible = std::pow(20, k);
    table.row({num(k, 0), count(shingles.size()), sci(possible, 2),
               num(possible / static_cast<double>(text.size()), 2), sci(possible / 0x1p32, 2),
               num(n * n / 0x1p33, 2), count(shingles.size() - hashes.size())});
  }
  report.add(std::move(table));
  report.say(
      "The rule of thumb: choose k so large that 20^k is much more than the length of a text; otherwise "
      "every document has every shingle. k = 5 or 6 is enough. From k = 8 on there are more possible "
      "shingles than 32-bit numbers, but a text uses so few of them that hashes hardly ever collide.");
  return absl::OkStatus();
}

void permutation_experiment(const LabOptions& options, Report& report) {
  // Rows of type a are in both sets, of type b in one, of type c in neither: J = a / (a + b).
  constexpr int kA = 3, kB = 4, kC = 5;
  Table types{
      .name = "theory_row_types",
      .title = "A characteristic matrix and the types of its rows",
      .caption = fmt::format(
          "Type a: in both sets ({} rows); b: in one ({}); c: in none ({}). J = a / (a + b) = {:.4f}.", kA,
          kB, kC, static_cast<double>(kA) / (kA + kB)),
      .columns = {"row", "S1", "S2", "type"},
      .rows = {}};
  std::string rows;  // the type of each row
  for (int i = 0; i < kA + kB + kC; ++i) {
    const char type = i < kA ? 'a' : i < kA + kB ? 'b' : 'c';
    rows += type;
    types.row({num(i + 1, 0), num(type == 'a' || (type == 'b' && i % 2 == 0), 0),
               num(type == 'a' || (type == 'b' && i % 2 == 1), 0), text(std::string(1, type))});
  }
  report.add(std::move(types));
  Plot plot{.name = "theory_permutations",
            .title = "Share of permutations whose first row that is not of type c is of type a",
            .caption = fmt::format("1 run, scale 1, 10,000 permutations of the rows above, seed {}. This "
                                   "share is what a signature's equal slots estimate.",
                                   options.seed),
            .x_label = "permutations tried",
            .y_label = "share",
            .log_x = true,
            .series = {{.name = "share of type a", .points = {}},
                       {.name = "J", .look = Series::Look::dashed, .points = {}}}};
  Random random(options.seed, 3);
  std::vector<char> order(rows.begin(), rows.end());
  int hits = 0;
  double next = 1;
  constexpr double kJ = static_cast<double>(kA) / (kA + kB);
  for (int trial = 1; trial <= 10'000; ++trial) {
    random.shuffle(order);
    hits += *std::find_if(order.begin(), order.end(), [](char type) { return type != 'c'; }) == 'a' ? 1 : 0;
    if (trial < static_cast<int>(next) && trial != 10'000) continue;
    plot.series[0].points.emplace_back(trial, static_cast<double>(hits) / trial);
    plot.series[1].points.emplace_back(trial, kJ);
    next = std::max(next + 1, next * 1.08);
  }
  report.add(std::move(plot));
}

void band_example(Report& report) {
  // Twelve values of four documents. D1's first band equals D2's second: equal values in different bands
  // are no match.
  const std::array<std::array<uint32_t, 12>, 4> signatures{{{1, 0, 2, 3, 4, 4, 1, 0, 2, 2, 5, 1},
                                                            {3, 2, 2, 0, 1, 0, 2, 3, 5, 0, 1, 1},
                                                            {1, 0, 2, 3, 0, 3, 1, 1, 4, 0, 2, 3},
                                                            {2, 5, 0, 1, 3, 1, 4, 2, 2, 2, 5, 1}}};
  Table values{.name = "theory_signatures",
               .title = "A signature matrix of 12 values in 3 bands of 4",
               .caption = "Written by hand.",
               .columns = {"band", "row", "D1", "D2", "D3", "D4"},
               .rows = {}};
  for (size_t row = 0; row < 12; ++row) {
    std::vector<Cell> cells{count(row / 4 + 1), count(row + 1)};
    for (const auto& signature : signatures) cells.push_back(count(signature[row]));
    values.row(std::move(cells));
  }
  report.add(std::move(values));
  Table bands{.name = "theory_bands",
              .title = "Its 3 x 4 table of band hashes",
              .caption =
                  "Each band has a table of its own: D1 and D3 match in band 1, D1 and D4 in band 3. D1 in "
                  "band 1 and D2 in band 2 have equal hashes and do not match.",
              .columns = {"band", "D1", "D2", "D3", "D4", "matches"},
              .rows = {}};
  for (size_t band = 0; band < 3; ++band) {
    std::vector<Cell> cells{num(static_cast<double>(band + 1), 0)};
    std::vector<uint32_t> hashes;
    for (const auto& signature : signatures) {
      std::string bytes;
      for (size_t i = 0; i < 4; ++i) bytes += static_cast<char>('0' + signature[band * 4 + i]);
      hashes.push_back(hash32(bytes) % 1000);
      cells.push_back(num(hashes.back(), 0));
    }
    std::string matches;
    for (size_t i = 0; i < 4; ++i) {
      for (size_t j = i + 1; j < 4; ++j) {
        if (hashes[i] == hashes[j])
          matches += fmt::format("{}D{}-D{}", matches.empty() ? "" : ", ", i + 1, j + 1);
      }
    }
    cells.push_back(text(matches));
    bands.row(std::move(cells));
  }
  report.add(std::move(bands));
}

void comparisons(const LabOptions& options, Report& report) {
  constexpr int kRows = 5, kBands = 20;
  Table table{
      .name = "theory_comparisons",
      .title = "Comparisons with and without LSH",
      .caption = fmt::format("1 run, generated articles, one in ten a near-copy, seed {}; b = {}, r = {}.",
                             options.seed, kBands, kRows),
      .columns = {"documents", "all pairs", "compared with LSH", "% of all pairs"},
      .rows = {}};
  for (size_t n : {100, 300, 1000, 3000}) {
    if (n > static_cast<size_t>(options.by_size(300, 3000, 3000))) continue;
    options.progress(fmt::format("theory: comparisons of {} documents", n));
    const MadeArticles made = make_articles(n, n / 10, .5, 1, options.seed);
    const IntegerSets ids = integer_sets(made.articles, Encoding::own_ids);
    Random random(options.seed, n);
    const MinHashFinder minhash(ids, draw_hashes(kRows * kBands, ids, Encoding::own_ids, random));
    const LshFinder lsh(minhash.signatures(), {.bands = kBands, .buckets = 1'000'003});
    const size_t pairs = n * (n - 1) / 2;
    const auto all = static_cast<double>(pairs);
    table.row({count(n), num(all, 0), count(lsh.candidates().size()),
               num(static_cast<double>(lsh.candidates().size()) / all * 100, 3)});
  }
  report.add(std::move(table));
}

std::vector<std::pair<int, int>> bandings(const LabOptions& options) {
  if (!options.bandings.empty()) return options.bandings;
  return {{1, 12}, {3, 4}, {5, 20}, {6, 18}, {10, 10}, {25, 39}};
}

void s_curves(const LabOptions& options, Report& report) {
  Plot plot{.name = "theory_s_curves",
            .title = "S-curves: 1-(1-s^r)^b",
            .caption =
                "Dots on each curve: the point of steepest slope, and (1/b)^(1/r), which is commonly used as "
                "the turning point. With r = 1 there is no such point: the curve is steepest at 0.",
            .x_label = "Jaccard similarity s",
            .y_label = "probability to become a candidate",
            .y_from = 0,
            .y_to = 1};
  Series steepest{.name = "steepest", .look = Series::Look::dots, .points = {}};
  Series turns{.name = "(1/b)^(1/r)", .look = Series::Look::dots, .points = {}};
  Table table{.name = "theory_steepest",
              .title = "Where the curves turn",
              .caption = "Steepest: ((r-1)/(b r - 1))^(1/r); 0 for r = 1.",
              .columns = {"r", "b", "steepest at", "P there", "slope", "(1/b)^(1/r)", "P there", "P(.8)"},
              .rows = {}};
  for (auto [r, b] : bandings(options)) {
    Series series{.name = fmt::format("r = {}, b = {}", r, b), .points = {}};
    for (int i = 0; i <= 100; ++i) series.points.emplace_back(i / 100.0, meets(i / 100.0, r, b));
    plot.series.push_back(std::move(series));
    const double at = steepest_point(r, b);
    const double turn = std::pow(1.0 / b, 1.0 / r);
    const double slope = b * r * std::pow(at, r - 1) * std::pow(1 - std::pow(at, r), b - 1);
    steepest.points.emplace_back(at, meets(at, r, b));
    turns.points.emplace_back(turn, meets(turn, r, b));
    table.row({num(r, 0), num(b, 0), num(at, 4), num(meets(at, r, b), 4), num(slope, 3), num(turn, 4),
               num(meets(turn, r, b), 4), num(meets(.8, r, b), 4)});
  }
  plot.series.push_back(std::move(steepest));
  plot.series.push_back(std::move(turns));
  report.add(std::move(plot));
  report.add(std::move(table));
}

void below_or_above(Report& report) {
  Table table{
      .name = "theory_below_above",
      .title = "Choosing bands for a threshold below or above the wanted one (.8), 120 functions",
      .caption =
          "False negatives: share of pairs uniform in .8 to 1 that share no bucket; false positives: share "
          "of pairs uniform in 0 to .8 that share one. Exact integrals. The study's \"when the threshold is "
          "higher, more false positives\" is reversed: a higher one has fewer, and more false negatives.",
      .columns = {"r", "b", "(1/b)^(1/r)", "false negatives (%)", "false positives (%)"},
      .rows = {}};
  for (int r : {3, 4, 5, 6, 8, 10, 12, 15, 20, 30}) {
    const int b = 120 / r;
    double missed = 0;
    double wrong = 0;
    constexpr int kSteps = 4000;
    for (int i = 0; i < kSteps; ++i) {
      const double u = (i + .5) / kSteps;
      missed += (1 - meets(.8 + .2 * u, r, b)) / kSteps;
      wrong += meets(.8 * u, r, b) / kSteps;
    }
    table.row({num(r, 0), num(b, 0), num(std::pow(1.0 / b, 1.0 / r), 3), num(missed * 100, 3),
               num(wrong * 100, 3)});
  }
  report.add(std::move(table));
  Table slip{.name = "theory_one_in",
             .title = "\"One in 1.6 will fail\"",
             .caption =
                 "A pair of similarity .94 in 20 bands of 50 rows. The study rounds .94^50 to .05 and "
                 "reports the share that is found as the share that fails.",
             .columns = {"", ".94^50", "found", "fails", "one in ... fails"},
             .rows = {}};
  for (double p : {.05, std::pow(.94, 50)}) {
    const double found = 1 - std::pow(1 - p, 20);
    slip.row({text(p == .05 ? "as the study rounds" : "exact"), num(p, 4), num(found, 3), num(1 - found, 3),
              num(1 / (1 - found), 2)});
  }
  report.add(std::move(slip));
}

}  // namespace

double steepest_point(int rows, int bands) {
  if (rows * bands <= 1) return 0;
  return std::pow(static_cast<double>(rows - 1) / (bands * rows - 1), 1.0 / rows);
}

std::vector<std::string> word_shingles(std::string_view text, size_t words) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) all.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::string> out;
  for (size_t i = 0; i + words <= all.size(); ++i) {
    out.push_back(
        joined({all.begin() + static_cast<ptrdiff_t>(i), all.begin() + static_cast<ptrdiff_t>(i + words)}));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

absl::StatusOr<Report> theory_experiment(const LabOptions& options) {
  Report report{.name = "theory", .title = "The theory, drawn", .command = options.command, .blocks = {}};
  small_examples(report);
  RETURN_IF_ERROR(hashed_shingles(options, report));
  permutation_experiment(options, report);
  band_example(report);
  comparisons(options, report);
  s_curves(options, report);
  below_or_above(report);
  return report;
}

}  // namespace doppel::lab
