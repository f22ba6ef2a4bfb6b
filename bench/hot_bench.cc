// Does the time for one document stay the same when very many documents look alike? Prints "name value
// unit" lines: processor time per document in each tenth of the run, and the last tenth to the second one.
//
//   hot_bench --shape changed-word --docs 1000000   a page of 4 KB, in each copy another word is changed
//   hot_bench --shape nearly-empty --docs 1000000   pages of 0 to 8 words from a small vocabulary
//   hot_bench --shape quarter --docs 200000         a template of which each copy has three quarters, and a
//                                                   quarter of its own: all become originals, and a
//                                                   sixth of them has the template's key in any one band,
//                                                   more than a band lists
//   hot_bench --shape neighbours --docs 200000      the same with a template for every 1,000 documents, which
//   come in
//                                                   turns: 500 earlier neighbours of .3 to .7 on the average
//   hot_bench --shape passage --docs 1000000        160 words that all have, and 480 of their own
//   hot_bench --shape pool --docs 20000 --relations 20 passages of 160 words, each of which 18 documents have
//   hot_bench --shape random --docs 20000           3,200 words of its own
//
// --relations looks for copies of a part, too.
//
// Documents are made on the way, so that a million of them need no memory; making them is not timed.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <random>

#include "engine/engine.h"
#include "memory_run.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

constexpr size_t kTemplateWords = 640;  // about 4 KB

class ShapeSource : public Source {
 public:
  ShapeSource(std::string shape, uint64_t docs) : shape_(std::move(shape)), docs_(docs) {
    oracle::CorpusOptions corpus{.english = true, .copies = 0};
    for (uint64_t number = 0; words_.size() < kTemplateWords; ++number)
      split(oracle::make_document(corpus, number).text);
    words_.resize(kTemplateWords);
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    const double start = cpu();
    batch = {};
    auto lines = std::make_shared<Lines>();
    for (; at_ < docs_ && lines->places.size() < kBatch; ++at_) {
      lines->add("{\"id\":\"" + std::to_string(at_) + "\",\"text\":\"" + text() + "\"}");
    }
    lines->finish();
    for (auto [offset, length] : lines->places) {
      batch.records.push_back({.value = std::string_view(lines->bytes).substr(offset, length),
                               .source = "memory",
                               .offset = offset});
      batch.bytes += length;
    }
    batch.memory.push_back(lines);
    making_ += cpu() - start;
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }
  double making() const { return making_; }

 private:
  void split(std::string_view text) {
    size_t at = 0;
    while ((at = text.find_first_not_of(" \n", at)) != text.npos) {
      const size_t end = std::min(text.find_first_of(" \n", at), text.size());
      std::string word;  // letters only, so that it needs no escaping
      for (char c : text.substr(at, end - at)) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) word.push_back(c);
      }
      if (!word.empty()) words_.push_back(word);
      at = end;
    }
  }
  std::string own_word() { return "w" + std::to_string(random_() >> 24); }

  std::string text() {
    if (shape_ == "nearly-empty") {
      std::string text;
      for (uint64_t n = random_() % 9; n > 0; --n) text += words_[random_() % 50] + ' ';
      return text;
    }
    if (shape_ == "pool" || shape_ == "random") return passages();
    std::vector<std::string> words = words_;
    if (shape_ == "neighbours") {
      std::mt19937_64 family(at_ % std::max<uint64_t>(1, docs_ / 1'000));
      for (std::string& word : words) word = "t" + std::to_string(family() >> 24);
    }
    if (shape_ == "passage") {
      for (size_t i = kTemplateWords / 4; i < words.size(); ++i) words[i] = own_word();
    } else if (shape_ == "changed-word") {
      words[random_() % words.size()] = own_word();
    } else {
      const size_t own = words.size() / 4;
      const size_t first = random_() % (words.size() - own);
      for (size_t i = first; i < first + own; ++i) words[i] = own_word();
    }
    std::string text;
    for (const std::string& word : words) text += word + ' ';
    return text;
  }

  // Passages of a pool, each for kPassageTimes documents; or new ones.
  std::string passages() {
    constexpr uint64_t kPassages = 20, kPassageWords = 160, kPassageTimes = 18;
    if (pool_.empty()) {
      for (uint64_t i = 0; i < docs_ * kPassages; ++i)
        pool_.push_back(shape_ == "pool" ? i / kPassageTimes : i);
      std::shuffle(pool_.begin(), pool_.end(), random_);
    }
    std::string text;
    for (uint64_t i = 0; i < kPassages; ++i) {
      std::mt19937_64 words(pool_[at_ * kPassages + i]);
      for (uint64_t n = 0; n < kPassageWords; ++n) text += "p" + std::to_string(words() >> 24) + ' ';
    }
    return text;
  }

  std::string shape_;
  uint64_t docs_, at_ = 0;
  std::vector<std::string> words_;
  std::vector<uint64_t> pool_;
  std::mt19937_64 random_{1};
  double making_ = 0;
};

int bench(const std::string& shape, uint64_t docs, bool relations, bool shares) {
  EngineOptions options;
  options.scheme.key = {1, 2};
  options.rule = make_rule(0.8, 0.995, 128).value();
  if (relations || shares) {
    options.scheme.passage = 150;
    options.rule.relations = {
        .contained = true, .contains = true, .shares = shares, .passage = options.scheme.passage};
  }
  std::unique_ptr<Bodies> bodies = temporary_bodies("").value();
  Engine engine(options, *bodies);
  ShapeSource source(shape, docs);
  CountingSink sink;
  // The clock after each batch. The next batch is made (and signed) before the
  // report on this one, evenly throughout the run.
  std::vector<std::pair<uint64_t, double>> marks{{0, cpu()}};
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
  pipeline.progress = [&](const Counters& c) { marks.push_back({c.records, cpu() - source.making()}); };
  const Counters counters = run_pipeline(pipeline).value();

  double tenths[10] = {};
  for (size_t t = 0; t < 10; ++t) {  // the batches that end in this tenth
    double seconds = 0;
    uint64_t n = 0;
    for (size_t i = 1; i < marks.size(); ++i) {
      if ((marks[i].first - 1) * 10 / docs != t) continue;
      seconds += marks[i].second - marks[i - 1].second;
      n += marks[i].first - marks[i - 1].first;
    }
    tenths[t] = n == 0 ? 0 : seconds / static_cast<double>(n) * 1e6;
    fmt::print("tenth_{} {:.3f} us/document\n", t + 1, tenths[t]);
  }
  const auto n = static_cast<double>(counters.records);
  fmt::print("documents {} documents\n", counters.records);
  fmt::print("document_bytes {:.0f} bytes\n", static_cast<double>(counters.bytes) / n);
  fmt::print("unique {} documents\n", counters.unique);
  fmt::print("duplicates {} documents\n", counters.duplicates());
  fmt::print("candidates {:.3f} candidates/document\n", static_cast<double>(counters.match.candidates) / n);
  fmt::print("checks {:.3f} checks/document\n", static_cast<double>(counters.match.checks) / n);
  fmt::print("checks_capped {} documents\n", counters.match.checks_capped);
  fmt::print("listings_capped {} listings\n", counters.listings_capped);
  fmt::print("related {} documents\n", counters.related.sum());
  fmt::print("last_to_second {:.4f} x\n", tenths[9] / tenths[1]);
  return 0;
}

}  // namespace
}  // namespace doppel

int main(int argc, char** argv) {
  std::string shape = "changed-word";
  uint64_t docs = 100'000;
  CLI::App app("Very many documents that look alike");
  app.add_option("--shape", shape)
      ->check(CLI::IsMember(
          {"changed-word", "nearly-empty", "quarter", "neighbours", "passage", "pool", "random"}))
      ->capture_default_str();
  app.add_option("--docs", docs)->check(CLI::Range(20'000, 1'000'000'000))->capture_default_str();
  bool relations = false;
  app.add_flag("--relations", relations, "contained and contains, too");
  bool shares = false;
  app.add_flag("--shares", shares, "contained, contains and shares, too");
  CLI11_PARSE(app, argc, argv);
  return doppel::bench(shape, docs, relations, shares);
}
