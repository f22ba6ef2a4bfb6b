#include "lab/collection.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "fmt/format.h"

namespace doppel::lab {
namespace {

namespace fs = std::filesystem;

absl::Status check_text(const std::string& path, std::string_view bytes) {
  size_t line = 1;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\n') ++line;
    if (byte < ' ' && (byte < '\t' || byte > '\r')) {
      return invalid(fmt::format("{}:{}: not a text file (byte 0x{:02x})", path, line, byte));
    }
  }
  return absl::OkStatus();
}

// Joins the words to text with capitals, punctuation and "the", which a reader of terms must handle.
std::string as_text(const std::vector<std::string>& words, Random& random) {
  std::string text;
  bool sentence = true;
  for (const std::string& word : words) {
    if (random.below(12) == 0) text += sentence ? "The " : "the ";
    const size_t at = text.size();
    text += word;
    if (sentence) text[at] = static_cast<char>(text[at] - 'a' + 'A');
    const uint64_t mark = random.below(14);
    sentence = mark == 0;
    text += mark == 0 ? ".\n" : mark == 1 ? ", " : " ";
  }
  return text + "\n";
}

// How many terms a copy loses and how many new ones it gets, so that kept / (all + new) is closest to
// `similarity`.
struct Change {
  size_t lost = 0, added = 0;
};
Change change_for(size_t terms, double similarity, Random& random) {
  const double both = static_cast<double>(terms) * (1 - similarity) / (1 + similarity);
  Change best;
  double best_error = 1;
  // Several splits come about equally close, so a random one is tried each time.
  for (int attempt = 0; attempt < 12; ++attempt) {
    const auto lost = std::min<size_t>(terms - 1, random.between(0, static_cast<uint64_t>(2 * both + 1)));
    const double added =
        (static_cast<double>(terms) - static_cast<double>(lost)) / similarity - static_cast<double>(terms);
    if (added < -.5) continue;
    const Change change{lost, static_cast<size_t>(std::max(0.0, std::round(added)))};
    const double got = static_cast<double>(terms - lost) / static_cast<double>(terms + change.added);
    if (std::abs(got - similarity) < best_error) {
      best_error = std::abs(got - similarity);
      best = change;
    }
  }
  return best;
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

absl::StatusOr<std::string> read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return io_error(path);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (in.bad() || fs::is_directory(path)) return invalid(path + ": cannot be read");
  std::string text = bytes.str();
  RETURN_IF_ERROR(check_text(path, text));
  return text;
}

absl::StatusOr<Collection> read_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return invalid(folder + ": not a folder");
  std::vector<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (it->is_regular_file()) paths.push_back(it->path().string());
  }
  if (error) return invalid(folder + ": " + error.message());
  if (paths.empty()) return invalid(folder + ": a folder without files");
  std::sort(paths.begin(), paths.end());
  Collection collection;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(std::string text, read_text_file(path));
    collection.names.push_back(fs::path(path).lexically_relative(folder).string());
    collection.texts.push_back(std::move(text));
  }
  return collection;
}

absl::Status write_folder(const Collection& collection, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return invalid(folder + ": " + error.message());
  for (size_t i = 0; i < collection.size(); ++i) {
    const std::string path = folder + "/" + collection.names[i];
    std::ofstream out(path, std::ios::binary);
    out << collection.texts[i];
    if (!out.flush()) return io_error(path);
  }
  return absl::OkStatus();
}

std::string made_word(uint64_t number) {
  static constexpr std::string_view kConsonants = "bcdfghjklmnprstvwxyz";
  static constexpr std::string_view kVowels = "aeiou";
  std::string word;
  for (int syllable = 0; syllable < 2 || number > 0; ++syllable) {
    word += kConsonants[number % 20];
    word += kVowels[number / 20 % 5];
    number /= 100;
  }
  return word;
}

Vocabulary::Vocabulary(size_t words, double exponent, double shift) {
  double sum = 0;
  for (size_t i = 0; i < words; ++i) {
    sum += std::pow(static_cast<double>(i) + 1 + shift, -exponent);
    cumulative_.push_back(sum);
  }
}

uint32_t Vocabulary::draw(Random& random) const {
  const double at = random.unit() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  return static_cast<uint32_t>(std::min<ptrdiff_t>(found - cumulative_.begin(), std::ssize(cumulative_) - 1));
}

Collection make_news(const NewsShape& shape, uint64_t seed) {
  const Vocabulary vocabulary(shape.vocabulary, shape.exponent, shape.shift);
  // Lengths are log-normal. Subtracting .18 compensates for what the deviation of .6 adds to the mean.
  const double middle = std::log(shape.mean_terms) - .18;
  Collection collection;
  for (size_t d = 0; d < shape.documents; ++d) {
    Random random(seed, d);
    const double drawn = std::exp(random.normal(middle, .6));
    const auto terms =
        static_cast<size_t>(std::clamp(drawn, 30.0, static_cast<double>(shape.vocabulary) / 10));
    absl::flat_hash_set<uint32_t> seen;
    std::vector<std::string> words;
    while (seen.size() < terms) {
      const uint32_t word = vocabulary.draw(random);
      seen.insert(word);
      words.push_back(made_word(word));
    }
    collection.names.push_back(fmt::format("news-{:05}.txt", d));
    collection.texts.push_back(as_text(words, random));
  }
  return collection;
}

Collection with_near_copies(const Collection& originals, int copies, const CopyShape& shape, uint64_t seed) {
  Collection all;
  for (size_t d = 0; d < originals.size(); ++d) {
    all.names.push_back(originals.names[d]);
    all.texts.push_back(originals.texts[d]);
    Random random(seed, d);
    std::vector<std::string> distinct;
    absl::flat_hash_set<std::string> seen;
    for (const std::string& raw : split_words(originals.texts[d])) {
      std::string word;
      for (char c : raw) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c >= 'a' && c <= 'z') word += c;
      }
      if (word.size() > 2 && word != "the" && seen.insert(word).second) distinct.push_back(word);
    }
    for (int c = 1; c <= copies; ++c) {
      const double wanted = std::clamp(
          shape.normal ? random.normal(shape.a, shape.b) : random.uniform(shape.a, shape.b), .05, 1.0);
      const Change change = change_for(distinct.size(), wanted, random);
      std::vector<std::string> words = distinct;
      random.shuffle(words);
      words.resize(words.size() - change.lost);
      // New terms are words that other documents use, too.
      for (size_t added = 0; added < change.added;) {
        std::string word = made_word(random.below(20000));
        if (seen.contains(word) || std::find(words.begin(), words.end(), word) != words.end()) continue;
        words.push_back(std::move(word));
        ++added;
      }
      all.names.push_back(fmt::format("{}.copy{}", originals.names[d], c));
      all.texts.push_back(as_text(words, random));
    }
  }
  return all;
}

}  // namespace doppel::lab
