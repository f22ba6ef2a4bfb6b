#include "lab/map_reduce.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <ostream>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/random.h"

namespace doppel::lab {
namespace {

// Takes the next word off the beginning of `text`.
std::string_view next_word(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = std::min(text.find(' ', begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

template <typename Number>
bool parse_number(std::string_view word, Number& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size();
}

size_t common(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t x = a[i];
    const uint32_t y = b[j];
    both += x == y;
    i += x <= y;
    j += y <= x;
  }
  return both;
}

absl::Status at_line(uint64_t line, const absl::Status& error) {
  return invalid(fmt::format("stdin:{}: {}", line, std_sv(error.message())));
}

}  // namespace

absl::StatusOr<ShingleSet> parse_set(std::string_view line, uint32_t max_shingle) {
  ShingleSet set;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string_view id = next_word(line);
  if (!parse_number(id, set.id))
    return invalid(fmt::format("expected an integer as id and not '{}'", one_line(id, 40)));
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    uint32_t shingle = 0;
    if (!parse_number(word, shingle)) {
      return invalid(fmt::format("expected an integer as shingle and not '{}'", one_line(word, 40)));
    }
    if (shingle > max_shingle) {
      return invalid(fmt::format("the shingle {} is larger than --max-shingle {}", shingle, max_shingle));
    }
    set.shingles.push_back(shingle);
  }
  if (set.shingles.empty()) return invalid(fmt::format("the set {} has no shingles", set.id));
  std::sort(set.shingles.begin(), set.shingles.end());
  set.shingles.erase(std::unique(set.shingles.begin(), set.shingles.end()), set.shingles.end());
  return set;
}

void append_set(const ShingleSet& set, std::string& out) {
  out += std::to_string(set.id);
  for (uint32_t shingle : set.shingles) {
    out += ' ';
    out += std::to_string(shingle);
  }
}

bool similar(const ShingleSet& a, const ShingleSet& b, uint32_t threshold_ppm) {
  const size_t both = common(a.shingles, b.shingles);
  return both * 1'000'000 >= (a.shingles.size() + b.shingles.size() - both) * threshold_ppm;
}

double jaccard(const ShingleSet& a, const ShingleSet& b) {
  const auto both = static_cast<double>(common(a.shingles, b.shingles));
  return both / (static_cast<double>(a.shingles.size() + b.shingles.size()) - both);
}

SetHashing::SetHashing(const MapReduceOptions& options)
    : options_(options), n_(static_cast<uint32_t>(prime_from(uint64_t{options.max_shingle} + 1))) {
  Random random(options.seed);
  auto value = [&](uint32_t low) { return static_cast<uint32_t>(random.between(low, n_.n() - 1)); };
  const int rows = options.rows * options.bands;
  for (int i = 0; i < rows; ++i) rows_.push_back({.a = value(1), .b = value(0)});
  for (int i = 0; i < rows; ++i) band_a_.push_back(value(1));
  for (int i = 0; i < options.bands; ++i) band_b_.push_back(value(0));
}

uint32_t SetHashing::bucket(int band, const ShingleSet& set) const {
  const auto rows = static_cast<size_t>(options_.rows);
  const size_t first = static_cast<size_t>(band) * rows;
  uint64_t sum = band_b_[static_cast<size_t>(band)];
  for (size_t i = first; i < first + rows; ++i) {
    const Function f = rows_[i];
    uint32_t least = UINT32_MAX;
    for (uint32_t x : set.shingles) least = std::min(least, n_.of(uint64_t{f.a} * x + f.b));
    sum += n_.of(uint64_t{band_a_[i]} * least);
  }
  return n_.of(sum);
}

void map_set(const SetHashing& hashing, const ShingleSet& set, std::string& out) {
  std::string value = "\t";
  append_set(set, value);
  value += '\n';
  for (int band = 0; band < hashing.bands(); ++band) {
    out += fmt::format("{} {}", band, hashing.bucket(band, set));
    out += value;
  }
}

absl::Status Reducer::add(std::string_view line, std::string& out) {
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return invalid("expected BAND BUCKET<TAB>ID SHINGLE ...");
  std::string_view key = line.substr(0, tab);
  if (key != key_) {
    finish(out);
    key_ = key;
    uint32_t bucket = 0;
    if (!parse_number(next_word(key), band_) || !parse_number(next_word(key), bucket) || !key.empty() ||
        band_ < 0 || band_ >= options_.bands) {
      return invalid(
          fmt::format("'{}' is not a band below {} and a bucket", one_line(key_, 40), options_.bands));
    }
  }
  ASSIGN_OR_RETURN(ShingleSet set, parse_set(line.substr(tab + 1), options_.max_shingle));
  ++counters_.records;
  if (fmt::format("{} {}", band_, hashing_.bucket(band_, set)) != key_) {
    return invalid(
        fmt::format("set {} is not of the bucket {}: it was mapped with another seed, other rows or shingles",
                    set.id, key_));
  }
  group_.push_back(std::move(set));
  return absl::OkStatus();
}

void Reducer::finish(std::string& out) {
  for (size_t i = 0; i < group_.size(); ++i) {
    for (size_t j = i + 1; j < group_.size(); ++j) {
      const ShingleSet& a = group_[i];
      const ShingleSet& b = group_[j];
      if (a.id == b.id) continue;
      ++counters_.candidates;
      if (!similar(a, b, options_.threshold_ppm)) continue;
      ++counters_.similar;
      int lowest = options_.every_band ? band_ : 0;
      while (lowest < band_ && hashing_.bucket(lowest, a) != hashing_.bucket(lowest, b)) ++lowest;
      if (lowest < band_) continue;
      ++counters_.printed;
      out += fmt::format("{}\t{}\n", std::min(a.id, b.id), std::max(a.id, b.id));
    }
  }
  group_.clear();
}

absl::Status run_mapper(const MapReduceOptions& options, std::istream& in, std::ostream& out) {
  const SetHashing hashing(options);
  uint64_t number = 0;
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    ++number;
    absl::StatusOr<ShingleSet> set = parse_set(line, options.max_shingle);
    if (!set.ok()) return at_line(number, set.status());
    lines.clear();
    map_set(hashing, *set, lines);
    out << lines;
  }
  if (!out.flush()) return io_error("stdout");
  return absl::OkStatus();
}

absl::StatusOr<ReduceCounters> run_reducer(const MapReduceOptions& options, std::istream& in,
                                           std::ostream& out) {
  Reducer reducer(options);
  uint64_t number = 0;
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    ++number;
    lines.clear();
    const absl::Status status = reducer.add(line, lines);
    if (!status.ok()) return at_line(number, status);
    out << lines;
  }
  lines.clear();
  reducer.finish(lines);
  out << lines;
  if (!out.flush()) return io_error("stdout");
  return reducer.counters();
}

absl::StatusOr<std::vector<ShingleSet>> read_sets(std::istream& in, uint32_t max_shingle) {
  std::vector<ShingleSet> sets;
  uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    absl::StatusOr<ShingleSet> set = parse_set(line, max_shingle);
    if (!set.ok()) return at_line(number, set.status());
    sets.push_back(*std::move(set));
  }
  return sets;
}

std::vector<std::pair<uint64_t, uint64_t>> exact_pairs(const std::vector<ShingleSet>& sets,
                                                       uint32_t threshold_ppm) {
  uint32_t largest = 0;
  for (const ShingleSet& set : sets) largest = std::max(largest, set.shingles.back());
  std::vector<uint32_t> occurrences(size_t{largest} + 1);
  for (const ShingleSet& set : sets) {
    for (uint32_t x : set.shingles) ++occurrences[x];
  }
  std::vector<std::vector<uint32_t>> with(occurrences.size());  // sets with this shingle among their rarest
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (uint32_t s = 0; s < sets.size(); ++s) {
    // |a and b| >= t |a|, so b lacks at most (1 - t) |a| of a's shingles. Of one more than that, at least
    // one is shared.
    std::vector<uint32_t> rarest = sets[s].shingles;
    std::sort(rarest.begin(), rarest.end(), [&](uint32_t x, uint32_t y) {
      return std::pair(occurrences[x], x) < std::pair(occurrences[y], y);
    });
    const size_t needed = (rarest.size() * threshold_ppm + 999'999) / 1'000'000;
    rarest.resize(rarest.size() - needed + 1);
    std::vector<uint32_t> candidates;
    for (uint32_t x : rarest) {
      candidates.insert(candidates.end(), with[x].begin(), with[x].end());
      with[x].push_back(s);
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    for (uint32_t other : candidates) {
      if (!similar(sets[s], sets[other], threshold_ppm)) continue;
      out.emplace_back(std::min(sets[s].id, sets[other].id), std::max(sets[s].id, sets[other].id));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ShingleSet> make_sets(size_t count, uint32_t max_shingle, uint64_t seed) {
  Random random(seed);
  const size_t copies = count / 10;
  std::vector<ShingleSet> sets;
  auto contains = [](const std::vector<uint32_t>& set, uint32_t x) {
    return std::find(set.begin(), set.end(), x) != set.end();
  };
  auto fill = [&](std::vector<uint32_t>& set, size_t size, const std::vector<uint32_t>& without) {
    while (set.size() < size) {
      const auto x = static_cast<uint32_t>(random.between(0, max_shingle));
      if (!contains(set, x) && !contains(without, x)) set.push_back(x);
    }
  };
  for (size_t i = 0; i + copies < count; ++i) {
    ShingleSet set;
    fill(set.shingles, random.between(80, 200), {});
    sets.push_back(std::move(set));
  }
  const size_t originals = sets.size();
  for (size_t i = 0; i < copies; ++i) {
    const double similarity = random.below(11) == 0 ? random.uniform(.89, .91) : random.uniform(.85, .97);
    const ShingleSet& original = sets[random.below(originals)];
    const auto n = static_cast<double>(original.shingles.size());
    // J = kept / (n + added): the added shingles make up for the rounding of the lost ones.
    const auto lost = static_cast<size_t>(random.uniform(0, n * (1 - similarity)));
    const double kept = n - static_cast<double>(lost);
    const auto added = static_cast<size_t>(std::max(0.0, std::round(kept / similarity - n)));
    ShingleSet copy{.id = 0, .shingles = original.shingles};
    random.shuffle(copy.shingles);
    copy.shingles.resize(copy.shingles.size() - lost);
    fill(copy.shingles, copy.shingles.size() + added, original.shingles);
    sets.push_back(std::move(copy));
  }
  random.shuffle(sets);
  for (size_t i = 0; i < sets.size(); ++i) {
    sets[i].id = i + 1;
    std::sort(sets[i].shingles.begin(), sets[i].shingles.end());
  }
  return sets;
}

}  // namespace doppel::lab
