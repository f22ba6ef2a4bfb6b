// A query returns the verdict that an insert would return, and changes nothing.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "doppel/index.h"
#include "engine/steps.h"

namespace doppel {
namespace {

using testing::make_steps;
using testing::random_options;
using testing::Step;

struct Compared {
  uint64_t near = 0, exact = 0, unique = 0, capped = 0, not_the_first = 0;
};

// Compares everything except what the document's time, or the text that it replaces, changes before it is
// judged.
void compare(const EngineOptions& options, const std::vector<Step>& steps, Compared& counts) {
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Signer signer = engine.make_signer();
  Work asked, inserted;
  std::vector<Outcome> outcome(1);
  MatchCounters counters;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (Work* work : {&asked, &inserted}) {
      work->resize(1, options);
      testing::sign(signer, steps[i], options, engine.id_tag(steps[i].id), work->sign.documents.front(),
                    work->sign.slices.data());
    }
    if (!steps[i].remove) {
      ASSERT_TRUE(engine.query(asked, 0, 1, outcome).ok());
    }
    const Seq lowest_live = engine.originals().lowest_live();
    ASSERT_TRUE(engine.match(inserted, 0, 1, counters).ok());
    ASSERT_TRUE(engine.resolve(inserted).ok());
    const Resolved& resolved = inserted.resolved;
    const Outcome& said = resolved.outcomes.front();
    const bool evicts = said.verdict == Verdict::unique;
    if (steps[i].remove || !resolved.removed.empty() || (!evicts && resolved.lowest_live != lowest_live))
      continue;
    if (options.rule.expire_after_ms != 0 && resolved.lowest_live != lowest_live) continue;
    ASSERT_EQ(outcome[0].verdict, said.verdict) << i;
    ASSERT_EQ(outcome[0].candidates, said.candidates) << i;
    ASSERT_EQ(outcome[0].checks, said.checks) << i;
    ASSERT_EQ(outcome[0].closest, said.closest) << i;
    counts.unique += evicts ? 1 : 0;
    if (said.verdict != Verdict::duplicate) continue;
    ASSERT_EQ(outcome[0].kind, said.kind) << i;
    ASSERT_EQ(outcome[0].seq, said.seq) << i;
    ASSERT_EQ(outcome[0].similarity, said.similarity) << i;
    ASSERT_EQ(outcome[0].estimated, said.estimated) << i;
    ASSERT_EQ(outcome[0].same_payload, said.same_payload) << i;
    ASSERT_EQ(outcome[0].original, said.original) << i;
    (said.kind == Kind::near ? counts.near : counts.exact) += 1;
    counts.capped += said.checks < said.candidates ? 1 : 0;
    bool first = true;
    for (const Answer& answer : asked.answers)
      first = first && (answer.candidates.empty() || answer.candidates.front().seq >= said.seq);
    counts.not_the_first += first ? 0 : 1;
  }
}

TEST(Query, SaysWhatAnInsertSays) {
  std::random_device device;
  Compared counts;
  for (int round = 0; round < 20; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = random_options(random);
    options.shards = 1 + static_cast<int>(random() % 4);
    compare(options, make_steps(random(), 300), counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.near, 100u);
  EXPECT_GT(counts.exact, 100u);
  EXPECT_GT(counts.unique, 500u);
  EXPECT_GT(counts.capped, 10u);
  EXPECT_GT(counts.not_the_first, 10u);
}

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}

// The first candidate (most equal slices, earliest) need not be the most similar one.
TEST(Query, NamesTheMostSimilarOriginal) {
  const auto index = Index::open("", {.threshold = 0.5}).value();
  ASSERT_TRUE(index->insert({.id = "far", .text = words(0, 100)}).ok());
  ASSERT_TRUE(index->insert({.id = "close", .text = words(50, 150)}).ok());
  const Judgement near = index->query({.id = "copy", .text = words(45, 145)}).value();
  EXPECT_EQ(near.duplicate_of, "close");
  EXPECT_EQ(near.kind, Kind::near);
}

// An insert first removes the original with its id, so it is unique. A query asks what is known.
TEST(Query, ReplacesNothing) {
  EngineOptions options;
  options.rule = make_rule(0.5, 0.99, 128).value();
  options.rule.replace = options.track_ids = true;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Signer signer = engine.make_signer();
  Work work;
  MatchCounters counters;
  const auto sign = [&](const std::string& text) {
    work.resize(1, options);
    testing::sign(signer, {.id = "a", .text = text}, options, engine.id_tag("a"), work.sign.documents.front(),
                  work.sign.slices.data());
  };
  sign(words(0, 100));
  ASSERT_TRUE(engine.match(work, 0, 1, counters).ok());
  ASSERT_TRUE(engine.resolve(work).ok());
  std::vector<Outcome> outcome(1);
  sign(words(0, 101));
  ASSERT_TRUE(engine.query(work, 0, 1, outcome).ok());
  EXPECT_EQ(outcome[0].verdict, Verdict::duplicate);
  EXPECT_EQ(outcome[0].seq, 0U);
  sign(words(0, 101));
  ASSERT_TRUE(engine.match(work, 0, 1, counters).ok());
  ASSERT_TRUE(engine.resolve(work).ok());
  EXPECT_EQ(work.resolved.outcomes[0].verdict, Verdict::unique);
}

TEST(Query, DoesNotMoveTheClock) {
  const auto index = Index::open("", {.expire_after_ms = 1'000}).value();
  for (int i = 0; i < 3'000; ++i) {
    const std::string text = "page " + std::to_string(i);
    ASSERT_TRUE(index->insert({.id = text, .text = text, .timestamp_ms = 1'000'000 + i % 1'000}).ok());
  }
  const size_t size = index->size();
  for (int i = 0; i < 1'100; ++i)
    ASSERT_TRUE(index->query({.id = "later", .text = "page 1", .timestamp_ms = 9'000'000'000}).ok());
  EXPECT_EQ(index->insert({.id = "copy", .text = "page 1"})->duplicate_of, "page 1");
  EXPECT_EQ(index->size(), size);
}

}  // namespace
}  // namespace doppel
