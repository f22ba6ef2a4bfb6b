#include "lab/duplicate_finder.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "fmt/format.h"
#include "lab/collection.h"
#include "lab/primes.h"

namespace doppel::lab {
namespace {

constexpr uint64_t kHorner = 2'654'435'761;  // coprime to the usual numbers of buckets

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

double share(size_t both, size_t a, size_t b) {
  const size_t any = a + b - both;
  return any == 0 ? 0 : static_cast<double>(both) / static_cast<double>(any);
}

// Returns all pairs whose similarity(i, j) is above the threshold.
template <typename Similarity>
std::vector<Pair> above(size_t n, double threshold, const Similarity& similarity) {
  std::vector<Pair> out;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = i + 1; j < n; ++j) {
      if (similarity(i, j) > threshold) out.emplace_back(i, j);
    }
  }
  return out;
}

double log_choose(int n, int x) { return std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1); }

double binomial(int n, int x, double p) {
  if (p <= 0) return x == 0 ? 1 : 0;
  if (p >= 1) return x == n ? 1 : 0;
  return std::exp(log_choose(n, x) + x * std::log(p) + (n - x) * std::log1p(-p));
}

// Computes x / k like estimated(), so that both treat a threshold alike.
bool passes(int x, int k, double threshold) { return static_cast<double>(x) / k > threshold; }

}  // namespace

absl::StatusOr<Articles> readData(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  Articles out;
  absl::flat_hash_set<std::string> seen;
  std::istringstream in(text);
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::vector<std::string> words = words_of(line);
    if (words.size() < 2) return invalid(fmt::format("{}:{}: expected an id and words", path, number));
    if (!seen.insert(words[0]).second)
      return invalid(fmt::format("{}:{}: the id {} was there before", path, number, words[0]));
    out.ids.push_back(words[0]);
    words.erase(words.begin());
    out.words.push_back(std::move(words));
  }
  if (out.ids.empty()) return invalid(path + ": no articles");
  return out;
}

absl::StatusOr<std::vector<Pair>> readGroundTruth(const std::string& path, const Articles& articles) {
  ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  absl::flat_hash_map<std::string, uint32_t> numbers;
  for (uint32_t i = 0; i < articles.size(); ++i) numbers.emplace(articles.ids[i], i);
  std::vector<Pair> out;
  std::istringstream in(text);
  size_t line_number = 0;
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    const std::vector<std::string> ids = words_of(line);
    if (ids.size() != 2) return invalid(fmt::format("{}:{}: expected two ids", path, line_number));
    Pair pair;
    for (size_t i = 0; i < 2; ++i) {
      const auto found = numbers.find(ids[i]);
      if (found == numbers.end())
        return invalid(fmt::format("{}:{}: no article has the id {}", path, line_number, ids[i]));
      (i == 0 ? pair.first : pair.second) = found->second;
    }
    if (pair.first > pair.second) std::swap(pair.first, pair.second);
    out.push_back(pair);
  }
  std::sort(out.begin(), out.end());
  return out;
}

MadeArticles make_articles(size_t count, size_t pairs, double low, double high, uint64_t seed) {
  const Vocabulary vocabulary(20000, 1.1, 5);
  MadeArticles out;
  for (size_t d = 0; d < count; ++d) {
    Random random(seed, d);
    std::vector<std::string> words;
    // The last `pairs` articles are copies of the first ones.
    const bool copy = d >= count - pairs;
    if (!copy) {
      const uint64_t length = random.between(150, 350);
      for (uint64_t w = 0; w < length; ++w) words.push_back(made_word(vocabulary.draw(random)));
    } else {
      const auto origin = static_cast<uint32_t>(d - (count - pairs));
      absl::flat_hash_set<std::string> distinct(out.articles.words[origin].begin(),
                                                out.articles.words[origin].end());
      std::vector<std::string> set(distinct.begin(), distinct.end());
      std::sort(set.begin(), set.end());
      random.shuffle(set);
      // If c of n words are replaced by new ones: J = (n - c) / (n + c).
      const double similarity = random.uniform(low, high);
      const auto n = static_cast<double>(set.size());
      const auto changed = static_cast<size_t>(std::lround(n * (1 - similarity) / (1 + similarity)));
      for (size_t i = 0; i < changed;) {
        std::string word = made_word(random.below(20000));
        if (!distinct.insert(word).second) continue;
        set[i++] = std::move(word);
      }
      words = std::move(set);
      out.planted.emplace_back(origin, static_cast<uint32_t>(d));
    }
    out.articles.ids.push_back(fmt::format("m{}", d));
    out.articles.words.push_back(std::move(words));
  }
  return out;
}

uint32_t java_hash_code(std::string_view word) {
  uint32_t h = 0;
  for (char c : word) h = h * 31 + static_cast<unsigned char>(c);
  return h;
}

WordSetFinder::WordSetFinder(const Articles& articles) {
  for (const std::vector<std::string>& words : articles.words) sets_.emplace_back(words.begin(), words.end());
}

std::vector<Pair> WordSetFinder::findDuplicates(double threshold) const {
  return above(sets_.size(), threshold, [&](uint32_t i, uint32_t j) {
    size_t both = 0;
    for (const std::string& word : sets_[i]) both += sets_[j].contains(word);
    return share(both, sets_[i].size(), sets_[j].size());
  });
}

IntegerSets integer_sets(const Articles& articles, Encoding encoding) {
  IntegerSets out;
  absl::flat_hash_map<std::string_view, uint32_t> numbers;
  for (const std::vector<std::string>& words : articles.words) {
    std::vector<uint32_t> set;
    for (const std::string& word : words) {
      if (encoding == Encoding::hash_codes) {
        set.push_back(java_hash_code(word));
      } else {
        set.push_back(numbers.try_emplace(word, static_cast<uint32_t>(numbers.size())).first->second);
      }
      out.largest = std::max(out.largest, set.back());
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    out.sets.push_back(std::move(set));
  }
  return out;
}

double jaccard(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t x = a[i];
    const uint32_t y = b[j];
    both += x == y;
    i += x <= y;
    j += y <= x;
  }
  return share(both, a.size(), b.size());
}

std::vector<Pair> IntegerFinder::findDuplicates(double threshold) const {
  return above(sets_.sets.size(), threshold,
               [&](uint32_t i, uint32_t j) { return jaccard(sets_.sets[i], sets_.sets[j]); });
}

std::vector<LinearHash> draw_hashes(int k, const IntegerSets& sets, Encoding encoding, Random& random) {
  const uint64_t most = std::max<uint64_t>(2, sets.largest);
  const uint64_t c = encoding == Encoding::hash_codes ? 4'294'967'311 : prime_from(most + 1);
  std::vector<LinearHash> out;
  out.reserve(static_cast<size_t>(k));
  for (int i = 0; i < k; ++i)
    out.push_back({.a = random.between(1, most - 1), .b = random.below(most), .c = c});
  return out;
}

std::vector<uint32_t> lowest_elements(const std::vector<uint32_t>& set,
                                      const std::vector<LinearHash>& hashes) {
  std::vector<uint32_t> out;
  for (const LinearHash& hash : hashes) {
    uint64_t least = UINT64_MAX;
    uint32_t element = UINT32_MAX;
    for (uint32_t x : set) {
      const uint64_t h = hash(x);
      if (h < least) {
        least = h;
        element = x;
      }
    }
    out.push_back(element);
  }
  return out;
}

double estimated(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  int equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

MinHashFinder::MinHashFinder(const IntegerSets& sets, const std::vector<LinearHash>& hashes) {
  for (const std::vector<uint32_t>& set : sets.sets) signatures_.push_back(lowest_elements(set, hashes));
}

MinHashFinder MinHashFinder::first(int k) const {
  MinHashFinder out;
  for (const std::vector<uint32_t>& signature : signatures_)
    out.signatures_.emplace_back(signature.begin(), signature.begin() + k);
  return out;
}

std::vector<Pair> MinHashFinder::findDuplicates(double threshold) const {
  return above(signatures_.size(), threshold,
               [&](uint32_t i, uint32_t j) { return estimated(signatures_[i], signatures_[j]); });
}

LshFinder::LshFinder(const std::vector<std::vector<uint32_t>>& signatures, const LshFinderOptions& options)
    : signatures_(signatures), options_(options) {
  if (signatures.empty()) return;
  const auto bands = static_cast<size_t>(options.bands);
  const size_t rows = signatures[0].size() / bands;
  std::vector<std::vector<uint32_t>> table(options.buckets);
  for (size_t band = 0; band < bands; ++band) {
    for (std::vector<uint32_t>& bucket : table) bucket.clear();
    for (uint32_t d = 0; d < signatures.size(); ++d) {
      uint64_t h = 0;
      for (size_t i = 0; i < rows; ++i) h = h * kHorner + signatures[d][band * rows + i];
      table[h % options.buckets].push_back(d);
    }
    for (const std::vector<uint32_t>& bucket : table) {
      for (size_t i = 0; i < bucket.size(); ++i) {
        for (size_t j = i + 1; j < bucket.size(); ++j) candidates_.emplace_back(bucket[i], bucket[j]);
      }
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
}

std::vector<Pair> LshFinder::findDuplicates(double threshold) const {
  std::vector<Pair> out;
  for (const Pair& pair : candidates_) {
    const auto [i, j] = pair;
    const double similarity = options_.verify != nullptr
                                  ? jaccard(options_.verify->sets[i], options_.verify->sets[j])
                                  : estimated(signatures_[i], signatures_[j]);
    if (similarity > threshold) out.push_back(pair);
  }
  return out;
}

double chance_minhash(double j, int k, double threshold) {
  double sum = 0;
  for (int x = 0; x <= k; ++x) {
    if (passes(x, k, threshold)) sum += binomial(k, x, j);
  }
  return std::min(1.0, sum);
}

double chance_lsh(double j, int k, int bands, uint64_t buckets, double threshold) {
  const int rows = k / bands;
  // apart[x]: probability of x equal rows in all bands so far, none of which is full.
  std::vector<double> apart{1};
  for (int band = 0; band < bands; ++band) {
    std::vector<double> next(apart.size() + static_cast<size_t>(rows) - 1);
    for (size_t x = 0; x < apart.size(); ++x) {
      for (int y = 0; y < rows; ++y) next[x + static_cast<size_t>(y)] += apart[x] * binomial(rows, y, j);
    }
    apart = std::move(next);
  }
  double passing_apart = 0;
  for (size_t x = 0; x < apart.size(); ++x) {
    if (passes(static_cast<int>(x), k, threshold)) passing_apart += apart[x];
  }
  // A pair without a full band may still share a bucket by chance.
  const double no_chance = std::pow(1 - 1 / static_cast<double>(buckets), bands);
  return std::max(0.0, chance_minhash(j, k, threshold) - passing_apart * no_chance);
}

}  // namespace doppel::lab
