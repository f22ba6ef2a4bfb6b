// What relations find, and what `near` would be by prints alone. Prints "name value unit" lines.
//
//   relations_study_bench --study parts --docs 2000
//     parts of a text, wraps and quotes: found as near, or as contained or contains
//   relations_study_bench --study short --docs 2000
//     30 to 150 words of a long text, from its beginning or from anywhere
//   relations_study_bench --study prints --docs 20000
//     which pairs at the threshold bands propose, and prints
//   relations_study_bench --study neighbours
//     500 earlier documents at .3 to .7: how many a document meets by bands and by prints
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "memory_run.h"
#include "oracle/language.h"
#include "oracle/relations.h"
#include "sketch/prints.h"
#include "text/words.h"

namespace doppel {
namespace {

struct Flags {
  std::string study = "parts";
  uint64_t docs = 2'000, seed = 1;
};

EngineOptions with_relations(bool on) {
  EngineOptions options;
  options.scheme.key = {1, 2};
  options.rule = make_rule(0.8, 0.995, 128).value();
  if (on) {
    options.scheme.passage = 150;
    options.rule.relations = {.contained = true, .contains = true, .shares = true, .passage = 150};
  }
  return options;
}

// ---- parts

using oracle::Units;

Units slice(const Units& units, double from, double to) {
  const auto at = [&](double share) {
    return units.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(units.size()));
  };
  return {at(from), at(to)};
}

struct Shape {
  const char* name;
  double from, to;        // which part of the text
  double before, behind;  // new words, as shares of the text
  size_t words = 0;       // if it is not 0: so many words of a text of 800 to 3,000, from its beginning ...
  bool anywhere = false;  // ... or from a random place
};
constexpr Shape kShapes[] = {
    {"first_90_percent", 0, .9, 0, 0},  {"first_80_percent", 0, .8, 0, 0},
    {"first_70_percent", 0, .7, 0, 0},  {"first_half", 0, .5, 0, 0},
    {"last_half", .5, 1, 0, 0},         {"middle_half", .25, .75, 0, 0},
    {"25_percent_more", 0, 1, 0, .25},  {"50_percent_more", 0, 1, .25, .25},
    {"100_percent_more", 0, 1, .5, .5}, {"200_percent_more", 0, 1, 1, 1},
    {"a_third_quoted", .3, .63, 1, 1},
};

constexpr Shape kShort[] = {
    {"first_30_words", 0, 0, 0, 0, 30},       {"first_50_words", 0, 0, 0, 0, 50},
    {"first_75_words", 0, 0, 0, 0, 75},       {"first_100_words", 0, 0, 0, 0, 100},
    {"first_150_words", 0, 0, 0, 0, 150},     {"any_30_words", 0, 0, 0, 0, 30, true},
    {"any_50_words", 0, 0, 0, 0, 50, true},   {"any_75_words", 0, 0, 0, 0, 75, true},
    {"any_100_words", 0, 0, 0, 0, 100, true}, {"any_150_words", 0, 0, 0, 0, 150, true},
};

struct Share {
  uint64_t found = 0, all = 0;
  void add(bool is_found) {
    ++all;
    found += is_found ? 1 : 0;
  }
};

// The originals, then one document of this shape for each.
void study_shape(const Flags& flags, const Shape& shape) {
  const EngineOptions options = with_relations(true);
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Signer signer = engine.make_signer();
  oracle::Random random(flags.seed);
  std::vector<std::string> texts;
  std::vector<Units> whole;
  // Of the documents: whether they have a passage of 154 words of the text, and the same by whole sets and
  // exact frequencies: without a shingle that 20 earlier ones have.
  std::vector<bool> with_passage, without_common;
  oracle::Relations truth({});
  const auto fresh = [&](size_t words) {
    Units out;
    oracle::write_text(oracle::Language::english, words, random, out);
    return out;
  };
  for (uint64_t i = 0; i < flags.docs; ++i) {
    whole.push_back(fresh(
        static_cast<size_t>(random.between(shape.words != 0 ? 800 : 100, shape.words != 0 ? 3'000 : 1'500))));
    texts.push_back(oracle::join(oracle::Language::english, whole.back()));
  }
  for (const Units& units : whole) {
    const auto share = [&](double s) { return static_cast<size_t>(s * static_cast<double>(units.size())); };
    Units text = shape.before == 0 ? Units() : fresh(share(shape.before));
    Units part = slice(units, shape.from, shape.to);
    if (shape.words != 0) {
      const uint64_t from = shape.anywhere ? random.between(0, units.size() - shape.words) : 0;
      const auto first = units.begin() + static_cast<ptrdiff_t>(from);
      part.assign(first, first + static_cast<ptrdiff_t>(shape.words));
    }
    text.insert(text.end(), part.begin(), part.end());
    const std::string words = oracle::join(oracle::Language::english, part);
    with_passage.push_back(word_places(words, Normalisation::standard).size() >= 154);
    if (shape.behind != 0) {
      const Units more = fresh(share(shape.behind));
      text.insert(text.end(), more.begin(), more.end());
    }
    texts.push_back(oracle::join(oracle::Language::english, text));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i >= flags.docs) {
      const std::vector<oracle::Shared> shared = truth.compare(texts[i]);
      without_common.push_back(std::any_of(shared.begin(), shared.end(), [&](const oracle::Shared& each) {
        return each.original == i - flags.docs && each.longest >= 154;
      }));
    }
    truth.add(texts[i]);
  }
  uint64_t near = 0, part = 0, shares = 0;
  Share of_passages, of_uncommon;
  Work work;
  MatchCounters counters;
  for (size_t at = 0; at < texts.size(); at += kBatch) {
    const size_t n = std::min(kBatch, texts.size() - at);
    work.resize(n, options);
    for (size_t i = 0; i < n; ++i)
      signer.sign(texts[at + i], "", work.sign.documents[i],
                  work.sign.slices.data() + i * static_cast<size_t>(options.scheme.num_perm));
    if (!engine.match(work, 0, n, counters).ok() || !engine.resolve(work).ok()) std::abort();
    for (size_t i = 0; i < n; ++i) {
      if (at + i < flags.docs) continue;
      const Outcome& outcome = work.resolved.outcomes[i];
      const size_t text = at + i - flags.docs;
      const bool found = outcome.verdict == Verdict::duplicate ||
                         std::any_of(outcome.related.begin(), outcome.related.end(),
                                     [&](const Related& related) { return related.seq == text; });
      if (with_passage[text]) of_passages.add(found);
      if (without_common[text]) of_uncommon.add(found);
      if (outcome.verdict == Verdict::duplicate) near += outcome.seq == text ? 1 : 0;
      for (const Related& related : outcome.related) {
        if (related.seq != text) continue;
        ++(related.relation == Relation::shares ? shares : part);
      }
    }
  }
  const auto of_all = [&](uint64_t n) { return static_cast<double>(n) / static_cast<double>(flags.docs); };
  fmt::print("{}_near {:.4f} share\n", shape.name, of_all(near));
  fmt::print("{}_near_or_part {:.4f} share\n", shape.name, of_all(near + part));
  fmt::print("{}_any {:.4f} share\n", shape.name, of_all(near + part + shares));
  fmt::print("{}_with_a_passage {} found of {}\n", shape.name, of_passages.found, of_passages.all);
  fmt::print("{}_without_a_common_one {} found of {}\n", shape.name, of_uncommon.found, of_uncommon.all);
}

// ---- near by prints alone

struct Signed {
  std::vector<uint64_t> shingles;  // different ones, ascending
  std::vector<uint8_t> slices;
  std::vector<uint64_t> asked, stored;  // different prints
};

class Proposals {
 public:
  Proposals()
      : options_(with_relations(false)),
        signer_(options_.scheme),
        shingler_(options_.scheme.key, 5, Normalisation::standard) {}

  Signed sign(const std::string& text) {
    Signed out;
    SignedDocument document;
    out.slices.resize(static_cast<size_t>(options_.scheme.num_perm));
    signer_.sign(text, "", document, out.slices.data());
    PodVector<uint64_t> shingles;
    shingler_.update(text, shingles);
    shingler_.finish(shingles);
    PodVector<uint32_t> tops;
    for (const uint64_t shingle : shingles) tops.push_back(static_cast<uint32_t>(shingle >> 32));
    PodVector<Print> prints;
    if (!shingles.empty()) find_prints(shingles, tops, 150, 7, prints);
    uint32_t next = 0;
    for (const Print& print : prints) {
      if (print.number != next) continue;
      ++next;
      out.asked.push_back(print.key);
      if (print.stored) out.stored.push_back(print.key);
    }
    out.shingles.assign(shingles.begin(), shingles.end());
    std::sort(out.shingles.begin(), out.shingles.end());
    out.shingles.erase(std::unique(out.shingles.begin(), out.shingles.end()), out.shingles.end());
    return out;
  }

  bool meet(const Signed& a, const Signed& b) const {
    const auto rows = static_cast<size_t>(options_.rule.banding.rows);
    for (int band = 0; band < options_.rule.banding.bands; ++band) {
      const size_t at = static_cast<size_t>(band) * rows;
      if (std::equal(&a.slices[at], &a.slices[at] + rows, &b.slices[at])) return true;
    }
    return false;
  }
  const Banding& banding() const { return options_.rule.banding; }

 private:
  EngineOptions options_;
  Signer signer_;
  Shingler shingler_;
};

double jaccard(const Signed& a, const Signed& b) {
  uint64_t shared = 0;
  for (size_t i = 0, j = 0; i < a.shingles.size() && j < b.shingles.size();) {
    shared += a.shingles[i] == b.shingles[j] ? 1 : 0;
    const bool left = a.shingles[i] <= b.shingles[j], right = b.shingles[j] <= a.shingles[i];
    i += left ? 1 : 0;
    j += right ? 1 : 0;
  }
  return static_cast<double>(shared) / static_cast<double>(a.shingles.size() + b.shingles.size() - shared);
}

// By document: how many of the prints that `d` asks for it stores.
using Hits = std::unordered_map<uint32_t, uint32_t>;

class PrintLists {
 public:
  Hits find(const Signed& d) const {
    Hits out;
    for (const uint64_t print : d.asked) {
      const auto list = lists_.find(print);
      if (list == lists_.end()) continue;
      for (const uint32_t each : list->second) ++out[each];
    }
    return out;
  }
  void add(const Signed& d, uint32_t number) {
    for (const uint64_t print : d.stored) lists_[print].push_back(number);
    entries_ += d.stored.size();
  }
  uint64_t entries() const { return entries_; }

 private:
  std::unordered_map<uint64_t, std::vector<uint32_t>> lists_;
  uint64_t entries_ = 0;
};

// What is enough for a comparison: this share of the smaller one of both lists of prints is met.
struct Enough {
  const char* name;
  uint64_t part, of;
};
constexpr Enough kEnough[] = {{"any", 0, 1},  {"an_eighth", 1, 8},  {"a_third", 1, 3},
                              {"half", 1, 2}, {"two_thirds", 2, 3}, {"three_quarters", 3, 4}};

bool enough(uint32_t hits, const Signed& a, const Signed& b, const Enough& least) {
  return hits * least.of >= std::min(a.stored.size(), b.stored.size()) * least.part;
}

// Pairs at the threshold share one of the smallest fifth of their shingles. So all of them are found.
void study_prints(const Flags& flags) {
  constexpr double kThreshold = 0.8;
  const oracle::CorpusOptions corpus{.seed = flags.seed, .copies = 0.5};
  Proposals proposals;
  std::vector<Signed> all;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_shingle;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_band;
  PrintLists lists;
  uint64_t pairs = 0, by_bands = 0, proposed_by_bands = 0;
  std::array<uint64_t, std::size(kEnough)> by_prints{}, proposed{};
  const Banding banding = proposals.banding();
  for (uint64_t n = 0; n < flags.docs; ++n) {
    all.push_back(proposals.sign(oracle::make_document(corpus, n).text));
    const Signed& d = all.back();
    const auto number = static_cast<uint32_t>(n);
    if (d.shingles.empty()) continue;
    std::vector<uint32_t> near;
    const size_t prefix =
        d.shingles.size() -
        static_cast<size_t>(std::ceil(kThreshold * static_cast<double>(d.shingles.size()))) + 1;
    for (size_t i = 0; i < prefix; ++i) {
      std::vector<uint32_t>& list = by_shingle[d.shingles[i]];
      near.insert(near.end(), list.begin(), list.end());
      list.push_back(number);
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    std::vector<uint32_t> met;
    for (int band = 0; band < banding.bands; ++band) {
      uint64_t key = static_cast<uint64_t>(band);
      for (int row = 0; row < banding.rows; ++row)
        key = key << 8 | d.slices[static_cast<size_t>(band) * static_cast<size_t>(banding.rows) +
                                  static_cast<size_t>(row)];
      std::vector<uint32_t>& list = by_band[key];
      met.insert(met.end(), list.begin(), list.end());
      list.push_back(number);
    }
    std::sort(met.begin(), met.end());
    met.erase(std::unique(met.begin(), met.end()), met.end());
    proposed_by_bands += met.size();
    const Hits hits = lists.find(d);
    for (const auto& [other, count] : hits)
      for (size_t e = 0; e < std::size(kEnough); ++e)
        proposed[e] += enough(count, d, all[other], kEnough[e]) ? 1 : 0;
    for (const uint32_t other : near) {
      if (jaccard(d, all[other]) < kThreshold) continue;
      ++pairs;
      by_bands += std::binary_search(met.begin(), met.end(), other) ? 1 : 0;
      const auto hit = hits.find(other);
      for (size_t e = 0; hit != hits.end() && e < std::size(kEnough); ++e)
        by_prints[e] += enough(hit->second, d, all[other], kEnough[e]) ? 1 : 0;
    }
    lists.add(d, number);
  }
  const auto per_document = [&](uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(flags.docs);
  };
  const auto of_pairs = [&](uint64_t n) { return static_cast<double>(n) / static_cast<double>(pairs); };
  fmt::print("pairs {} pairs\n", pairs);
  fmt::print("bands_found {:.5f} share\nbands_candidates {:.3f} documents\n", of_pairs(by_bands),
             per_document(proposed_by_bands));
  for (size_t e = 0; e < std::size(kEnough); ++e)
    fmt::print("prints_{0}_found {1:.5f} share\nprints_{0}_candidates {2:.3f} documents\n", kEnough[e].name,
               of_pairs(by_prints[e]), per_document(proposed[e]));
  fmt::print("bands_entries {} entries/document\n", banding.bands);
  fmt::print("prints_entries {:.2f} entries/document\n", per_document(lists.entries()));
}

// A template of which each document has a part, and new words for the rest: pages of a site.
void study_neighbours(const Flags& flags) {
  constexpr size_t kWords = 600, kNeighbours = 500, kAsked = 100;
  std::mt19937_64 random(flags.seed);
  const auto word = [&] { return "w" + std::to_string(random() >> 24) + " "; };
  // `runs`: the new words are so many runs; 0: each is somewhere else.
  for (const size_t runs : {size_t{1}, size_t{4}, size_t{0}}) {
    Proposals proposals;
    std::vector<std::string> page;
    for (size_t i = 0; i < kWords; ++i) page.push_back(word());
    PrintLists lists;
    std::vector<Signed> all;
    uint64_t met = 0, between = 0;
    std::array<uint64_t, std::size(kEnough)> proposed{};
    double similarity = 0;
    for (size_t n = 0; n < kNeighbours + kAsked; ++n) {
      std::vector<std::string> words = page;
      // So that a pair has .3 to .7 in common: each keeps .65 to .9 of the template where the rest is in
      // runs.
      const double keeps = runs == 0 ? 0.95 + 0.03 * static_cast<double>(random() % 100) / 100
                                     : 0.65 + 0.25 * static_cast<double>(random() % 100) / 100;
      const auto own = static_cast<size_t>((1 - keeps) * kWords);
      const size_t pieces = runs == 0 ? own : runs;
      for (size_t piece = 0; piece < pieces; ++piece) {
        const size_t size = own / pieces, first = random() % (kWords - size);
        for (size_t i = first; i < first + size; ++i) words[i] = word();
      }
      std::string text;
      for (const std::string& each : words) text += each;
      Signed d = proposals.sign(text);
      if (n >= kNeighbours) {
        for (const auto& [other, count] : lists.find(d))
          for (size_t e = 0; e < std::size(kEnough); ++e)
            proposed[e] += enough(count, d, all[other], kEnough[e]) ? 1 : 0;
        for (const Signed& other : all) {
          met += proposals.meet(d, other) ? 1 : 0;
          const double j = jaccard(d, other);
          similarity += j;
          between += j >= .3 && j <= .7 ? 1 : 0;
        }
        continue;
      }
      lists.add(d, static_cast<uint32_t>(n));
      all.push_back(std::move(d));
    }
    const std::string name = runs == 0 ? "scattered" : fmt::format("{}_runs", runs);
    fmt::print("{}_similarity {:.3f} mean\n", name, similarity / (kAsked * kNeighbours));
    fmt::print("{}_between {:.3f} share of .3 to .7\n", name,
               static_cast<double>(between) / (kAsked * kNeighbours));
    fmt::print("{}_bands_meet {:.1f} of 500\n", name, static_cast<double>(met) / kAsked);
    for (size_t e = 0; e < std::size(kEnough); ++e)
      fmt::print("{}_prints_{}_meet {:.1f} of 500\n", name, kEnough[e].name,
                 static_cast<double>(proposed[e]) / kAsked);
  }
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  doppel::Flags flags;
  CLI::App app("What relations find, and near by prints alone");
  app.add_option("--study", flags.study)
      ->check(CLI::IsMember({"parts", "short", "prints", "neighbours"}))
      ->capture_default_str();
  app.add_option("--docs", flags.docs)->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (flags.study == "prints") {
    doppel::study_prints(flags);
  } else if (flags.study == "neighbours") {
    doppel::study_neighbours(flags);
  } else {
    const std::span<const doppel::Shape> shapes =
        flags.study == "short" ? std::span<const doppel::Shape>(doppel::kShort) : doppel::kShapes;
    for (const doppel::Shape& shape : shapes) doppel::study_shape(flags, shape);
  }
  return 0;
}
