// MinHash study, accuracy: counts the pairs whose estimate is off by more than an error, for several
// numbers of permutations, and shows what 32-bit arithmetic does to a permutation.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/experiments.h"
#include "lab/minhash_study.h"
#include "lab/parallel.h"

namespace doppel::lab {
namespace {

constexpr std::array kPermutations{400, 600, 800};
constexpr std::array kErrors{.04, .07, .09};
// Table 1 of the study: rows are errors, columns permutations.
constexpr double kStudy[3][3] = {{7077.4, 1225.07, 738.8}, {15.0, .2, 0}, {.33, 0, 0}};

using Counts = std::array<uint64_t, kErrors.size()>;  // by error, for one run

struct Pairs {
  size_t documents = 0;
  std::vector<float> exact;  // (0,1), (0,2), ..., (1,2), ...
};

Pairs exact_pairs(const MinHash& study, int threads) {
  Pairs out;
  out.documents = study.allDocs().size();
  const size_t n = out.documents;
  out.exact.resize(n * (n - 1) / 2);
  parallel_for(threads, n, [&](size_t i) {
    size_t at = i * n - i * (i + 1) / 2;
    for (size_t j = i + 1; j < n; ++j) out.exact[at++] = static_cast<float>(study.exact(i, j));
  });
  return out;
}

Counts count_off(const Pairs& pairs, const MinHashMatrix& matrix) {
  Counts out{};
  size_t at = 0;
  for (size_t i = 0; i < pairs.documents; ++i) {
    for (size_t j = i + 1; j < pairs.documents; ++j) {
      const double off =
          std::abs(static_cast<double>(pairs.exact[at++]) - approximate(matrix.row(i), matrix.row(j)));
      for (size_t e = 0; e < kErrors.size(); ++e) out[e] += off > kErrors[e];
    }
  }
  return out;
}

// P(|X/n - j| > error), where X is Binomial(n, j), the distribution for true permutations.
double chance_off(double j, int n, double error) {
  if (j <= 0 || j >= 1) return 0;
  double inside = 0;
  for (int x = 0; x <= n; ++x) {
    if (std::abs(static_cast<double>(x) / n - j) > error) continue;
    inside += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(j) +
                       (n - x) * std::log(1 - j));
  }
  return std::max(0.0, 1 - inside);
}

double expected_off(const Pairs& pairs, int n, double error) {
  std::array<double, 1001> histogram{};
  for (float j : pairs.exact) ++histogram[static_cast<size_t>(std::lround(j * 1000))];
  double sum = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i] > 0) sum += histogram[i] * chance_off(static_cast<double>(i) / 1000, n, error);
  }
  return sum;
}

// How well ((a x + b) & 0x7fffffff) mod p permutes, and how that affects estimates of random sets.
Table wrapping_table(const LabOptions& options) {
  Table table{
      .name = "accuracy_wrapping",
      .title = "What 32-bit arithmetic costs",
      .caption =
          "Distinct images: how many of the values 0 to p-1 are taken, mean over 10 functions; a permutation "
          "takes all. Root mean square error of 300 estimates of pairs of 200 terms at J = 1/3 with 400 "
          "functions, compared with sqrt(J(1-J)/400) = .0236 of independent permutations.",
      .columns = {"p", "distinct images, 32 bits", "64 bits", "RMS error, 32 bits", "64 bits"},
      .rows = {}};
  constexpr int kFunctions = 400;
  constexpr int kPairs = 300;
  for (uint32_t terms : {20011, 46337, 46349, 60013, 100003, 200003, 1000003}) {
    std::vector<Cell> images;
    std::vector<Cell> errors;
    for (Arithmetic arithmetic : {Arithmetic::wrapping, Arithmetic::wide}) {
      const auto functions =
          PermutationsFunctions::create(kFunctions, terms, options.seed, arithmetic).value();
      double distinct = 0;
      for (int f = 0; f < 10; ++f) {
        std::vector<uint8_t> taken(functions.p());
        for (uint32_t x = 0; x < functions.p(); ++x) taken[functions.apply(f, x)] = 1;
        distinct += static_cast<double>(std::count(taken.begin(), taken.end(), 1)) / functions.p() / 10;
      }
      std::vector<double> squares(kPairs);
      parallel_for(options.threads, kPairs, [&](size_t pair) {
        Random random(options.seed + terms, pair);
        // 100 terms in both sets, 100 in each one alone.
        uint32_t least[2][kFunctions];
        std::fill_n(&least[0][0], 2 * kFunctions, UINT32_MAX);
        for (int i = 0; i < 300; ++i) {
          const auto x = static_cast<uint32_t>(random.below(terms));
          for (int side = 0; side < 2; ++side) {
            if (i >= 100 && (i < 200) != (side == 0)) continue;
            for (int f = 0; f < kFunctions; ++f)
              least[side][f] = std::min(least[side][f], functions.apply(f, x));
          }
        }
        squares[pair] = std::pow(approximate(least[0], least[1]) - 1.0 / 3, 2);
      });
      double sum = 0;
      for (double square : squares) sum += square;
      images.push_back(num(distinct, 4));
      errors.push_back(num(std::sqrt(sum / kPairs), 4));
    }
    table.row({count(terms), images[0], images[1], errors[0], errors[1]});
  }
  return table;
}

}  // namespace

absl::StatusOr<Report> accuracy_experiment(const LabOptions& options) {
  Report report{.name = "accuracy",
                .title = "MinHash study: accuracy of the estimate",
                .command = options.command,
                .blocks = {}};
  const int runs = options.runs_or(3, 15, 15);
  const double scale = options.scale_or(.2, .5, 1);
  Collection documents;
  if (options.data.empty()) {
    documents =
        make_news({.documents = std::max<size_t>(4, static_cast<size_t>(1001 * scale))}, options.seed);
  } else {
    ASSIGN_OR_RETURN(documents, read_folder(options.data));
  }
  const Arithmetic arithmetic = options.wide ? Arithmetic::wide : Arithmetic::wrapping;
  ASSIGN_OR_RETURN(const MinHash base, MinHash::create(documents, 1, {.arithmetic = arithmetic}));
  const Pairs pairs = exact_pairs(base, options.threads);
  const auto all = static_cast<double>(pairs.exact.size());
  double mean_terms = 0;
  double mean_exact = 0;
  for (size_t d = 0; d < documents.size(); ++d) mean_terms += static_cast<double>(base.terms_of(d).size());
  for (float j : pairs.exact) mean_exact += static_cast<double>(j) / all;
  mean_terms /= static_cast<double>(documents.size());

  std::vector<std::array<Counts, kPermutations.size()>> found(static_cast<size_t>(runs));
  std::vector<absl::Status> errors(static_cast<size_t>(runs));
  std::atomic<int> done{0};
  parallel_for(options.threads, static_cast<size_t>(runs), [&](size_t run) {
    for (size_t n = 0; n < kPermutations.size(); ++n) {
      absl::StatusOr<MinHash> study = base.again(
          kPermutations[n], {.seed = Random(options.seed, run * 10 + n).next(), .arithmetic = arithmetic});
      if (!study.ok()) {
        errors[run] = study.status();
        return;
      }
      found[run][n] = count_off(pairs, study->minHashMatrix());
    }
    options.progress(fmt::format("accuracy: run {} of {}", ++done, runs));
  });
  for (const absl::Status& error : errors) RETURN_IF_ERROR(error);

  report.say(
      fmt::format("{} documents of {:.1f} distinct terms on average, {} terms in all (p = {}), {} pairs with "
                  "a mean similarity of {:.3f}. "
                  "A pair is off if |exact - estimated| > error. Arithmetic of the permutations: {}.",
                  with_commas(documents.size()), mean_terms, with_commas(base.numTerms()),
                  with_commas(base.permutations().p()), with_commas(pairs.exact.size()), mean_exact,
                  options.wide ? "64 bits" : "32 bits, wrapping, as in Java"));
  auto mean = [&](size_t n, size_t e, int of) {
    double sum = 0;
    for (int run = 0; run < of; ++run) sum += static_cast<double>(found[static_cast<size_t>(run)][n][e]);
    return sum / of;
  };
  Table table{.name = "accuracy_table1",
              .title = "Table 1: pairs off by more than the error",
              .caption = conditions(options, runs, scale, documents.size()) +
                         " The study: 15 runs, 1,001 documents, 500,500 pairs. Theory: the result of "
                         "independent permutations on the same pairs.",
              .columns = {"error", "permutations", "pairs off", "% of pairs", "theory", "theory, %", "study",
                          "study, %"},
              .rows = {}};
  for (size_t e = 0; e < kErrors.size(); ++e) {
    for (size_t n = 0; n < kPermutations.size(); ++n) {
      const double off = mean(n, e, runs);
      const double theory = expected_off(pairs, kPermutations[n], kErrors[e]);
      // NOLINTBEGIN(clang-analyzer-core.*): the analyzer does not know the values of nested constants.
      table.row({num(kErrors[e], 2), count(static_cast<uint64_t>(kPermutations[n])), num(off, 2),
                 num(off / all * 100, 5), num(theory, 2), num(theory / all * 100, 5), num(kStudy[e][n], 2),
                 num(kStudy[e][n] / 500500 * 100, 5)});
      // NOLINTEND(clang-analyzer-core.*)
    }
  }
  report.add(std::move(table));
  report.say(
      "Our reading: the share falls with permutations and error as the binomial law says, because the error "
      "of an estimate is sqrt(J(1-J)/n). The study's counts fit documents whose mean similarity is about an "
      "eighth; our counts differ because the similarities in our documents are spread differently. The "
      "theory's column is computed from our pairs and follows this. Counts vary from run to run more than "
      "independent pairs would, because all pairs of a run share the same functions.");

  const int figure_runs = std::min(runs, 10);
  Plot plot{.name = "accuracy_figure1",
            .title = "Figure 1: pairs off by more than the error",
            .caption = conditions(options, figure_runs, scale, documents.size()) +
                       " Dashed: the study's table, as the same share of pairs. Zeros are not drawn.",
            .x_label = "permutations",
            .y_label = "pairs off (% of all pairs)",
            .log_y = true};
  for (size_t e = 0; e < kErrors.size(); ++e) {
    Series ours{.name = fmt::format("error {}", kErrors[e]), .points = {}};
    Series study{
        .name = fmt::format("error {}, study", kErrors[e]), .look = Series::Look::dashed, .points = {}};
    for (size_t n = 0; n < kPermutations.size(); ++n) {
      ours.points.emplace_back(kPermutations[n], mean(n, e, figure_runs) / all * 100);
      // NOLINTNEXTLINE(clang-analyzer-core.*): as above
      study.points.emplace_back(kPermutations[n], kStudy[e][n] / 500500 * 100);
    }
    plot.series.push_back(std::move(ours));
    plot.series.push_back(std::move(study));
  }
  report.add(std::move(plot));

  report.add(wrapping_table(options));
  report.say(
      "Up to p = 46,340 a x + b stays below 2^31 and the function is a permutation. Above it wraps: several "
      "terms get the same value, and equal minima of different terms count as agreement. Many images are "
      "lost, but little accuracy as long as documents have far fewer terms than p. This is the reason to "
      "hash instead.");
  return report;
}

}  // namespace doppel::lab
