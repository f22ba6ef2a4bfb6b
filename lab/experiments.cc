#include "lab/experiments.h"

#include <array>

#include "fmt/format.h"
#include "insight/show.h"

namespace doppel::lab {

std::span<const Experiment> experiments() {
  static constexpr std::array kAll{
      Experiment{"accuracy", "MinHash study: how many pairs are estimated wrong (figure 1, table 1)",
                 "Estimates the Jaccard similarity of all pairs of documents from 400, 600 and 800 "
                 "permutations and counts\n"
                 "the pairs that are off by more than .04, .07 and .09. Shows what 32-bit arithmetic costs.\n"
                 "Documents: 1,001 generated ones of 187 terms, or --data FOLDER.",
                 accuracy_experiment},
      Experiment{
          "time",
          "MinHash study: exact against estimated similarity, in comparisons and seconds (figure 2, table 2)",
          "Computes the similarity of all pairs exactly and from 100, 150, 350 and 600 permutations.\n"
          "Documents: 1,001 generated ones of 187 terms, or --data FOLDER.",
          time_experiment},
      Experiment{"near-duplicates",
                 "MinHash study: near-copies found by LSH, and at what price (tables 3, 4, figure 3)",
                 "2,990 documents with 7 near-copies each; queries with 15 to 120 bands; false positives and "
                 "negatives.\n"
                 "The copies come in two variants: at exact Jaccard .95 to .97, and from normal(.925, .03).",
                 near_duplicates_experiment},
      Experiment{"shingles",
                 "k-shingles of characters, two hash families, bands for a threshold (figures 6 to 32)",
                 "Permutations of 50 words at k = 1 to 15: exact similarity, estimates from 1 to 500 "
                 "functions by modular\n"
                 "hashing and by Jenkins' mix, errors, times; and 20 documents (or --data FOLDER) with bands "
                 "chosen for six\n"
                 "thresholds.",
                 shingles_experiment},
      Experiment{
          "finder",
          "DuplicateFinder: sets of words, integers, MinHash, LSH: time, precision, recall of each step",
          "Finds all pairs above .3, .5 and .9 by sets of words, by integers (own ids, String.hashCode), by "
          "MinHash of 10 to\n"
          "200 functions and by LSH, and compares each with brute force and with theory.\n"
          "Documents: tests/data/articles if it exists, and generated ones with planted pairs; or --data "
          "FILE\n"
          "with a line for each article (id word word ...) and --truth FILE (id id).",
          finder_experiment},
      Experiment{"theory", "Shingles, permutations, bands and S-curves, drawn",
                 "Hashed shingles and their collisions, the permutation experiment, bands by hand, "
                 "comparisons with and without\n"
                 "LSH, S-curves with their steepest points (--banding RxB, repeated, for your own).",
                 theory_experiment},
      Experiment{
          "mapreduce",
          "MapReduce on sets of integers: two bandings at the threshold .9, compared with the exact answer",
          "50,000 sets with planted pairs between .85 and .97, by 25 rows x 39 bands and 16 x 60.\n"
          "The same as a streaming job: doppel lab sets, map, reduce, pairs.",
          mapreduce_experiment},
      Experiment{"slips", "The studies' own slips, and where each is shown",
                 "What the studies say and what is correct.", slips_experiment},
      Experiment{"compare",
                 "What doppel uses instead: sketches, bands and verification compared with the studies'",
                 "The studies' signatures and bands and doppel's on the same documents: error, time, memory, "
                 "recall.",
                 compare_experiment},
  };
  return kAll;
}

std::string conditions(const LabOptions& options, int runs, double scale, size_t documents) {
  return fmt::format("{} {}, scale {:g} ({} documents), seed {}.", runs, runs == 1 ? "run" : "runs", scale,
                     with_commas(documents), options.seed);
}

}  // namespace doppel::lab
