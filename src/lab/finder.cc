// DuplicateFinder: what each step gains in time, and what it costs in precision and recall, beside theory.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/duplicate_finder.h"
#include "lab/experiments.h"
#include "lab/parallel.h"

namespace doppel::lab {
namespace {

constexpr std::array kThresholds{.3, .5, .9};
constexpr std::array kFunctions{10, 50, 100, 200};
constexpr int kLshFunctions = 100;
constexpr int kLshBands = 20;
constexpr uint64_t kLshBuckets = 100'003;

struct Quality {
  double precision = 1, recall = 1;
};
Quality compare(const std::vector<Pair>& found, const std::vector<Pair>& truth) {
  std::vector<Pair> both;
  std::set_intersection(found.begin(), found.end(), truth.begin(), truth.end(), std::back_inserter(both));
  const auto right = static_cast<double>(both.size());
  return {.precision = found.empty() ? 1 : right / static_cast<double>(found.size()),
          .recall = truth.empty() ? 1 : right / static_cast<double>(truth.size())};
}

// Similarities of all pairs, in thousandths: what theory needs, and the truth at every threshold.
struct BruteForce {
  std::vector<Pair> pairs;  // those above .25, ascending
  std::vector<double> similarity;
  std::map<int, double> histogram;  // thousandth -> pairs, of all

  std::vector<Pair> truth(double threshold) const {
    std::vector<Pair> out;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (similarity[i] > threshold) out.push_back(pairs[i]);
    }
    return out;
  }
};
BruteForce brute_force(const IntegerSets& sets) {
  BruteForce out;
  for (uint32_t i = 0; i < sets.sets.size(); ++i) {
    for (uint32_t j = i + 1; j < sets.sets.size(); ++j) {
      const double similarity = jaccard(sets.sets[i], sets.sets[j]);
      if (similarity > .25) {
        out.pairs.emplace_back(i, j);
        out.similarity.push_back(similarity);
      } else {
        ++out.histogram[static_cast<int>(std::lround(similarity * 1000))];
      }
    }
  }
  return out;
}

// How many pairs are reported rightly and wrongly, and the standard error if pairs were independent.
struct Expected {
  double right = 0, wrong = 0, right_variance = 0, wrong_variance = 0;
};
template <typename Chance>
Expected expect(const BruteForce& all, double threshold, const Chance& chance) {
  Expected out;
  auto take = [&](double similarity, double pairs) {
    const double p = chance(similarity);
    const bool is_true = similarity > threshold;
    (is_true ? out.right : out.wrong) += pairs * p;
    (is_true ? out.right_variance : out.wrong_variance) += pairs * p * (1 - p);
  };
  for (double similarity : all.similarity) take(similarity, 1);
  for (auto [thousandth, pairs] : all.histogram) take(thousandth / 1000.0, pairs);
  return out;
}

struct Timed {
  std::string step;
  double seconds = 0;
  std::map<double, Quality> quality;  // by threshold
};

struct Dataset {
  std::string name;
  Articles articles;
  std::vector<Pair> truth;  // as given; of made ones the planted pairs
  bool given = false;
};

// Runs `make` (what is done once per article) and finds at every threshold; the time is that of making and of
// one search.
template <typename Make>
Timed timed(const std::string& step, const BruteForce& brute, const Make& make) {
  Timed out{.step = step, .quality = {}};
  const Stopwatch making;
  const auto finder = make();
  out.seconds = making.seconds();
  for (double threshold : kThresholds) {
    const Stopwatch searching;
    const std::vector<Pair> found = finder.findDuplicates(threshold);
    if (threshold == .5) out.seconds += searching.seconds();
    out.quality[threshold] = compare(found, brute.truth(threshold));
  }
  return out;
}

std::vector<Timed> all_steps(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                             const IntegerSets& ids, const IntegerSets& codes) {
  std::vector<Timed> out;
  auto tell = [&](std::string_view step) {
    options.progress(fmt::format("finder: {}, {}", data.name, step));
  };
  tell("sets of words");
  out.push_back(timed("sets of words", brute, [&] { return WordSetFinder(data.articles); }));
  tell("integers");
  const Stopwatch numbering;
  integer_sets(data.articles, Encoding::own_ids);
  const double numbering_seconds = numbering.seconds();
  out.push_back(timed("integers: own ids", brute, [&] { return IntegerFinder(ids); }));
  out.back().seconds += numbering_seconds;
  out.push_back(timed("integers: String.hashCode", brute, [&] { return IntegerFinder(codes); }));
  for (int k : kFunctions) {
    tell(fmt::format("MinHash, k = {}", k));
    Random random(options.seed, static_cast<uint64_t>(k));
    const std::vector<LinearHash> hashes = draw_hashes(k, ids, Encoding::own_ids, random);
    out.push_back(
        timed(fmt::format("MinHash, own ids, k = {}", k), brute, [&] { return MinHashFinder(ids, hashes); }));
    out.back().seconds += numbering_seconds;
    if (k != kLshFunctions) continue;
    const std::vector<LinearHash> of_codes = draw_hashes(k, codes, Encoding::hash_codes, random);
    out.push_back(timed(fmt::format("MinHash, hashCode, k = {}", k), brute,
                        [&] { return MinHashFinder(codes, of_codes); }));
  }
  tell("LSH");
  Random random(options.seed, kLshFunctions);
  const std::vector<LinearHash> hashes = draw_hashes(kLshFunctions, ids, Encoding::own_ids, random);
  const Stopwatch making;
  const MinHashFinder minhash(ids, hashes);
  const double making_seconds = making.seconds() + numbering_seconds;
  for (bool verify : {false, true}) {
    const LshFinderOptions lsh{.bands = kLshBands, .buckets = kLshBuckets, .verify = verify ? &ids : nullptr};
    out.push_back(timed(fmt::format("LSH, k = {}, b = {}, {}", kLshFunctions, kLshBands,
                                    verify ? "exact verification" : "y/k"),
                        brute, [&] { return LshFinder(minhash.signatures(), lsh); }));
    out.back().seconds += making_seconds;
  }
  return out;
}

Table step_table(const Dataset& data, const std::vector<Timed>& steps, const std::string& caption) {
  Table table{.name = "finder_steps_" + data.name,
              .title = data.name + ": each step",
              .caption = caption +
                         " Seconds: all that is done once per article, and one search at .5, on one thread. "
                         "Speed-up: over the step "
                         "before (of MinHash and LSH: over own ids, and over MinHash of 100). Precision and "
                         "recall against brute force.",
              .columns = {"step", "seconds", "speed-up", "precision .3", "recall .3", "precision .5",
                          "recall .5", "precision .9", "recall .9"},
              .rows = {}};
  double ids = 0;
  double minhash = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Timed& step = steps[i];
    if (step.step == "integers: own ids") ids = step.seconds;
    if (step.step == "MinHash, own ids, k = 100") minhash = step.seconds;
    const double before = i == 0                         ? 0
                          : step.step.starts_with("LSH") ? minhash
                          : step.step.starts_with("Min") ? ids
                                                         : steps[0].seconds;
    std::vector<Cell> row{text(step.step), num(step.seconds, 4),
                          before > 0 && step.seconds > 0 ? num(before / step.seconds, 2) : none()};
    for (double t : kThresholds) {
      row.push_back(num(step.quality.at(t).precision, 4));
      row.push_back(num(step.quality.at(t).recall, 4));
    }
    table.row(std::move(row));
  }
  return table;
}

// One way to decide, and what each run found with it.
struct Method {
  std::string name;
  int k;
  bool lsh, verify;
  double threshold;
  Expected expected;
  std::vector<double> right, wrong;  // by run
};

std::vector<Method> all_methods(const BruteForce& brute, int runs) {
  std::vector<Method> out;
  auto add = [&](const std::string& name, int k, bool lsh, bool verify) {
    for (double t : kThresholds) {
      auto chance = [&](double j) {
        if (!lsh) return chance_minhash(j, k, t);
        // With exact verification everything that meets is decided rightly.
        if (verify) return j > t ? chance_lsh(j, k, kLshBands, kLshBuckets, -1) : 0.0;
        return chance_lsh(j, k, kLshBands, kLshBuckets, t);
      };
      const auto n = static_cast<size_t>(runs);
      out.push_back({name, k, lsh, verify, t, expect(brute, t, chance), std::vector<double>(n),
                     std::vector<double>(n)});
    }
  };
  for (int k : kFunctions) add(fmt::format("MinHash, k = {}", k), k, false, false);
  add(fmt::format("LSH, k = {}, b = {}, y/k", kLshFunctions, kLshBands), kLshFunctions, true, false);
  add(fmt::format("LSH, k = {}, b = {}, exact", kLshFunctions, kLshBands), kLshFunctions, true, true);
  return out;
}

// The mean over runs, and how far it is from what theory says in standard errors: those of independent pairs
// or those that the runs show, whichever are larger. Pairs are not independent: a function whose lowest
// element is a common word makes many of them equal at once.
struct Mean {
  double mean = 0, error = 0;
};
Mean mean_of(const std::vector<double>& values, double variance) {
  Mean out;
  const auto n = static_cast<double>(values.size());
  for (double v : values) out.mean += v / n;
  double spread = 0;
  for (double v : values) spread += std::pow(v - out.mean, 2) / std::max(1.0, n - 1);
  out.error = std::sqrt(std::max(spread, variance) / n);
  return out;
}

Table theory_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                   const IntegerSets& ids) {
  // Ten thousand documents are fifty million pairs for each of twelve methods.
  const int runs = options.runs_or(6, 20, data.articles.size() > 5000 ? 3 : 20);
  std::vector<Method> methods = all_methods(brute, runs);
  std::map<double, std::vector<Pair>> truths;
  for (double t : kThresholds) truths[t] = brute.truth(t);
  parallel_for(options.threads, static_cast<size_t>(runs), [&](size_t run) {
    options.progress(fmt::format("finder: {}, theory, run {} of {}", data.name, run + 1, runs));
    Random random(options.seed, 1000 + run);
    const MinHashFinder minhash(ids, draw_hashes(kFunctions.back(), ids, Encoding::own_ids, random));
    for (Method& method : methods) {
      const MinHashFinder of_k = minhash.first(method.k);
      const std::vector<Pair>& truth = truths[method.threshold];
      std::vector<Pair> found;
      if (method.lsh) {
        found =
            LshFinder(of_k.signatures(),
                      {.bands = kLshBands, .buckets = kLshBuckets, .verify = method.verify ? &ids : nullptr})
                .findDuplicates(method.threshold);
      } else {
        found = of_k.findDuplicates(method.threshold);
      }
      const double right = compare(found, truth).recall * static_cast<double>(truth.size());
      method.right[run] = right;
      method.wrong[run] = static_cast<double>(found.size()) - right;
    }
  });
  Table table{.name = "finder_theory_" + data.name,
              .title = data.name + ": precision and recall beside theory",
              .caption = conditions(options, runs, options.scale_or(.2, .6, 1), data.articles.size()) +
                         " Theory: a pair of similarity J is reported if a binomial (k, J) is above the "
                         "threshold, by LSH if a bucket is shared "
                         "besides. Off: the distance in standard errors, of true pairs and of false ones. "
                         "Precision: of all runs together.",
              .columns = {"step", "threshold", "recall", "theory", "off", "precision", "theory",
                          "false pairs", "theory", "off"},
              .rows = {}};
  for (const Method& m : methods) {
    const auto truth = static_cast<double>(truths[m.threshold].size());
    const Mean right = mean_of(m.right, m.expected.right_variance);
    const Mean wrong = mean_of(m.wrong, m.expected.wrong_variance);
    auto off = [](const Mean& is, double expected) {
      return is.error > 1e-9 ? (is.mean - expected) / is.error : 0;
    };
    auto share = [](double a, double b) { return a + b > 0 ? a / (a + b) : 1; };
    table.row({text(m.name), num(m.threshold, 1), num(truth > 0 ? right.mean / truth : 1, 4),
               num(truth > 0 ? m.expected.right / truth : 1, 4), num(off(right, m.expected.right), 2),
               num(share(right.mean, wrong.mean), 4), num(share(m.expected.right, m.expected.wrong), 4),
               num(wrong.mean, 2), num(m.expected.wrong, 2), num(off(wrong, m.expected.wrong), 2)});
  }
  return table;
}

Table grid_table(const LabOptions& options, const Dataset& data, const BruteForce& brute,
                 const IntegerSets& ids, const std::string& caption) {
  Table table{
      .name = "finder_grid_" + data.name,
      .title = data.name + ": bands and buckets of LSH, k = 100, threshold .5",
      .caption =
          caption + " Seconds without the signatures. Candidates: pairs that share a bucket in any band.",
      .columns = {"bands", "rows", "buckets", "seconds", "candidates", "% of all pairs", "recall, y/k",
                  "recall, exact verification"},
      .rows = {}};
  Random random(options.seed, kLshFunctions);
  const MinHashFinder minhash(ids, draw_hashes(kLshFunctions, ids, Encoding::own_ids, random));
  const std::vector<Pair> truth = brute.truth(.5);
  const auto n = static_cast<double>(ids.sets.size());
  for (int bands : {5, 10, 20, 25, 50}) {
    for (uint64_t buckets : {1'009, 10'007, 100'003, 1'000'003}) {
      const Stopwatch watch;
      const LshFinder fast(minhash.signatures(), {.bands = bands, .buckets = buckets});
      const Quality estimate = compare(fast.findDuplicates(.5), truth);
      const double seconds = watch.seconds();
      const LshFinder exact(minhash.signatures(), {.bands = bands, .buckets = buckets, .verify = &ids});
      const int rows = kLshFunctions / bands;
      table.row({num(bands, 0), num(rows, 0), count(buckets), num(seconds, 4),
                 count(fast.candidates().size()),
                 num(static_cast<double>(fast.candidates().size()) / (n * (n - 1) / 2) * 100, 3),
                 num(estimate.recall, 4), num(compare(exact.findDuplicates(.5), truth).recall, 4)});
    }
  }
  return table;
}

// How many words share a hash code, and what that does to similarities.
void hash_code_cells(const Dataset& data, const IntegerSets& ids, const IntegerSets& codes, Table& table) {
  absl::flat_hash_set<std::string> words;
  absl::flat_hash_set<uint32_t> distinct;
  for (const auto& article : data.articles.words) words.insert(article.begin(), article.end());
  for (const std::string& word : words) distinct.insert(java_hash_code(word));
  uint64_t changed = 0;
  for (size_t d = 0; d < ids.sets.size(); ++d) changed += ids.sets[d].size() != codes.sets[d].size();
  uint64_t false_equal = 0;
  if (distinct.size() != words.size()) {
    for (size_t i = 0; i < ids.sets.size(); ++i) {
      for (size_t j = i + 1; j < ids.sets.size(); ++j) {
        false_equal +=
            std::abs(jaccard(ids.sets[i], ids.sets[j]) - jaccard(codes.sets[i], codes.sets[j])) > 1e-12;
      }
    }
  }
  const auto n = static_cast<double>(words.size());
  table.row({text(data.name), count(words.size()), count(words.size() - distinct.size()),
             sci(n * n / 0x1p33, 2), count(changed), count(false_equal)});
}

void random_words_row(uint64_t seed, Table& table) {
  Random random(seed, 4242);
  absl::flat_hash_set<std::string> words;
  absl::flat_hash_set<uint32_t> codes;
  while (words.size() < 300'000) {
    std::string word;
    for (uint64_t length = random.between(3, 8); word.size() < length;) {
      const uint64_t letter = random.below(52);
      word += static_cast<char>(letter < 26 ? 'a' + letter : 'A' + letter - 26);
    }
    if (words.insert(word).second) codes.insert(java_hash_code(word));
  }
  table.row({text("300,000 words of 3 to 8 mixed letters"), count(words.size()),
             count(words.size() - codes.size()), sci(9e10 / 0x1p33, 2), none(), none()});
}

absl::StatusOr<Dataset> given_data(const std::string& train, const std::string& truth) {
  Dataset out{
      .name = std::filesystem::path(train).stem().string(), .articles = {}, .truth = {}, .given = true};
  ASSIGN_OR_RETURN(out.articles, readData(train));
  if (!truth.empty()) {
    ASSIGN_OR_RETURN(out.truth, readGroundTruth(truth, out.articles));
  }
  return out;
}

absl::StatusOr<std::vector<Dataset>> datasets(const LabOptions& options) {
  std::vector<Dataset> out;
  if (!options.data.empty()) {
    ASSIGN_OR_RETURN(out.emplace_back(), given_data(options.data, options.truth));
    return out;
  }
  const std::string folder = "tests/data/articles/articles_";
  for (const char* size : {"100", "1000"}) {
    if (options.size == Size::quick && std::string_view(size) == "1000") continue;
    if (!std::filesystem::exists(folder + size + ".train")) continue;
    ASSIGN_OR_RETURN(out.emplace_back(), given_data(folder + size + ".train", folder + size + ".truth"));
  }
  const double scale = options.scale_or(.2, .6, 1);
  for (size_t size : {2500, 10000}) {
    if (size == 10000 && options.size != Size::full) continue;
    const auto count = std::max<size_t>(40, static_cast<size_t>(static_cast<double>(size) * scale));
    MadeArticles made = make_articles(count, count / 10, .5, 1, options.seed + size);
    out.push_back({.name = fmt::format("articles_{}", size),
                   .articles = std::move(made.articles),
                   .truth = std::move(made.planted)});
  }
  return out;
}

}  // namespace

absl::StatusOr<Report> finder_experiment(const LabOptions& options) {
  Report report{
      .name = "finder", .title = "DuplicateFinder, step by step", .command = options.command, .blocks = {}};
  ASSIGN_OR_RETURN(const std::vector<Dataset> all, datasets(options));
  Table truth_table{.name = "finder_truth",
                    .title = "The given truth, found exactly",
                    .caption =
                        "Pairs above the threshold by sets of words, and how many of the true pairs are "
                        "among them. Of the made sets the "
                        "truth is what was planted, uniform in J from .5 to 1.",
                    .columns = {"articles", "documents", "true pairs", "least J of a true pair",
                                "largest J of another", "found at .3", "of them true", "found at .5",
                                "of them true", "found at .9", "of them true"},
                    .rows = {}};
  Table codes_table{.name = "finder_hash_codes",
                    .title = "String.hashCode instead of own numbers",
                    .caption =
                        "Colliding: words whose code another word has already. Expected of random codes: n^2 "
                        "/ 2^33. False equalities: pairs of "
                        "articles whose similarity the codes change.",
                    .columns = {"articles", "distinct words", "colliding", "expected",
                                "articles that lose a word", "false equalities"},
                    .rows = {}};
  std::vector<Table> tables;
  Plot plot{.name = "finder_times",
            .title = "Seconds of each step against documents",
            .caption = fmt::format(
                "Seed {}. One search at threshold .5, with all that is done once per article.", options.seed),
            .x_label = "documents",
            .y_label = "seconds",
            .log_x = true,
            .log_y = true};
  for (const Dataset& data : all) {
    const IntegerSets ids = integer_sets(data.articles, Encoding::own_ids);
    const IntegerSets codes = integer_sets(data.articles, Encoding::hash_codes);
    const BruteForce brute = brute_force(ids);
    const std::string caption =
        data.given
            ? fmt::format("{} articles as given, seed {}.", with_commas(data.articles.size()), options.seed)
            : conditions(options, 1, options.scale_or(.2, .6, 1), data.articles.size());
    double least = 1;
    for (auto [i, j] : data.truth) least = std::min(least, jaccard(ids.sets[i], ids.sets[j]));
    double largest = 0;
    for (size_t i = 0; i < brute.pairs.size(); ++i) {
      if (!std::binary_search(data.truth.begin(), data.truth.end(), brute.pairs[i]))
        largest = std::max(largest, brute.similarity[i]);
    }
    if (!brute.histogram.empty()) largest = std::max(largest, brute.histogram.rbegin()->first / 1000.0);
    std::vector<Cell> row{text(data.name), count(data.articles.size()), count(data.truth.size()),
                          num(least, 4), num(largest, 4)};
    for (double t : kThresholds) {
      const std::vector<Pair> found = brute.truth(t);
      std::vector<Pair> right;
      std::set_intersection(found.begin(), found.end(), data.truth.begin(), data.truth.end(),
                            std::back_inserter(right));
      row.push_back(count(found.size()));
      row.push_back(count(right.size()));
    }
    truth_table.row(std::move(row));
    hash_code_cells(data, ids, codes, codes_table);
    const std::vector<Timed> steps = all_steps(options, data, brute, ids, codes);
    tables.push_back(step_table(data, steps, caption));
    if (!data.given) {
      tables.push_back(theory_table(options, data, brute, ids));
      options.progress("finder: " + data.name + ", grid");
      tables.push_back(grid_table(options, data, brute, ids, caption));
    }
    for (const Timed& step : steps) {
      auto found = std::find_if(plot.series.begin(), plot.series.end(),
                                [&](const Series& s) { return s.name == step.step; });
      if (step.step.find("k = 50") != std::string::npos || step.step.find("k = 200") != std::string::npos ||
          step.step.find("hashCode") != std::string::npos) {
        continue;
      }
      if (found == plot.series.end()) {
        plot.series.push_back({.name = step.step, .points = {}});
        found = plot.series.end() - 1;
      }
      found->points.emplace_back(static_cast<double>(data.articles.size()), step.seconds);
    }
  }
  random_words_row(options.seed, codes_table);
  report.add(std::move(truth_table));
  report.say(
      "The given articles cannot tell a good finder from a bad one: their true pairs are nearly equal and "
      "everything else is far away, so that "
      "any threshold between gives the same pairs. The made ones have pairs at every similarity from .5 to "
      "1.");
  for (Table& table : tables) report.add(std::move(table));
  report.add(std::move(plot));
  report.add(std::move(codes_table));
  report.say(
      "Why are integers faster? A word is hashed and compared letter by letter for every pair of documents "
      "again; a number is made once per "
      "word, and two sorted lists are merged without looking anything up. Which numbers? Own ids cost a hash "
      "table while reading, are small and never "
      "equal for different words. String.hashCode costs no table, but different words may be equal: by "
      "chance for one pair in 2^32, by construction "
      "whenever anyone wants (Aa and BB; any number of words of AaBB blocks), and mixed-case words collide "
      "far more often than random codes. A false "
      "equality raises a similarity and cannot be noticed afterwards.");
  report.say(
      "What does k decide? The error of an estimate is sqrt(J(1-J)/k): with k = 10 a pair at .5 looks like "
      ".34 to .66, so that at the threshold "
      ".3 the multitude of unrelated pairs brings false ones, and near the threshold of .9 a tenth is lost. "
      "Time grows with k. How to choose b? With few "
      "bands of many rows pairs near the threshold do not meet; with many bands of two rows everything "
      "meets. How many buckets? With fewer than "
      "documents, chance candidates dominate the time; from about 40 per document on more of them only cost "
      "memory and clearing. Exact verification costs "
      "little, because few pairs are left, and makes precision 1: the only errors left are pairs that never "
      "met.");
  return report;
}

}  // namespace doppel::lab
