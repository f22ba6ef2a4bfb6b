// The whole detector against the sequential rule with exact sets, at default settings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "oracle/corpus.h"
#include "oracle/oracle.h"

namespace doppel {
namespace {

constexpr double kTolerance = 0.005;
constexpr size_t kBatch = 512;

uint64_t seed_of_run() {
  const char* setting = std::getenv("DOPPEL_TEST_SEED");
  return setting != nullptr ? std::strtoull(setting, nullptr, 10) : 20260101;
}

struct Judged {
  Outcome outcome;
  uint64_t original = 0;  // number of the document that it repeats
};

std::vector<Judged> run_detector(const EngineOptions& options,
                                 const std::vector<oracle::CorpusDocument>& corpus) {
  std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Signer signer = engine.make_signer();
  std::vector<Judged> out;
  std::vector<uint64_t> document_of;  // by sequence number
  Work work;
  for (size_t at = 0; at < corpus.size(); at += kBatch) {
    const size_t n = std::min(kBatch, corpus.size() - at);
    work.resize(n, options);
    for (size_t i = 0; i < n; ++i) {
      work.sign.documents[i].metadata.clear();
      signer.sign(corpus[at + i].text, "", work.sign.documents[i],
                  work.sign.slices.data() + i * options.scheme.num_perm);
    }
    MatchCounters counters;
    EXPECT_TRUE(engine.match(work, 0, n, counters).ok());
    EXPECT_TRUE(engine.resolve(work).ok());
    for (size_t i = 0; i < n; ++i) {
      const Outcome& outcome = work.resolved.outcomes[i];
      if (outcome.verdict == Verdict::unique) document_of.push_back(at + i);
      out.push_back({outcome, outcome.verdict == Verdict::duplicate ? document_of[outcome.seq] : 0});
    }
  }
  return out;
}

// Whether these two documents share a band.
bool meets(const EngineOptions& options, std::string_view a, std::string_view b) {
  Signer signer(options.scheme);
  SignedDocument unused;
  std::vector<uint8_t> sa(options.scheme.num_perm), sb(options.scheme.num_perm);
  signer.sign(a, "", unused, sa.data());
  signer.sign(b, "", unused, sb.data());
  const Banding banding = options.rule.banding;
  for (int band = 0; band < banding.bands; ++band) {
    if (std::equal(sa.begin() + band * banding.rows, sa.begin() + (band + 1) * banding.rows,
                   sb.begin() + band * banding.rows)) {
      return true;
    }
  }
  return false;
}

void check_quality(size_t documents) {
  const uint64_t seed = seed_of_run();
  SCOPED_TRACE(fmt::format("DOPPEL_TEST_SEED={}", seed));
  std::vector<oracle::CorpusDocument> corpus;
  for (size_t i = 0; i < documents; ++i) corpus.push_back(oracle::make_document({.seed = seed}, i));
  EngineOptions options;
  options.scheme.key = {seed, 17};
  options.rule = make_rule(0.8, 0.995, 128).value();
  const std::vector<Judged> judged = run_detector(options, corpus);

  // Judges one document at a time, given the detector's own originals so far.
  oracle::Oracle given({});
  oracle::Oracle alone({});
  uint64_t near_threshold = 0, no_band = 0, other_original = 0, wrong = 0;
  double expected_misses = 0;
  uint64_t both = 0, only_detector = 0, only_rule = 0;
  for (size_t i = 0; i < documents; ++i) {
    const bool duplicate = judged[i].outcome.verdict == Verdict::duplicate;
    oracle::Said said{.original = judged[i].outcome.verdict == Verdict::unique};
    if (duplicate) said.duplicate_of = judged[i].original;
    const oracle::Answer answer = given.feed({.text = corpus[i].text}, said);
    const bool rule_says_duplicate = answer.kind == oracle::Kind::exact || answer.kind == oracle::Kind::near;
    if (answer.kind == oracle::Kind::near) {
      double p = meeting_probability(answer.similarity.value(), options.rule.banding);
      expected_misses += 1 - p;
    }
    std::string what = fmt::format("document {} ({}): ", i, oracle::edit_name(corpus[i].edit));
    if (answer.kind == oracle::Kind::unscored) {
      EXPECT_EQ(judged[i].outcome.verdict, Verdict::unscored) << what;
    } else if (duplicate && rule_says_duplicate) {
      EXPECT_EQ(judged[i].outcome.kind == Kind::exact, answer.kind == oracle::Kind::exact) << what;
      if (judged[i].original != *answer.original) {
        ++other_original;
        const bool allowed = answer.similarity.value() - answer.named_similarity.value() <= kTolerance ||
                             !meets(options, corpus[i].text, corpus[*answer.original].text);
        wrong += allowed ? 0 : 1;
        EXPECT_TRUE(allowed) << what << "original of similarity " << answer.named_similarity.value()
                             << ", best " << answer.similarity.value();
      }
    } else if (duplicate != rule_says_duplicate) {
      const double decisive = duplicate ? answer.named_similarity.value() : answer.best_similarity.value();
      if (std::abs(decisive - 0.8) <= kTolerance) {
        ++near_threshold;
      } else if (!duplicate && !meets(options, corpus[i].text, corpus[*answer.best].text)) {
        ++no_band;
      } else {
        ++wrong;
        ADD_FAILURE() << what << (duplicate ? "duplicate" : "unique") << " at similarity " << decisive;
      }
    }
    const oracle::Answer truth = alone.feed({.text = corpus[i].text});
    const bool truly = truth.kind == oracle::Kind::exact || truth.kind == oracle::Kind::near;
    both += duplicate && truly ? 1 : 0;
    only_detector += duplicate && !truly ? 1 : 0;
    only_rule += !duplicate && truly ? 1 : 0;
  }
  const double f1 = 2.0 * both / static_cast<double>(2 * both + only_detector + only_rule);
  fmt::print(
      "seed {}: {} documents, {} duplicates by both, {} by the detector only, {} by the rule only: F1 "
      "{:.5f}\n"
      "given its own originals: {} differ within {} of the threshold, {} met in no band (theory: "
      "{:.1f}), "
      "{} another original\n",
      seed, documents, both, only_detector, only_rule, f1, near_threshold, kTolerance, no_band,
      expected_misses, other_original);
  EXPECT_GE(f1, 0.998);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(both, documents / 5);
  // Five standard deviations of a sum of rare events, and some more for small numbers.
  EXPECT_LE(no_band, expected_misses + 5 * std::sqrt(expected_misses) + 3);
}

TEST(Quality, AgainstTheRuleOnThreeThousandDocuments) { check_quality(3'000); }

TEST(QualityLong, AgainstTheRuleOnTwentyThousandDocuments) { check_quality(20'000); }

}  // namespace
}  // namespace doppel
