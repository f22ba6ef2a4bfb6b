// Pairs of random permutations of 50 words: how k affects a similarity, and how many functions of which
// family an estimate needs.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/shingles_study.h"

namespace doppel::lab::shingles {

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

std::string Study::caption(const std::string& more) const {
  return fmt::format("{} {}, scale 1 ({} pairs of random permutations of the same 50 words), seed {}.{}{}",
                     runs_, runs_ == 1 ? "run" : "runs", kPairs, options_.seed, more.empty() ? "" : " ",
                     more);
}

void Study::make_pairs() {
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
  report_.say(fmt::format(
      "Pairs of documents: random permutations of the same 50 words (mean length {:.2f} letters, the study's "
      "documents 5.84), so that the documents of a pair have all words in common but not their order. "
      "Characters are not normalised, and spaces are included unless a figure says otherwise.",
      letters));
}

void Study::similarities() {
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
  each(figure(8, "time of an exact similarity, each pair", caption("The time includes making the sets."), x,
              "microseconds"),
       micros);
  Plot nine = figure(9, "time of an exact similarity, mean", caption("The time includes making the sets."), x,
                     "microseconds");
  nine.series.push_back(mean_series("mean of five pairs", micros));
  report_.add(std::move(nine));
  Plot ten = figure(10, "similarity with and without spaces", caption("Means."), x, "Jaccard similarity (%)");
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

void Study::estimates() {
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

void Study::times_of_functions() {
  options_.progress("shingles: times");
  std::array<std::vector<double>, 2> means;
  for (size_t family = 0; family < 2; ++family) {
    Plot plot =
        figure(15 + static_cast<int>(family), fmt::format("time against n, {}", name_of(kFamilies[family])),
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

double Study::expected_error(int n) const {
  double sum = 0;
  for (size_t k = 2; k <= kLongest; ++k) {
    for (const Cell2& cell : cells_[k])
      sum += std::sqrt(2 * cell.exact * (1 - cell.exact) / (std::numbers::pi * n));
  }
  return sum / (kPairs * (kLongest - 1));
}

}  // namespace doppel::lab::shingles
