// The study of character k-shingles: what k does to a similarity, how many functions an estimate wants and of
// which family, and bands that follow a threshold. Plots are numbered as the study's figures 6 to 32, in
// their order.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/collection.h"
#include "lab/experiments.h"
#include "lab/k_shingles.h"

namespace doppel::lab {
namespace {

constexpr int kLongest = 15;
constexpr int kPairs = 5;
constexpr int kMost = 500;  // functions
constexpr std::array kThresholds{0.0, .2, .42, .64, .8, 1.0};
constexpr std::array kFamilies{HashFamily::modular, HashFamily::jenkins};
const char* name_of(HashFamily family) {
  return family == HashFamily::modular ? "modular hashing" : "Jenkins' mix";
}

Plot figure(int number, const std::string& title, const std::string& caption, const std::string& x,
            const std::string& y) {
  return {.name = fmt::format("shingles_figure{:02}", number),
          .title = fmt::format("Figure {}: {}", number, title),
          .caption = caption,
          .x_label = x,
          .y_label = y};
}

// What a document pair of random permutations of 50 words shows for one k.
struct Cell2 {
  double exact = 0, exact_seconds = 0, exact_no_spaces = 0;
  std::array<std::vector<double>, 2> estimates;  // by family, by n
};

struct Findings {
  double at_1 = 0, at_7 = 0, at_15 = 0, spaces = 0, no_spaces = 0;
  std::array<double, 2> error{}, seconds{};
  double error_100 = 0, error_200 = 0, error_500 = 0;
  size_t from = 0;  // documents from which LSH is faster; 0: never
  double copies_4 = 0, copies_5 = 0, copies_8 = 0, word_length = 0;
};

class Study {
 public:
  Study(const LabOptions& options, Report& report)
      : options_(options), report_(report), prose_(options.seed) {
    for (int n = 0; n <= kMost; n += options.by_size(100, 25, 25)) functions_.push_back(std::max(1, n));
    runs_ = options.runs_or(1, 3, 10);
  }

  absl::Status run() {
    make_pairs();
    similarities();
    estimates();
    times_of_functions();
    RETURN_IF_ERROR(many_documents());
    faster_from();
    findings();
    return absl::OkStatus();
  }

 private:
  std::string caption(const std::string& more = "") const {
    return fmt::format("{} {}, scale 1 ({} pairs of random permutations of the same 50 words), seed {}.{}{}",
                       runs_, runs_ == 1 ? "run" : "runs", kPairs, options_.seed, more.empty() ? "" : " ",
                       more);
  }

  void make_pairs() {
    Random random(options_.seed, 50);
    std::vector<std::string> words = prose_.words(50, random);
    for (int pair = 0; pair < kPairs; ++pair) {
      for (int side = 0; side < 2; ++side) {
        random.shuffle(words);
        texts_[static_cast<size_t>(pair)][static_cast<size_t>(side)] = joined(words);
      }
    }
    double letters = 0;
    for (const std::string& word : words) letters += static_cast<double>(word.size()) / 50;
    found_.word_length = letters;
    report_.say(
        fmt::format("Pairs of documents: random permutations of the same 50 words (mean length {:.2f} "
                    "letters, the study's documents 5.84), so that a pair "
                    "has all its words in common and none of its order. Characters are taken as they are, "
                    "with spaces unless said otherwise.",
                    letters));
  }

  void similarities() {
    options_.progress("shingles: similarities");
    const int repeats = runs_ * 20;
    for (int k = 1; k <= kLongest; ++k) {
      for (size_t pair = 0; pair < kPairs; ++pair) {
        Cell2& cell = cells_[static_cast<size_t>(k)][pair];
        const Stopwatch watch;
        for (int repeat = 0; repeat < repeats; ++repeat) {
          cell.exact = jaccard(k_shingles(texts_[pair][0], {.k = k}), k_shingles(texts_[pair][1], {.k = k}));
        }
        cell.exact_seconds = watch.seconds() / repeats;
        cell.exact_no_spaces = jaccard(k_shingles(texts_[pair][0], {.k = k, .spaces = false}),
                                       k_shingles(texts_[pair][1], {.k = k, .spaces = false}));
      }
    }
    const std::string x = "k (characters of a shingle)";
    auto each = [&](Plot plot, auto value) {
      for (size_t pair = 0; pair < kPairs; ++pair) {
        Series series{.name = fmt::format("pair {}", pair + 1), .points = {}};
        for (size_t k = 1; k <= kLongest; ++k) series.points.emplace_back(k, value(cells_[k][pair]));
        plot.series.push_back(std::move(series));
      }
      report_.add(std::move(plot));
    };
    auto exact = [](const Cell2& c) { return c.exact * 100; };
    auto bare = [](const Cell2& c) { return c.exact_no_spaces * 100; };
    auto micros = [](const Cell2& c) { return c.exact_seconds * 1e6; };
    each(figure(6, "similarity against k, each pair", caption(), x, "Jaccard similarity (%)"), exact);
    Plot seven = figure(7, "similarity against k, mean", caption(), x, "Jaccard similarity (%)");
    seven.series.push_back(mean_series("mean of five pairs", exact));
    report_.add(std::move(seven));
    each(figure(8, "time of an exact similarity, each pair", caption("With making the sets."), x,
                "microseconds"),
         micros);
    Plot nine =
        figure(9, "time of an exact similarity, mean", caption("With making the sets."), x, "microseconds");
    nine.series.push_back(mean_series("mean of five pairs", micros));
    report_.add(std::move(nine));
    Plot ten =
        figure(10, "similarity with and without spaces", caption("Means."), x, "Jaccard similarity (%)");
    ten.series.push_back(mean_series("with spaces", exact));
    ten.series.push_back(mean_series("without spaces", bare));
    for (size_t k = 2; k <= 10; ++k) {
      found_.spaces += ten.series[0].points[k - 1].second / 9;
      found_.no_spaces += ten.series[1].points[k - 1].second / 9;
    }
    found_.at_1 = ten.series[0].points[0].second;
    found_.at_7 = ten.series[0].points[6].second;
    found_.at_15 = ten.series[0].points[14].second;
    report_.add(std::move(ten));
  }

  template <typename Value>
  Series mean_series(const std::string& name, const Value& value) const {
    Series series{.name = name, .points = {}};
    for (size_t k = 1; k <= kLongest; ++k) {
      double sum = 0;
      for (size_t pair = 0; pair < kPairs; ++pair) sum += value(cells_[k][pair]) / kPairs;
      series.points.emplace_back(k, sum);
    }
    return series;
  }

  // Mean absolute error over pairs, runs, and k from 2 to 15 (at k = 1 both sets are equal and no estimate
  // errs).
  void estimates() {
    for (auto& family : errors_) family.assign(functions_.size(), 0);
    for (int run = 0; run < runs_; ++run) {
      options_.progress(fmt::format("shingles: estimates, run {} of {}", run + 1, runs_));
      for (int k = 1; k <= kLongest; ++k) {
        for (size_t pair = 0; pair < kPairs; ++pair) {
          const CharacteristicMatrix matrix = characteristic_matrix(
              {k_shingles(texts_[pair][0], {.k = k}), k_shingles(texts_[pair][1], {.k = k})});
          Cell2& cell = cells_[static_cast<size_t>(k)][pair];
          for (size_t family = 0; family < 2; ++family) {
            Random random(options_.seed + static_cast<uint64_t>(run), pair * 100 + static_cast<uint64_t>(k));
            const auto made =
                signatures(matrix, draw_functions(kFamilies[family], kMost, matrix.rows.size(), random));
            std::vector<double>& estimates = cell.estimates[family];
            estimates.resize(functions_.size());
            for (size_t i = 0; i < functions_.size(); ++i) {
              const double e = estimate(made[0], made[1], static_cast<size_t>(functions_[i]));
              if (run == 0) estimates[i] = e;
              if (k > 1) errors_[family][i] += std::abs(e - cell.exact) / (kPairs * (kLongest - 1) * runs_);
            }
          }
        }
      }
    }
    for (size_t family = 0; family < 2; ++family) {
      const char* name = name_of(kFamilies[family]);
      Plot plot = figure(
          11 + static_cast<int>(family), fmt::format("estimate against the number of functions, {}", name),
          caption("k = 5, the first run; dashed: exact."), "n (functions)", "Jaccard similarity (%)");
      for (size_t pair = 0; pair < 3; ++pair) {
        Series estimated{.name = fmt::format("pair {}", pair + 1), .points = {}};
        Series exact{
            .name = fmt::format("pair {}, exact", pair + 1), .look = Series::Look::dashed, .points = {}};
        for (size_t i = 0; i < functions_.size(); ++i) {
          estimated.points.emplace_back(functions_[i], cells_[5][pair].estimates[family][i] * 100);
          exact.points.emplace_back(functions_[i], cells_[5][pair].exact * 100);
        }
        plot.series.push_back(std::move(estimated));
        plot.series.push_back(std::move(exact));
      }
      report_.add(std::move(plot));
    }
    for (size_t family = 0; family < 2; ++family) {
      Plot plot =
          figure(13 + static_cast<int>(family),
                 fmt::format("estimate against n and k, {}", name_of(kFamilies[family])),
                 caption("Means of five pairs, the first run."), "n (functions)", "estimated similarity (%)");
      for (size_t k : {1, 2, 3, 4, 5, 7, 10, 15}) {
        Series series{.name = fmt::format("k = {}", k), .points = {}};
        for (size_t i = 0; i < functions_.size(); ++i) {
          double sum = 0;
          for (size_t pair = 0; pair < kPairs; ++pair)
            sum += cells_[k][pair].estimates[family][i] * 100 / kPairs;
          series.points.emplace_back(functions_[i], sum);
        }
        plot.series.push_back(std::move(series));
      }
      report_.add(std::move(plot));
    }
  }

  void times_of_functions() {
    options_.progress("shingles: times");
    std::array<std::vector<double>, 2> means;
    for (size_t family = 0; family < 2; ++family) {
      Plot plot = figure(
          15 + static_cast<int>(family), fmt::format("time against n, {}", name_of(kFamilies[family])),
          caption("Signatures of both documents; mean of five pairs."), "n (functions)", "microseconds");
      means[family].assign(functions_.size(), 0);
      for (int k : {2, 5, 10}) {
        Series series{.name = fmt::format("k = {}", k), .points = {}};
        for (size_t i = 0; i < functions_.size(); ++i) {
          double seconds = 0;
          for (size_t pair = 0; pair < kPairs; ++pair) {
            const CharacteristicMatrix matrix = characteristic_matrix(
                {k_shingles(texts_[pair][0], {.k = k}), k_shingles(texts_[pair][1], {.k = k})});
            Random random(options_.seed, pair);
            const RowFunctions functions =
                draw_functions(kFamilies[family], functions_[i], matrix.rows.size(), random);
            const Stopwatch watch;
            for (int run = 0; run < runs_; ++run) signatures(matrix, functions);
            seconds += watch.seconds() / kPairs / runs_;
          }
          series.points.emplace_back(functions_[i], seconds * 1e6);
          means[family][i] += seconds * 1e6 / 3;
        }
        plot.series.push_back(std::move(series));
      }
      report_.add(std::move(plot));
    }
    const std::string errors = caption("Mean absolute error over k = 2 to 15.");
    for (size_t family = 0; family < 2; ++family) {
      int offset = 0;
      for (int from : {1, 25, 50}) {
        Plot plot =
            figure(17 + 3 * static_cast<int>(family) + offset++,
                   fmt::format("error {}, {}", from == 1 ? "for all n" : fmt::format("from n = {}", from),
                               name_of(kFamilies[family])),
                   errors, "n (functions)", "|estimate - exact| (percentage points)");
        Series measured{.name = "measured", .points = {}};
        Series theory{.name = "mean of sqrt(2 J(1-J) / (pi n))", .look = Series::Look::dashed, .points = {}};
        for (size_t i = 0; i < functions_.size(); ++i) {
          if (functions_[i] < from) continue;
          measured.points.emplace_back(functions_[i], errors_[family][i] * 100);
          theory.points.emplace_back(functions_[i], expected_error(functions_[i]) * 100);
        }
        plot.series = {std::move(measured), std::move(theory)};
        report_.add(std::move(plot));
      }
    }
    auto difference = [&](int number, const std::string& title, const std::string& y,
                          const std::array<std::vector<double>, 2>& values, double factor, int from) {
      Plot plot = figure(number, title, errors, "n (functions)", y);
      Series series{.name = "modular hashing minus Jenkins' mix", .points = {}};
      for (size_t i = 0; i < functions_.size(); ++i) {
        if (functions_[i] >= from)
          series.points.emplace_back(functions_[i], (values[0][i] - values[1][i]) * factor);
      }
      plot.series.push_back(std::move(series));
      report_.add(std::move(plot));
    };
    difference(23, "difference of errors", "percentage points", errors_, 100, 1);
    difference(24, "difference of errors from n = 50", "percentage points", errors_, 100, 50);
    difference(25, "difference of times", "microseconds", means, 1, 1);
    for (size_t family = 0; family < 2; ++family) {
      size_t counted = 0;
      for (size_t i = 0; i < functions_.size(); ++i) {
        if (functions_[i] < 50) continue;
        found_.error[family] += errors_[family][i] * 100;
        found_.seconds[family] += means[family][i];
        ++counted;
      }
      found_.error[family] /= static_cast<double>(counted);
      found_.seconds[family] /= static_cast<double>(counted);
    }
    for (size_t i = 0; i < functions_.size(); ++i) {
      const double e = (errors_[0][i] + errors_[1][i]) * 50;
      (functions_[i] == 100   ? found_.error_100
       : functions_[i] == 200 ? found_.error_200
                              : found_.error_500) = e;
    }
  }

  // The mean absolute deviation of a binomial share is about sqrt(2/pi) of its standard deviation.
  double expected_error(int n) const {
    double sum = 0;
    for (size_t k = 2; k <= kLongest; ++k) {
      for (const Cell2& cell : cells_[k])
        sum += std::sqrt(2 * cell.exact * (1 - cell.exact) / (std::numbers::pi * n));
    }
    return sum / (kPairs * (kLongest - 1));
  }

  // Documents in families of four: an original, and versions with 2, 10 and 35 per cent of other words.
  std::vector<std::string> make_documents(size_t count, size_t words) const {
    std::vector<std::string> out;
    for (size_t d = 0; d < count; ++d) {
      Random of_family(options_.seed + 9, d / 4);
      std::vector<std::string> text = prose_.words(words, of_family);
      Random random(options_.seed + 10, d);
      const double rate = std::array{0.0, .02, .1, .35}[d % 4];
      for (std::string& word : text) {
        if (random.unit() < rate) word = prose_.word(random);
      }
      out.push_back(joined(text));
    }
    return out;
  }

  absl::Status many_documents() {
    std::vector<std::string> texts = make_documents(20, 300);
    std::string what = "20 documents of 300 words, in families of four";
    if (!options_.data.empty()) {
      ASSIGN_OR_RETURN(Collection own, read_folder(options_.data));
      texts = std::move(own.texts);
      what = fmt::format("{} documents of {}", texts.size(), options_.data);
    }
    const std::string conditions =
        fmt::format("1 run, scale 1 ({}), n = {} functions, seed {}.", what, kMost, options_.seed);
    Plot times = figure(26, "time with and without LSH",
                        conditions + " Threshold .64; with making sets and signatures.", "k", "milliseconds");
    times.series = {{.name = "without LSH: all pairs exactly", .points = {}},
                    {.name = "with LSH, modular hashing", .points = {}}};
    std::array<Plot, kThresholds.size()> plots;
    Table table{.name = "shingles_bands",
                .title = "Bands that are chosen for a threshold, and what they find over k = 1 to 15",
                .caption = conditions +
                           " A copy: exact J >= threshold; false positive: a candidate below it; false "
                           "negative: a copy that is no "
                           "candidate. Sums over k.",
                .columns = {"threshold wished", "bands", "rows", "threshold reached", "candidates", "copies",
                            "false positives", "false negatives"},
                .rows = {}};
    std::array<std::array<double, 4>, kThresholds.size()> sums{};
    for (size_t t = 0; t < kThresholds.size(); ++t) {
      plots[t] = figure(
          27 + static_cast<int>(t),
          fmt::format("candidates and copies against k, threshold {}", kThresholds[t]),
          conditions + fmt::format(" b = {}, threshold reached {:.3f}.", bands_for(kMost, kThresholds[t]),
                                   reached_threshold(kMost, bands_for(kMost, kThresholds[t]))),
          "k", "pairs");
      plots[t].series = {{.name = "candidates", .points = {}},
                         {.name = "copies", .points = {}},
                         {.name = "false positives", .points = {}},
                         {.name = "false negatives", .look = Series::Look::dashed, .points = {}}};
    }
    for (int k = 1; k <= kLongest; ++k) {
      options_.progress(fmt::format("shingles: documents, k = {}", k));
      const Stopwatch reading;
      std::vector<ShingleStrings> sets;
      sets.reserve(texts.size());
      for (const std::string& text : texts) sets.push_back(k_shingles(text, {.k = k}));
      const double reading_seconds = reading.seconds();
      const Stopwatch comparing;
      std::vector<std::vector<double>> exact(texts.size(), std::vector<double>(texts.size()));
      for (size_t i = 0; i < texts.size(); ++i) {
        for (size_t j = i + 1; j < texts.size(); ++j) exact[i][j] = jaccard(sets[i], sets[j]);
      }
      times.series[0].points.emplace_back(k, (reading_seconds + comparing.seconds()) * 1e3);
      const Stopwatch signing;
      const CharacteristicMatrix matrix = characteristic_matrix(sets);
      Random random(options_.seed, static_cast<uint64_t>(k));
      const auto made =
          signatures(matrix, draw_functions(HashFamily::modular, kMost, matrix.rows.size(), random));
      const double signing_seconds = signing.seconds();
      for (size_t t = 0; t < kThresholds.size(); ++t) {
        const Stopwatch banding;
        const auto candidates = band_candidates(made, bands_for(kMost, kThresholds[t]));
        double wrong = 0;
        double right = 0;
        for (auto [i, j] : candidates) (jaccard(sets[i], sets[j]) >= kThresholds[t] ? right : wrong) += 1;
        if (kThresholds[t] == .64) {
          times.series[1].points.emplace_back(k,
                                              (reading_seconds + signing_seconds + banding.seconds()) * 1e3);
        }
        double copies = 0;
        for (size_t i = 0; i < texts.size(); ++i) {
          for (size_t j = i + 1; j < texts.size(); ++j) copies += exact[i][j] >= kThresholds[t] ? 1 : 0;
        }
        const std::array<double, 4> values{static_cast<double>(candidates.size()), copies, wrong,
                                           copies - right};
        for (size_t s = 0; s < 4; ++s) {
          plots[t].series[s].points.emplace_back(k, values[s]);
          sums[t][s] += values[s];
        }
        if (kThresholds[t] == .42)
          (k == 4   ? found_.copies_4
           : k == 5 ? found_.copies_5
                    : found_.copies_8) = k <= 8 ? copies : found_.copies_8;
      }
    }
    report_.add(std::move(times));
    for (Plot& plot : plots) report_.add(std::move(plot));
    for (size_t t = 0; t < kThresholds.size(); ++t) {
      const int b = bands_for(kMost, kThresholds[t]);
      const int rows = kMost / b;
      table.row({num(kThresholds[t], 2), num(b, 0), num(rows, 0), num(reached_threshold(kMost, b), 4),
                 num(sums[t][0], 0), num(sums[t][1], 0), num(sums[t][2], 0), num(sums[t][3], 0)});
    }
    report_.add(std::move(table));
    return absl::OkStatus();
  }

  void faster_from() {
    Table table{
        .name = "shingles_lsh_from",
        .title = "From how many documents LSH is faster",
        .caption = fmt::format("1 run, scale 1, documents of 50 words, k = 5, n = {}, threshold .64, seed "
                               "{}. Seconds with making sets; LSH with "
                               "signatures, bands and exact verification.",
                               kMost, options_.seed),
        .columns = {"documents", "without LSH, s", "with LSH, s", "speed-up", "copies", "found by LSH"},
        .rows = {}};
    for (size_t documents : {20, 100, 500, 2000}) {
      if (documents == 2000 && options_.size == Size::quick) continue;
      options_.progress(fmt::format("shingles: {} documents", documents));
      const std::vector<std::string> texts = make_documents(documents, 50);
      const Stopwatch reading;
      std::vector<ShingleStrings> sets;
      sets.reserve(texts.size());
      for (const std::string& text : texts) sets.push_back(k_shingles(text, {.k = 5}));
      const double reading_seconds = reading.seconds();
      const Stopwatch comparing;
      uint64_t copies = 0;
      for (size_t i = 0; i < documents; ++i) {
        for (size_t j = i + 1; j < documents; ++j) copies += jaccard(sets[i], sets[j]) >= .64 ? 1 : 0;
      }
      const double without = reading_seconds + comparing.seconds();
      const Stopwatch signing;
      const CharacteristicMatrix matrix = characteristic_matrix(sets);
      Random random(options_.seed, documents);
      const auto made =
          signatures(matrix, draw_functions(HashFamily::modular, kMost, matrix.rows.size(), random));
      uint64_t found = 0;
      for (auto [i, j] : band_candidates(made, bands_for(kMost, .64)))
        found += jaccard(sets[i], sets[j]) >= .64 ? 1 : 0;
      const double with = reading_seconds + signing.seconds();
      if (with < without && found_.from == 0) found_.from = documents;
      table.row({count(documents), num(without, 4), num(with, 4), num(without / with, 2), count(copies),
                 count(found)});
    }
    report_.add(std::move(table));
  }

  void findings() {
    Table table{.name = "shingles_findings",
                .title = "The authors' findings beside ours",
                .caption = caption(),
                .columns = {"finding of the study", "here"},
                .rows = {}};
    auto row = [&](std::string_view theirs, const std::string& ours) {
      table.row({text(theirs), text(ours)});
    };
    row("J = 100 % at k = 1", fmt::format("{:.1f} %", found_.at_1));
    row("below 20 % from k = 7",
        fmt::format("{:.1f} % at k = 7, {:.1f} % at k = 15", found_.at_7, found_.at_15));
    row("similarity is higher with spaces",
        fmt::format("mean of k = 2 to 10: {:.1f} % with, {:.1f} % without", found_.spaces, found_.no_spaces));
    row("about 200 functions are enough",
        fmt::format("mean error {:.2f} points with 100, {:.2f} with 200, {:.2f} with 500: it falls as "
                    "1/sqrt(n), without a knee",
                    found_.error_100, found_.error_200, found_.error_500));
    row("time climbs from 250 functions",
        "time is proportional to n from the first function on (figures 15, 16)");
    row("Jenkins errs less", fmt::format("mean error from n = 50: {:.3f} points modular, {:.3f} Jenkins",
                                         found_.error[0], found_.error[1]));
    row("Jenkins costs more",
        fmt::format("mean time: {:.0f} us modular, {:.0f} us Jenkins", found_.seconds[0], found_.seconds[1]));
    row("LSH is not faster at 20 documents",
        found_.from == 0 ? "not faster in this run"
                         : fmt::format("faster from {} documents (table above)", found_.from));
    row("copies fall from k = 5 (mean word length 5.84)",
        fmt::format("at threshold .42: {:.0f} at k = 4, {:.0f} at 5, {:.0f} at 8 (mean word length {:.2f})",
                    found_.copies_4, found_.copies_5, found_.copies_8, found_.word_length));
    report_.add(std::move(table));
    report_.say(
        "Our reading: with k = 1 documents are sets of letters, which all documents share; from about the "
        "length of a word on, shingles "
        "cross words and see the order. A remainder modulo the number of rows is a permutation of the rows "
        "but a very regular one: neighbours "
        "stay at a fixed distance, so its estimates have errors of their own; a mixing function has none. "
        "Jenkins' mix costs a little more than "
        "a division here, too.");
  }

  const LabOptions& options_;
  Report& report_;
  Prose prose_;
  int runs_ = 1;
  std::vector<int> functions_;
  std::array<std::array<std::string, 2>, kPairs> texts_;
  std::array<std::array<Cell2, kPairs>, kLongest + 1> cells_;  // by k
  std::array<std::vector<double>, 2> errors_;                  // by family, by n
  Findings found_;
};

}  // namespace

absl::StatusOr<Report> shingles_experiment(const LabOptions& options) {
  Report report{.name = "shingles",
                .title = "Character k-shingles, two hash families, automatic bands",
                .command = options.command,
                .blocks = {}};
  RETURN_IF_ERROR(Study(options, report).run());
  return report;
}

}  // namespace doppel::lab
