#include "lab/k_shingles.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "lab/collection.h"
#include "lab/primes.h"

namespace doppel::lab {

ShingleStrings k_shingles(std::string_view text, const ShingleOptions& options) {
  std::string clean;
  std::vector<size_t> starts;  // of characters in `clean`
  for (char c : text) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (!options.spaces || (!clean.empty() && clean.back() == ' ')) continue;
      c = ' ';
    }
    if (options.lower_case && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if ((c & 0xc0) != 0x80) starts.push_back(clean.size());
    clean += c;
  }
  starts.push_back(clean.size());
  const auto k = static_cast<size_t>(options.k);
  ShingleStrings out;
  for (size_t i = 0; i + k < starts.size(); ++i)
    out.insert(clean.substr(starts[i], starts[i + k] - starts[i]));
  return out;
}

double jaccard(const ShingleStrings& a, const ShingleStrings& b) {
  size_t both = 0;
  for (const std::string& shingle : a) both += b.contains(shingle);
  const size_t any = a.size() + b.size() - both;
  return any == 0 ? 0 : static_cast<double>(both) / static_cast<double>(any);
}

CharacteristicMatrix characteristic_matrix(const std::vector<ShingleStrings>& sets) {
  CharacteristicMatrix out;
  out.columns = sets.size();
  absl::flat_hash_map<std::string_view, uint32_t> numbers;
  for (uint32_t d = 0; d < sets.size(); ++d) {
    // Sort, because the order of a hash table differs from run to run, and rows must not.
    std::vector<std::string_view> sorted(sets[d].begin(), sets[d].end());
    std::sort(sorted.begin(), sorted.end());
    for (std::string_view shingle : sorted) {
      const auto [it, is_new] = numbers.try_emplace(shingle, static_cast<uint32_t>(out.rows.size()));
      if (is_new) {
        out.rows.emplace_back(shingle);
        out.documents.emplace_back();
      }
      out.documents[it->second].push_back(d);
    }
  }
  return out;
}

uint32_t first_row(const CharacteristicMatrix& matrix, const std::vector<uint32_t>& order,
                   uint32_t document) {
  return *std::find_if(order.begin(), order.end(), [&](uint32_t row) {
    const std::vector<uint32_t>& who = matrix.documents[row];
    return std::find(who.begin(), who.end(), document) != who.end();
  });
}

uint32_t mix(uint32_t a, uint32_t b, uint32_t c) {
  a = (a - b - c) ^ (c >> 13);
  b = (b - c - a) ^ (a << 8);
  c = (c - a - b) ^ (b >> 13);
  a = (a - b - c) ^ (c >> 12);
  b = (b - c - a) ^ (a << 16);
  c = (c - a - b) ^ (b >> 5);
  a = (a - b - c) ^ (c >> 3);
  b = (b - c - a) ^ (a << 10);
  c = (c - a - b) ^ (b >> 15);
  return c;
}

RowFunctions draw_functions(HashFamily family, int n, size_t rows, Random& random) {
  RowFunctions out{.family = family, .z = static_cast<uint32_t>(std::max<size_t>(1, rows)), .p_m = {}};
  while (out.p_m.size() < static_cast<size_t>(n)) {
    const auto p = static_cast<uint32_t>(random.between(2, 1'000'000));
    const auto m = static_cast<uint32_t>(random.below(out.z));
    // Jenkins' mix takes any words; only the modular functions need a prime.
    if (family == HashFamily::modular && (!is_prime(p) || out.z % p == 0)) continue;
    out.p_m.emplace_back(p, family == HashFamily::modular ? m : static_cast<uint32_t>(random.next()));
  }
  return out;
}

std::vector<std::vector<uint32_t>> signatures(const CharacteristicMatrix& matrix,
                                              const RowFunctions& functions) {
  const size_t n = functions.p_m.size();
  std::vector<std::vector<uint32_t>> out(matrix.columns, std::vector<uint32_t>(n, UINT32_MAX));
  std::vector<uint32_t> values(n);
  for (uint32_t row = 0; row < matrix.rows.size(); ++row) {
    for (size_t i = 0; i < n; ++i) values[i] = functions(i, row);
    for (uint32_t d : matrix.documents[row]) {
      for (size_t i = 0; i < n; ++i) out[d][i] = std::min(out[d][i], values[i]);
    }
  }
  return out;
}

double estimate(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t n) {
  size_t equal = 0;
  for (size_t i = 0; i < n; ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / static_cast<double>(n);
}

double reached_threshold(int n, int bands) {
  const double b = bands;
  return std::pow(1 / b, b / n);
}

int bands_for(int n, double threshold) {
  int best = 1;
  double least = INFINITY;
  for (int b = 1; b <= n; ++b) {
    if (n % b != 0) continue;
    const double absolute = std::abs(reached_threshold(n, b) - threshold);
    if (absolute < least) {
      least = absolute;
      best = b;
    }
  }
  return best;
}

std::vector<std::pair<uint32_t, uint32_t>> band_candidates(
    const std::vector<std::vector<uint32_t>>& signatures, int bands) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  if (signatures.empty()) return out;
  const size_t rows = signatures[0].size() / static_cast<size_t>(bands);
  for (size_t band = 0; band < static_cast<size_t>(bands); ++band) {
    absl::flat_hash_map<std::string_view, std::vector<uint32_t>> table;
    for (uint32_t d = 0; d < signatures.size(); ++d) {
      const uint32_t* values = signatures[d].data() + band * rows;
      table[std::string_view(reinterpret_cast<const char*>(values), rows * sizeof(uint32_t))].push_back(d);
    }
    for (const auto& [values, documents] : table) {
      for (size_t i = 0; i < documents.size(); ++i) {
        for (size_t j = i + 1; j < documents.size(); ++j) out.emplace_back(documents[i], documents[j]);
      }
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Prose::Prose(uint64_t seed) {
  static constexpr std::string_view kVowels = "eeeeaaaiioouuy";
  static constexpr std::string_view kConsonants = "ttttnnnnssssrrrhhhlllddccmmffppgwybvkxjqz";
  for (uint64_t i = 0; i < 3000; ++i) {
    Random random(seed, i);
    const auto length = static_cast<size_t>(std::clamp(std::lround(random.normal(5.84, 2.2)), 1L, 13L));
    std::string word;
    bool vowel = random.below(3) == 0;
    while (word.size() < length) {
      const std::string_view letters = vowel ? kVowels : kConsonants;
      word += letters[random.below(letters.size())];
      vowel = random.below(8) == 0 ? vowel : !vowel;
    }
    vocabulary_.push_back(std::move(word));
  }
}

std::string Prose::word(Random& random) const {
  // Frequent words come as often as in a text, but without the articles and prepositions that make up half
  // of one.
  const double at = std::pow(random.unit(), 2.0) * static_cast<double>(vocabulary_.size());
  return vocabulary_[static_cast<size_t>(at)];
}

std::vector<std::string> Prose::words(size_t count, Random& random) const {
  std::vector<std::string> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) out.push_back(word(random));
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

}  // namespace doppel::lab
