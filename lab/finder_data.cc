#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/status.h"
#include "fmt/format.h"
#include "lab/finder_tables.h"

namespace doppel::lab {
namespace {

absl::StatusOr<Dataset> given_data(const std::string& train, const std::string& truth) {
  Dataset out{
      .name = std::filesystem::path(train).stem().string(), .articles = {}, .truth = {}, .given = true};
  ASSIGN_OR_RETURN(out.articles, readData(train));
  if (!truth.empty()) {
    ASSIGN_OR_RETURN(out.truth, readGroundTruth(truth, out.articles));
  }
  return out;
}

}  // namespace

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

std::vector<Pair> BruteForce::truth(double threshold) const {
  std::vector<Pair> out;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (similarity[i] > threshold) out.push_back(pairs[i]);
  }
  return out;
}

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

Quality compare(const std::vector<Pair>& found, const std::vector<Pair>& truth) {
  std::vector<Pair> both;
  std::set_intersection(found.begin(), found.end(), truth.begin(), truth.end(), std::back_inserter(both));
  const auto right = static_cast<double>(both.size());
  return {.precision = found.empty() ? 1 : right / static_cast<double>(found.size()),
          .recall = truth.empty() ? 1 : right / static_cast<double>(truth.size())};
}

}  // namespace doppel::lab
