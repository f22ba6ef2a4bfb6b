// Collections: bands chosen for a threshold, and from how many documents on they are faster.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"
#include "lab/shingles_study.h"

namespace doppel::lab::shingles {

std::vector<std::string> Study::make_documents(size_t count, size_t words) const {
  std::vector<std::string> out;
  for (size_t d = 0; d < count; ++d) {
    Random of_family(options_.seed + 9, d / 4);
    std::vector<std::string> text = prose_.words(words, of_family);
    Random random(options_.seed + 10, d);
    const double rate = std::array{0.0, .02, .1, .35}[d % 4];
    for (std::string& word : text) {
      if (random.unit() < rate) word = prose_.word(random);
    }
    out.push_back(joined(text));
  }
  return out;
}

absl::Status Study::many_documents() {
  std::vector<std::string> texts = make_documents(20, 300);
  std::string what = "20 documents of 300 words, in families of four";
  if (!options_.data.empty()) {
    ASSIGN_OR_RETURN(Collection own, read_folder(options_.data));
    texts = std::move(own.texts);
    what = fmt::format("{} documents of {}", texts.size(), options_.data);
  }
  const std::string conditions =
      fmt::format("1 run, scale 1 ({}), n = {} functions, seed {}.", what, kMost, options_.seed);
  Plot times = figure(26, "time with and without LSH",
                      conditions + " Threshold .64; with making sets and signatures.", "k", "milliseconds");
  times.series = {{.name = "without LSH: all pairs exactly", .points = {}},
                  {.name = "with LSH, modular hashing", .points = {}}};
  std::array<Plot, kThresholds.size()> plots;
  Table table{.name = "shingles_bands",
              .title = "Bands that are chosen for a threshold, and what they find over k = 1 to 15",
              .caption = conditions +
                         " A copy: exact J >= threshold; false positive: a candidate below it; false "
                         "negative: a copy that is not a candidate. Sums over k.",
              .columns = {"target threshold", "bands", "rows", "threshold reached", "candidates", "copies",
                          "false positives", "false negatives"},
              .rows = {}};
  std::array<std::array<double, 4>, kThresholds.size()> sums{};
  for (size_t t = 0; t < kThresholds.size(); ++t) {
    plots[t] = figure(
        27 + static_cast<int>(t),
        fmt::format("candidates and copies against k, threshold {}", kThresholds[t]),
        conditions + fmt::format(" b = {}, threshold reached {:.3f}.", bands_for(kMost, kThresholds[t]),
                                 reached_threshold(kMost, bands_for(kMost, kThresholds[t]))),
        "k", "pairs");
    plots[t].series = {{.name = "candidates", .points = {}},
                       {.name = "copies", .points = {}},
                       {.name = "false positives", .points = {}},
                       {.name = "false negatives", .look = Series::Look::dashed, .points = {}}};
  }
  for (int k = 1; k <= kLongest; ++k) {
    options_.progress(fmt::format("shingles: documents, k = {}", k));
    const Stopwatch reading;
    std::vector<ShingleStrings> sets;
    sets.reserve(texts.size());
    for (const std::string& text : texts) sets.push_back(k_shingles(text, {.k = k}));
    const double reading_seconds = reading.seconds();
    const Stopwatch comparing;
    std::vector<std::vector<double>> exact(texts.size(), std::vector<double>(texts.size()));
    for (size_t i = 0; i < texts.size(); ++i) {
      for (size_t j = i + 1; j < texts.size(); ++j) exact[i][j] = jaccard(sets[i], sets[j]);
    }
    times.series[0].points.emplace_back(k, (reading_seconds + comparing.seconds()) * 1e3);
    const Stopwatch signing;
    const CharacteristicMatrix matrix = characteristic_matrix(sets);
    Random random(options_.seed, static_cast<uint64_t>(k));
    const auto made =
        signatures(matrix, draw_functions(HashFamily::modular, kMost, matrix.rows.size(), random));
    const double signing_seconds = signing.seconds();
    for (size_t t = 0; t < kThresholds.size(); ++t) {
      const Stopwatch banding;
      const auto candidates = band_candidates(made, bands_for(kMost, kThresholds[t]));
      double wrong = 0;
      double right = 0;
      for (auto [i, j] : candidates) (jaccard(sets[i], sets[j]) >= kThresholds[t] ? right : wrong) += 1;
      if (kThresholds[t] == .64) {
        times.series[1].points.emplace_back(k, (reading_seconds + signing_seconds + banding.seconds()) * 1e3);
      }
      double copies = 0;
      for (size_t i = 0; i < texts.size(); ++i) {
        for (size_t j = i + 1; j < texts.size(); ++j) copies += exact[i][j] >= kThresholds[t] ? 1 : 0;
      }
      const std::array<double, 4> values{static_cast<double>(candidates.size()), copies, wrong,
                                         copies - right};
      for (size_t s = 0; s < 4; ++s) {
        plots[t].series[s].points.emplace_back(k, values[s]);
        sums[t][s] += values[s];
      }
      if (kThresholds[t] == .42)
        (k == 4   ? found_.copies_4
         : k == 5 ? found_.copies_5
                  : found_.copies_8) = k <= 8 ? copies : found_.copies_8;
    }
  }
  report_.add(std::move(times));
  for (Plot& plot : plots) report_.add(std::move(plot));
  for (size_t t = 0; t < kThresholds.size(); ++t) {
    const int b = bands_for(kMost, kThresholds[t]);
    const int rows = kMost / b;
    table.row({num(kThresholds[t], 2), num(b, 0), num(rows, 0), num(reached_threshold(kMost, b), 4),
               num(sums[t][0], 0), num(sums[t][1], 0), num(sums[t][2], 0), num(sums[t][3], 0)});
  }
  report_.add(std::move(table));
  return absl::OkStatus();
}

void Study::faster_from() {
  Table table{
      .name = "shingles_lsh_from",
      .title = "From how many documents LSH is faster",
      .caption = fmt::format("1 run, scale 1, documents of 50 words, k = 5, n = {}, threshold .64, seed "
                             "{}. Seconds with making sets; LSH with "
                             "signatures, bands and exact verification.",
                             kMost, options_.seed),
      .columns = {"documents", "without LSH, s", "with LSH, s", "speed-up", "copies", "found by LSH"},
      .rows = {}};
  for (size_t documents : {20, 100, 500, 2000}) {
    if (documents == 2000 && options_.size == Size::quick) continue;
    options_.progress(fmt::format("shingles: {} documents", documents));
    const std::vector<std::string> texts = make_documents(documents, 50);
    const Stopwatch reading;
    std::vector<ShingleStrings> sets;
    sets.reserve(texts.size());
    for (const std::string& text : texts) sets.push_back(k_shingles(text, {.k = 5}));
    const double reading_seconds = reading.seconds();
    const Stopwatch comparing;
    uint64_t copies = 0;
    for (size_t i = 0; i < documents; ++i) {
      for (size_t j = i + 1; j < documents; ++j) copies += jaccard(sets[i], sets[j]) >= .64 ? 1 : 0;
    }
    const double without = reading_seconds + comparing.seconds();
    const Stopwatch signing;
    const CharacteristicMatrix matrix = characteristic_matrix(sets);
    Random random(options_.seed, documents);
    const auto made =
        signatures(matrix, draw_functions(HashFamily::modular, kMost, matrix.rows.size(), random));
    uint64_t found = 0;
    for (auto [i, j] : band_candidates(made, bands_for(kMost, .64)))
      found += jaccard(sets[i], sets[j]) >= .64 ? 1 : 0;
    const double with = reading_seconds + signing.seconds();
    if (with < without && found_.from == 0) found_.from = documents;
    table.row({count(documents), num(without, 4), num(with, 4), num(without / with, 2), count(copies),
               count(found)});
  }
  report_.add(std::move(table));
}

}  // namespace doppel::lab::shingles
