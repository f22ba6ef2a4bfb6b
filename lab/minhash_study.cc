#include "lab/minhash_study.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "fmt/format.h"
#include "lab/options.h"
#include "lab/parallel.h"
#include "lab/primes.h"

namespace doppel::lab {
namespace {

// Draws `count` different values of [low, p).
std::vector<uint32_t> different(int count, uint32_t low, uint32_t p, Random& random) {
  std::vector<uint32_t> values;
  absl::flat_hash_set<uint32_t> seen;
  if (static_cast<uint64_t>(count) * 2 > p - low) {  // most of them: shuffle all
    std::vector<uint32_t> bag;
    for (uint32_t v = low; v < p; ++v) bag.push_back(v);
    random.shuffle(bag);
    bag.resize(static_cast<size_t>(count));
    return bag;
  }
  while (values.size() < static_cast<size_t>(count)) {
    const auto value = static_cast<uint32_t>(random.between(low, p - 1));
    if (seen.insert(value).second) values.push_back(value);
  }
  return values;
}

}  // namespace

absl::StatusOr<PermutationsFunctions> PermutationsFunctions::create(int numPermutations, uint64_t numTerms,
                                                                    uint64_t seed, Arithmetic arithmetic) {
  PermutationsFunctions out;
  if (numTerms >= uint64_t{1} << 31) return invalid("more than 2^31 terms");
  out.p_ = static_cast<uint32_t>(prime_from(numTerms));
  out.arithmetic_ = arithmetic;
  if (numPermutations < 1 || static_cast<uint64_t>(numPermutations) > out.p_ - 1) {
    return invalid(fmt::format("{} permutations of {} terms: with p = {} there are 1 to {} different ones",
                               numPermutations, numTerms, out.p_, out.p_ - 1));
  }
  Random random(seed);
  out.a_ = different(numPermutations, 1, out.p_, random);
  out.b_ = different(numPermutations, 0, out.p_, random);
  return out;
}

std::vector<std::string> MinHash::wordsProcessor(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  auto end_word = [&] {
    if (word.size() >= 3 && word != "the") words.push_back(word);
    word.clear();
  };
  for (char c : text) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      end_word();
    } else if (c >= 'A' && c <= 'Z') {
      word += static_cast<char>(c - 'A' + 'a');
    } else if (std::string_view(".,:;'").find(c) == std::string_view::npos) {
      word += c;
    }
  }
  end_word();
  return words;
}

absl::StatusOr<MinHash> MinHash::create(const std::string& folder, int numPermutations,
                                        const MinHashOptions& options) {
  ASSIGN_OR_RETURN(const Collection documents, read_folder(folder));
  return create(documents, numPermutations, options);
}

absl::StatusOr<MinHash> MinHash::create(const Collection& documents, int numPermutations,
                                        const MinHashOptions& options) {
  MinHash out;
  out.names_ = documents.names;
  absl::flat_hash_map<std::string, uint32_t> numbers;
  for (size_t d = 0; d < documents.size(); ++d) {
    out.by_name_.emplace(documents.names[d], d);
    std::vector<uint32_t> terms;
    for (const std::string& word : wordsProcessor(documents.texts[d])) {
      const auto [it, is_new] = numbers.try_emplace(word, static_cast<uint32_t>(numbers.size()));
      if (is_new) out.terms_.push_back(word);
      terms.push_back(it->second);
    }
    std::sort(terms.begin(), terms.end());
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
    out.documents_.push_back(std::move(terms));
  }
  return out.again(numPermutations, options);
}

absl::StatusOr<MinHash> MinHash::again(int numPermutations, const MinHashOptions& options) const {
  MinHash out = *this;
  ASSIGN_OR_RETURN(out.permutations_, PermutationsFunctions::create(numPermutations, terms_.size(),
                                                                    options.seed, options.arithmetic));
  out.threads_ = options.threads;
  return out;
}

absl::StatusOr<size_t> MinHash::find(std::string_view name) const {
  const auto found = by_name_.find(absl_sv(name));
  if (found == by_name_.end()) return absl::NotFoundError(fmt::format("there is no document {}", name));
  return found->second;
}

double MinHash::exact(size_t d1, size_t d2) const {
  const std::vector<uint32_t>& a = documents_[d1];
  const std::vector<uint32_t>& b = documents_[d2];
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t x = a[i];
    const uint32_t y = b[j];
    both += x == y;
    i += x <= y;
    j += y <= x;
  }
  const size_t any = a.size() + b.size() - both;
  return any == 0 ? 0 : static_cast<double>(both) / static_cast<double>(any);
}

std::vector<uint32_t> MinHash::signature(size_t d) const {
  std::vector<uint32_t> slots;
  for (int i = 0; i < permutations_.size(); ++i) {
    uint32_t least = UINT32_MAX;
    for (uint32_t term : documents_[d]) least = std::min(least, minHashTerm(term, i));
    slots.push_back(least);
  }
  return slots;
}

absl::StatusOr<double> MinHash::exactJaccard(std::string_view file1, std::string_view file2) const {
  ASSIGN_OR_RETURN(const size_t d1, find(file1));
  ASSIGN_OR_RETURN(const size_t d2, find(file2));
  return exact(d1, d2);
}

absl::StatusOr<std::vector<uint32_t>> MinHash::minHashSig(std::string_view file) const {
  ASSIGN_OR_RETURN(const size_t d, find(file));
  return signature(d);
}

absl::StatusOr<double> MinHash::approximateJaccard(std::string_view file1, std::string_view file2) const {
  ASSIGN_OR_RETURN(const size_t d1, find(file1));
  ASSIGN_OR_RETURN(const size_t d2, find(file2));
  if (documents_[d1].empty() || documents_[d2].empty()) return 0.0;
  return approximate(signature(d1), signature(d2));
}

MinHashMatrix MinHash::minHashMatrix() const {
  MinHashMatrix matrix{
      .documents = documents_.size(), .permutations = static_cast<size_t>(numPermutations()), .slots = {}};
  matrix.slots.resize(matrix.documents * matrix.permutations);
  parallel_for(threads_, matrix.documents, [&](size_t d) {
    const std::vector<uint32_t> slots = signature(d);
    std::copy(slots.begin(), slots.end(),
              matrix.slots.begin() + static_cast<ptrdiff_t>(d * matrix.permutations));
  });
  return matrix;
}

std::vector<std::vector<uint8_t>> MinHash::buildBinaryTermFrequencyAllDocs() const {
  std::vector<std::vector<uint8_t>> out(documents_.size(), std::vector<uint8_t>(terms_.size()));
  for (size_t d = 0; d < documents_.size(); ++d) {
    for (uint32_t term : documents_[d]) out[d][term] = 1;
  }
  return out;
}

double approximate(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  uint32_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

absl::StatusOr<uint64_t> MinHashAccuracy::accuracy(const std::string& folder, int numPermutations,
                                                   double error, const MinHashOptions& options) {
  ASSIGN_OR_RETURN(const MinHash study, MinHash::create(folder, numPermutations, options));
  const MinHashMatrix matrix = study.minHashMatrix();
  uint64_t off = 0;
  for (size_t i = 0; i < matrix.documents; ++i) {
    for (size_t j = i + 1; j < matrix.documents; ++j) {
      off += std::abs(study.exact(i, j) - approximate(matrix.row(i), matrix.row(j))) > error;
    }
  }
  return off;
}

absl::StatusOr<MinHashTime::Timing> MinHashTime::timer(const std::string& folder, int numPermutations,
                                                       const MinHashOptions& options) {
  ASSIGN_OR_RETURN(const MinHash study, MinHash::create(folder, numPermutations, options));
  return timer(study);
}

MinHashTime::Timing MinHashTime::timer(const MinHash& documents) {
  Timing out;
  // Like the study, keeps sets of strings, and looks each term of one document up in the other.
  const size_t n = documents.allDocs().size();
  std::vector<absl::flat_hash_set<std::string>> sets(n);
  for (size_t d = 0; d < n; ++d) {
    for (uint32_t term : documents.terms_of(d)) sets[d].insert(documents.terms()[term]);
  }
  double sum = 0;  // keeps the compiler from leaving the work out
  const Stopwatch exact;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      size_t both = 0;
      for (const std::string& term : sets[i]) both += sets[j].contains(term);
      out.exact_comparisons += sets[i].size();
      sum += static_cast<double>(both) /
             static_cast<double>(std::max<size_t>(1, sets[i].size() + sets[j].size() - both));
    }
  }
  out.exact_seconds = exact.seconds();
  const Stopwatch making;
  const MinHashMatrix matrix = documents.minHashMatrix();
  out.matrix_seconds = making.seconds();
  const Stopwatch estimated;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      sum += approximate(matrix.row(i), matrix.row(j));
      out.estimated_comparisons += matrix.permutations;
    }
  }
  out.estimated_seconds = estimated.seconds();
  if (sum < 0) out.exact_comparisons = 0;
  return out;
}

}  // namespace doppel::lab
