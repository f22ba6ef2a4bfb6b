// The engine against the rule while documents come and go: scopes, removals, expiry, small batches. As in
// engine_quality_test.cc, the two may differ only if compact sets round a pair to the other side of the
// threshold, or if a pair shares no band.
//
// The oracle follows the engine's verdicts, so that each document is judged given the same originals.

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "oracle/corpus.h"
#include "oracle/oracle.h"

namespace doppel::oracle {
namespace {

// How far a similarity of compact sets may be from the true one near the threshold. In a short document, two
// shingles whose prints are equal (once in 20,000 documents of 40 shingles) weigh more: one in its union.
constexpr double kRounding = 0.005;
double rounding(const Overlap& shown) { return std::max(kRounding, 1.0 / static_cast<double>(shown.uni)); }

struct Step {
  CorpusDocument document;
  std::string scope;
  bool remove = false;  // the document with this number must be forgotten
  uint64_t removed_number = 0;
};

struct Scenario {
  EngineOptions options;
  CorpusOptions corpus;
  uint64_t documents = 1'500;
  double removals = 0;
  double other_scope = 0;
  size_t batch = 256;
};

struct Tally {
  uint64_t documents = 0, near = 0, exact = 0, removed = 0, expired = 0;
  uint64_t rounded = 0;         // verdicts that differ within kRounding of the threshold
  uint64_t missed = 0;          // near by the rule, but unique by the engine
  uint64_t other_original = 0;  // near by both, but the engine named a less similar original
};

std::vector<Step> make_steps(const Scenario& scenario) {
  Random random(scenario.corpus.seed, 99);
  std::vector<Step> steps;
  for (uint64_t n = 0; n < scenario.documents; ++n) {
    Step step{.document = make_document(scenario.corpus, n), .scope = {}};
    if (random.chance(scenario.other_scope)) step.scope = "other";
    steps.push_back(std::move(step));
    if (random.chance(scenario.removals)) {
      Step removal;
      removal.remove = true;
      removal.removed_number = random.below(n + 1);
      steps.push_back(std::move(removal));
    }
  }
  return steps;
}

class Comparison {
 public:
  explicit Comparison(const Scenario& scenario)
      : threshold_(scenario.options.rule.threshold_ppm / 1e6),
        oracle_({.threshold_ppm = scenario.options.rule.threshold_ppm,
                 .expire_after_ms = scenario.options.rule.expire_after_ms,
                 .watermark_rank = scenario.options.rule.watermark_rank,
                 .generation = scenario.options.rule.generation}) {}

  void removal(uint64_t document) {
    if (oracle_.remove(document)) ++tally_.removed;
  }

  void judge(const Step& step, const Outcome& outcome) {
    ++tally_.documents;
    Said said;
    said.original = outcome.verdict == Verdict::unique;
    if (outcome.verdict == Verdict::duplicate) said.duplicate_of = number_of_.at(outcome.seq);
    if (said.original) number_of_.push_back(tally_.documents - 1);
    const Answer answer = oracle_.feed(
        {.text = step.document.text, .scope = step.scope, .timestamp_ms = step.document.timestamp_ms}, said);
    SCOPED_TRACE(step.document.id + ", best " + std::to_string(answer.best_similarity.value()) + " with " +
                 std::to_string(answer.best.value_or(~Number{0})));

    ASSERT_EQ(outcome.verdict == Verdict::unscored, answer.kind == Kind::unscored);
    ASSERT_EQ(outcome.kind == doppel::Kind::exact, answer.kind == Kind::exact);
    if (answer.kind == Kind::exact) {
      ++tally_.exact;
      EXPECT_EQ(said.duplicate_of, answer.original);
      return;
    }
    if (answer.kind == Kind::near) ++tally_.near;
    const double best = answer.best_similarity.value();
    if (outcome.verdict != Verdict::duplicate) {
      if (answer.kind != Kind::near) return;
      ++(best < threshold_ + kRounding ? tally_.rounded : tally_.missed);
      return;
    }
    // The engine's duplicate: its original is live, as similar as the engine says, and no other is more
    // similar.
    const double named = answer.named_similarity.value();
    const double shown =
        static_cast<double>(outcome.similarity.inter) / static_cast<double>(outcome.similarity.uni);
    EXPECT_GE(named, threshold_ - rounding(outcome.similarity));
    EXPECT_NEAR(shown, named, 2 * rounding(outcome.similarity));
    if (answer.kind != Kind::near) ++tally_.rounded;
    if (said.duplicate_of != answer.best && named < best) {
      ++(best - named > kRounding ? tally_.other_original : tally_.rounded);
    }
  }

  Tally tally(Seq lowest_live) {
    tally_.expired = lowest_live;
    // The engine and the oracle must have expired the same originals.
    for (Seq seq = 0; seq < number_of_.size() && seq < lowest_live; ++seq)
      EXPECT_FALSE(oracle_.live(number_of_[seq]));
    if (tally_.removed == 0 && lowest_live < number_of_.size()) {
      EXPECT_TRUE(oracle_.live(number_of_[lowest_live]));
    }
    return tally_;
  }

 private:
  double threshold_;
  Oracle oracle_;
  std::vector<Number> number_of_;  // of originals, by seq
  Tally tally_;
};

Tally compare(const Scenario& scenario) {
  const std::vector<Step> steps = make_steps(scenario);
  std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(scenario.options, *bodies);
  Signer signer = engine.make_signer();
  Comparison comparison(scenario);
  Work work;
  uint64_t removed = 0;
  for (size_t at = 0; at < steps.size(); at += scenario.batch) {
    const size_t n = std::min(scenario.batch, steps.size() - at);
    work.resize(n, scenario.options);
    for (size_t i = 0; i < n; ++i) {
      const Step& step = steps[at + i];
      SignedDocument& out = work.sign.documents[i];
      const CorpusDocument& d = step.document;
      out.action = step.remove ? SignedDocument::Action::remove : SignedDocument::Action::judge;
      out.timestamp_ms = d.timestamp_ms.value_or(kNoTime);
      out.metadata = d.id;
      out.id_tag = engine.id_tag(step.remove ? make_document(scenario.corpus, step.removed_number).id : d.id);
      if (!step.remove)
        signer.sign(d.text, step.scope, out, &work.sign.slices[i * scenario.options.scheme.num_perm]);
    }
    MatchCounters counters;
    EXPECT_TRUE(engine.match(work, 0, n, counters).ok());
    EXPECT_TRUE(engine.resolve(work).ok());
    removed += work.resolved.removed.size();
    for (size_t i = 0; i < n; ++i) {
      const Step& step = steps[at + i];
      if (step.remove) {
        comparison.removal(step.removed_number);
      } else {
        comparison.judge(step, work.resolved.outcomes[i]);
      }
      if (testing::Test::HasFatalFailure()) return {};
    }
  }
  Tally tally = comparison.tally(work.resolved.lowest_live);
  EXPECT_EQ(removed, tally.removed);
  std::printf(
      "%lu documents, %lu exact, %lu near; %lu within rounding, %lu missed, %lu of another original; %lu "
      "removed, %lu expired\n",
      tally.documents, tally.exact, tally.near, tally.rounded, tally.missed, tally.other_original,
      tally.removed, tally.expired);
  return tally;
}

Scenario make_scenario(double threshold) {
  Scenario scenario;
  std::random_device device;
  scenario.corpus.seed = device();
  scenario.corpus.mean_words = 250;
  scenario.options.scheme.key = {device(), device()};
  scenario.options.track_ids = true;
  scenario.options.rule = make_rule(threshold, 0.995, 128).value();
  return scenario;
}

std::string name(const Scenario& scenario) {
  return "corpus " + std::to_string(scenario.corpus.seed) + ", key " +
         std::to_string(scenario.options.scheme.key.low) + "/" +
         std::to_string(scenario.options.scheme.key.high);
}

// At the threshold, one pair in 200 may share no band; above it far fewer.
void expect_faithful(const Tally& tally) {
  EXPECT_GT(tally.near, tally.documents / 25);
  EXPECT_LE(tally.missed, 3 + tally.near / 100);
  EXPECT_LE(tally.other_original, 3 + tally.near / 100);
  EXPECT_LE(tally.rounded, 5 + tally.near / 40);
}

TEST(EngineLifetime, ScopesRemovalsAndExpiryFollowTheRule) {
  Scenario scenario = make_scenario(0.7);
  SCOPED_TRACE(name(scenario));
  scenario.removals = 0.05;
  scenario.other_scope = 0.2;
  scenario.batch = 37;
  scenario.options.rule.expire_after_ms = 1'200'000;
  scenario.options.rule.generation = 64;
  scenario.options.rule.watermark_rank = 20;
  Tally tally = compare(scenario);
  expect_faithful(tally);
  EXPECT_GT(tally.removed, 0u);
}

}  // namespace
}  // namespace doppel::oracle
