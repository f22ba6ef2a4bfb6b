// What doppel uses instead, and why: compares the studies' sketches, bands and decisions with doppel's on
// the same documents, by error, time and memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/bytes.h"
#include "base/status.h"
#include "fmt/format.h"
#include "index/banding.h"
#include "insight/show.h"
#include "lab/duplicate_finder.h"
#include "lab/experiments.h"
#include "lab/k_shingles.h"
#include "lab/minhash_study.h"
#include "sketch/compact_set.h"
#include "sketch/sketch.h"
#include "text/hash_key.h"

namespace doppel::lab {
namespace {

constexpr int kCopies = 3;
constexpr double kThreshold = .8;

struct Data {
  MinHash study;                                     // documents as sets of terms
  std::vector<std::vector<uint64_t>> hashes;         // the same sets as keyed 64-bit hashes
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  // the planted pairs
  std::vector<double> exact;
};

// One way to represent a document and to compare two.
struct Way {
  std::string name;
  double bytes = 0;  // per document
  double seconds = 0;
  std::function<double(uint32_t, uint32_t)> similarity;
};

template <typename Make>
double timed(const Make& make) {
  const Stopwatch watch;
  make();
  return watch.seconds();
}

struct Ways {
  std::vector<Way> all;
  // Storage for the functions above.
  std::vector<MinHashMatrix> matrices;
  std::vector<std::vector<uint32_t>> elements;
  std::vector<std::vector<uint32_t>> rows;
  std::vector<std::vector<uint64_t>> fast, classic;
  std::vector<std::vector<uint8_t>> slices;
  std::vector<CompactSet> sets;
};

void make_ways(const Data& data, uint64_t seed, Ways& w) {
  const size_t n = data.hashes.size();
  w.matrices.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    const int permutations = i == 0 ? 128 : 1200;
    const MinHash study = data.study.again(permutations, {.seed = seed}).value();
    const double seconds = timed([&] { w.matrices[i] = study.minHashMatrix(); });
    const MinHashMatrix* matrix = &w.matrices[i];
    w.all.push_back(
        {fmt::format("A: permutations of terms, {}", permutations), permutations * 4.0, seconds,
         [matrix](uint32_t a, uint32_t b) { return approximate(matrix->row(a), matrix->row(b)); }});
  }
  {
    IntegerSets sets;
    for (size_t d = 0; d < n; ++d) sets.sets.push_back(data.study.terms_of(d));
    sets.largest = static_cast<uint32_t>(data.study.numTerms() - 1);
    Random random(seed, 1);
    const std::vector<LinearHash> hashes = draw_hashes(128, sets, Encoding::own_ids, random);
    const double seconds = timed([&] { w.elements = MinHashFinder(sets, hashes).signatures(); });
    w.all.push_back({"C: lowest elements, 128", 128 * 4.0, seconds,
                     [&w](uint32_t a, uint32_t b) { return estimated(w.elements[a], w.elements[b]); }});
  }
  {
    CharacteristicMatrix matrix{.rows = data.study.terms(), .documents = {}, .columns = n};
    matrix.documents.resize(matrix.rows.size());
    for (uint32_t d = 0; d < n; ++d) {
      for (uint32_t term : data.study.terms_of(d)) matrix.documents[term].push_back(d);
    }
    Random random(seed, 2);
    const RowFunctions functions = draw_functions(HashFamily::jenkins, 128, matrix.rows.size(), random);
    const double seconds = timed([&] { w.rows = signatures(matrix, functions); });
    w.all.push_back({"B: Jenkins' mix of row numbers, 128", 128 * 4.0, seconds,
                     [&w](uint32_t a, uint32_t b) { return estimate(w.rows[a], w.rows[b], 128); }});
  }
  const HashKey key{.low = seed, .high = ~seed};
  for (SketchFamily family : {SketchFamily::classic, SketchFamily::fast}) {
    const Sketcher sketcher(family, 128, key);
    auto& slots = family == SketchFamily::fast ? w.fast : w.classic;
    const double seconds = timed([&] {
      slots.assign(n, std::vector<uint64_t>(128));
      for (size_t d = 0; d < n; ++d) {
        sketcher.clear(slots[d].data());
        sketcher.update(slots[d].data(), data.hashes[d]);
      }
    });
    w.all.push_back({fmt::format("doppel: {} sketch, 128 slots of 64 bits", sketch_family_name(family)),
                     128 * 8.0, seconds, [&slots](uint32_t a, uint32_t b) {
                       return estimate_jaccard(slots[a].data(), slots[b].data(), 128);
                     }});
    if (family == SketchFamily::classic) continue;
    w.slices.assign(n, std::vector<uint8_t>(128));
    for (size_t d = 0; d < n; ++d) sketcher.slices(slots[d].data(), w.slices[d].data());
    w.all.push_back(
        {"doppel: 8-bit slices of it (kept in memory)", 128, seconds, [&w](uint32_t a, uint32_t b) {
           const Overlap o =
               overlap_from_slices(equal_slices(w.slices[a].data(), w.slices[b].data(), 128), 128);
           return o.uni == 0 ? 0 : static_cast<double>(o.inter) / static_cast<double>(o.uni);
         }});
  }
  w.sets.resize(n);
  double bytes = 0;
  const double seconds = timed([&] {
    PodVector<uint32_t> tops;
    for (size_t d = 0; d < n; ++d) {
      tops.clear();
      for (uint64_t hash : data.hashes[d]) tops.push_back(static_cast<uint32_t>(hash >> 32));
      make_compact_set(tops, w.sets[d]);
      std::string coded;
      encode_compact_set(w.sets[d], coded);
      bytes += static_cast<double>(coded.size()) / static_cast<double>(n);
    }
  });
  w.all.push_back({"doppel: compact sets (kept on disk)", bytes, seconds, [&w](uint32_t a, uint32_t b) {
                     const Overlap o = overlap(w.sets[a], w.sets[b]);
                     return o.uni == 0 ? 0 : static_cast<double>(o.inter) / static_cast<double>(o.uni);
                   }});
}

void sketch_table(const Data& data, const Ways& ways, const std::string& caption, Report& report) {
  Table table{.name = "compare_sketches",
              .title = "Sketches: error, time, memory",
              .caption = caption +
                         " Pairs: planted near-copies with J from normal(.8, .1). Error: root mean square of "
                         "estimate minus exact; wrong at .8: "
                         "pairs that the estimate puts on the other side of the threshold. Seconds: signing "
                         "all documents, on one thread.",
              .columns = {"sketch", "bytes per document", "RMS error", "wrong at .8 (% of pairs)",
                          "us per document", "us per comparison"},
              .rows = {}};
  for (const Way& way : ways.all) {
    double squares = 0;
    double wrong = 0;
    const auto pairs = static_cast<double>(data.pairs.size());
    const Stopwatch comparing;
    for (size_t i = 0; i < data.pairs.size(); ++i) {
      const double similarity = way.similarity(data.pairs[i].first, data.pairs[i].second);
      squares += std::pow(similarity - data.exact[i], 2);
      wrong += (similarity >= kThreshold) != (data.exact[i] >= kThreshold) ? 1 : 0;
    }
    const double comparison = comparing.seconds() / pairs;
    table.row(
        {text(way.name), num(way.bytes, 0), num(std::sqrt(squares / pairs), 4), num(wrong / pairs * 100, 2),
         num(way.seconds / static_cast<double>(data.hashes.size()) * 1e6, 2), num(comparison * 1e6, 3)});
  }
  report.add(std::move(table));
}

// The candidate pairs of all documents for one banding.
using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

Pairs study_candidates(const Data& data, const MinHashMatrix& matrix, int bands) {
  const LSH lsh = LSH::create(matrix, data.study.allDocs(), bands).value();
  Pairs out;
  for (uint32_t d = 0; d < matrix.documents; ++d) {
    for (uint32_t other : lsh.near_duplicates_of(d)) {
      if (d < other) out.emplace_back(d, other);
    }
  }
  return out;
}

Pairs our_candidates(const Ways& ways, Banding banding, const HashKey& key) {
  const BandKeys keys(banding, key);
  Pairs out;
  for (int band = 0; band < banding.bands; ++band) {
    std::vector<std::pair<uint64_t, uint32_t>> table;
    table.reserve(ways.slices.size());
    for (uint32_t d = 0; d < ways.slices.size(); ++d)
      table.emplace_back(keys.key(band, ways.slices[d].data()), d);
    std::sort(table.begin(), table.end());
    for (size_t i = 0; i < table.size(); ++i) {
      for (size_t j = i + 1; j < table.size() && table[j].first == table[i].first; ++j) {
        out.emplace_back(std::min(table[i].second, table[j].second),
                         std::max(table[i].second, table[j].second));
      }
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void finding_table(const Data& data, const Ways& ways, uint64_t seed, const std::string& caption,
                   Report& report) {
  Table table{
      .name = "compare_finding",
      .title = "Bands and verification: all pairs at .8",
      .caption = caption + " Against all pairs by exact sets. Work: candidates that had to be compared.",
      .columns = {"way", "candidates", "recall of bands", "precision of the answer", "recall of the answer",
                  "bytes in memory"},
      .rows = {}};
  Pairs truth;
  const auto n = static_cast<uint32_t>(data.hashes.size());
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = i + 1; j < n; ++j) {
      if (data.study.exact(i, j) >= kThreshold) truth.emplace_back(i, j);
    }
  }
  auto row = [&](const std::string& name, const Pairs& candidates,
                 const std::function<double(uint32_t, uint32_t)>& similarity, double bytes) {
    Pairs met;
    std::set_intersection(candidates.begin(), candidates.end(), truth.begin(), truth.end(),
                          std::back_inserter(met));
    double reported = 0;
    double right = 0;
    for (const auto& pair : candidates) {
      if (similarity(pair.first, pair.second) < kThreshold) continue;
      reported += 1;
      right += std::binary_search(truth.begin(), truth.end(), pair) ? 1 : 0;
    }
    const auto all = static_cast<double>(std::max<size_t>(1, truth.size()));
    table.row({text(name), count(candidates.size()), num(static_cast<double>(met.size()) / all, 4),
               num(reported > 0 ? right / reported : 1, 4), num(right / all, 4), num(bytes, 0)});
  };
  auto way = [&](std::string_view beginning) -> const Way& {
    return *std::find_if(ways.all.begin(), ways.all.end(),
                         [&](const Way& w) { return w.name.starts_with(beginning); });
  };
  row("A: 1,200 permutations, 100 bands of 12, about N buckets, estimate decides",
      study_candidates(data, ways.matrices[1], 100), ways.all[1].similarity, 4800 + 100 * 4);
  row("A: 128 permutations, 32 bands of 4, about N buckets, estimate decides",
      study_candidates(data, ways.matrices[0], 32), ways.all[0].similarity, 512 + 32 * 4);
  const Banding ours = choose_banding(kThreshold, .995, 128).value();
  const Pairs candidates = our_candidates(ways, ours, {.low = seed, .high = 7});
  Pairs filtered;
  const int least = min_equal_slices(static_cast<uint32_t>(kThreshold * 1e6), 128);
  for (const auto& pair : candidates) {
    if (equal_slices(ways.slices[pair.first].data(), ways.slices[pair.second].data(), 128) >= least)
      filtered.push_back(pair);
  }
  const double memory = 128 + ours.bands * 4.0;
  row(fmt::format("doppel: {} bands of {}, slices decide", ours.bands, ours.rows), candidates,
      way("doppel: 8-bit").similarity, memory);
  row(fmt::format("doppel: {} bands of {}, {} equal slices, compact sets decide (the default)", ours.bands,
                  ours.rows, least),
      filtered, way("doppel: compact").similarity, memory);
  report.add(std::move(table));
}

}  // namespace

absl::StatusOr<Report> compare_experiment(const LabOptions& options) {
  Report report{
      .name = "compare", .title = "What we use instead, and why", .command = options.command, .blocks = {}};
  const double scale = options.scale_or(.1, .4, 1);
  const auto originals = std::max<size_t>(20, static_cast<size_t>(1000 * scale));
  options.progress("compare: documents");
  const Collection documents = with_near_copies(make_news({.documents = originals}, options.seed), kCopies,
                                                {.normal = true, .a = .8, .b = .1}, options.seed + 1);
  ASSIGN_OR_RETURN(MinHash study, MinHash::create(documents, 1));
  Data data{.study = std::move(study), .hashes = {}, .pairs = {}, .exact = {}};
  const HashKey key{.low = options.seed, .high = 1};
  for (size_t d = 0; d < documents.size(); ++d) {
    std::vector<uint64_t> hashes;
    hashes.reserve(data.study.terms_of(d).size());
    for (uint32_t term : data.study.terms_of(d)) hashes.push_back(key.derive("term", term));
    data.hashes.push_back(std::move(hashes));
    if (d % (kCopies + 1) == 0) continue;
    const auto original = static_cast<uint32_t>(d / (kCopies + 1) * (kCopies + 1));
    data.pairs.emplace_back(original, static_cast<uint32_t>(d));
    data.exact.push_back(data.study.exact(original, d));
  }
  const std::string caption = conditions(options, 1, scale, documents.size());
  Ways ways;
  options.progress("compare: sketches");
  make_ways(data, options.seed + 2, ways);
  sketch_table(data, ways, caption, report);
  options.progress("compare: bands");
  finding_table(data, ways, options.seed + 3, caption, report);
  report.say(
      "Sketch: Fast Similarity Sketching needs one pass over the document, and its error is at most that of "
      "128 independent permutations. The studies' sketches need a pass for each permutation. Memory: 8 bits "
      "of a slot are enough, because one slot in 256 is equal by chance, and the estimate subtracts that. "
      "Hashing: keyed 64-bit hashes need no table of all terms and no prime, and nobody can craft "
      "collisions. Permutations of row numbers require that every term is known in advance, and are no "
      "longer permutations above 46,340.");
  report.say(
      "Bands: keys of 64 bits instead of about N buckets, so that no unrelated pair shares a bucket because "
      "the table is small. Verification: no sketch of this size decides well near a threshold (the column "
      "\"wrong at .8\"). 8-bit slices are enough to exclude very different documents. Compact sets, with 11 "
      "to 17 bits for each element on disk, decide the remaining pairs as exact sets would.");
  return report;
}

}  // namespace doppel::lab
