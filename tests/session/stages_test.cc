// The stages decide as the engine does when one thread gives it the documents one by one.
#include "session/stages.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/steps.h"

namespace doppel {
namespace {

using testing::make_steps;
using testing::random_options;
using testing::Step;

void sign_steps(Stages& stages, const Engine& engine, std::vector<Signer>& signers,
                std::span<const Step> steps, Work& work) {
  stages.sign(work, steps.size(), [&](int worker, size_t i, SignedDocument& out, uint8_t* slices) {
    testing::sign(signers[static_cast<size_t>(worker)], steps[i], engine.options(),
                  engine.id_tag(steps[i].id), out, slices);
  });
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.seq, b.seq);
  EXPECT_EQ(a.similarity, b.similarity);
  EXPECT_EQ(a.original, b.original);
}

class StagesTest : public ::testing::TestWithParam<int> {};

TEST_P(StagesTest, DecideAsTheEngineDoesOneByOne) {
  std::random_device device;
  uint64_t duplicates = 0, candidates = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const EngineOptions options = random_options(random);
    const std::vector<Step> steps = make_steps(random(), 400);
    const std::unique_ptr<Bodies> bodies = memory_bodies(), bodies_of_oracle = memory_bodies();
    Engine engine(options, *bodies), oracle(options, *bodies_of_oracle);
    Stages stages(engine, GetParam());
    EXPECT_EQ(stages.threads(), GetParam());
    std::vector<Signer> signers;
    for (int i = 0; i < stages.threads(); ++i) signers.push_back(engine.make_signer());
    Work work, one, asked;
    for (size_t at = 0; at < steps.size();) {
      const size_t size = std::min<size_t>(steps.size() - at, random() % 100);
      const auto batch = std::span(steps).subspan(at, size);
      sign_steps(stages, engine, signers, batch, asked);
      std::vector<Outcome> answers(size);
      ASSERT_TRUE(stages.query(asked, answers).ok());
      sign_steps(stages, engine, signers, batch, work);
      MatchCounters counters, counters_of_oracle;
      ASSERT_TRUE(stages.match(work, counters).ok());
      ASSERT_TRUE(stages.resolve(engine, work).ok());
      for (size_t i = 0; i < size; ++i) {
        SCOPED_TRACE("document " + std::to_string(at + i));
        one.resize(1, options);
        testing::sign(signers[0], batch[i], options, engine.id_tag(batch[i].id), one.sign.documents.front(),
                      one.sign.slices.data());
        if (i == 0 && !batch[i].remove) {
          std::vector<Outcome> answer(1);
          ASSERT_TRUE(oracle.query(one, 0, 1, answer).ok());
          expect_same(answers[0], answer[0]);
          testing::sign(signers[0], batch[i], options, engine.id_tag(batch[i].id), one.sign.documents.front(),
                        one.sign.slices.data());
        }
        ASSERT_TRUE(oracle.match(one, 0, 1, counters_of_oracle).ok());
        ASSERT_TRUE(oracle.resolve(one).ok());
        const Outcome& outcome = work.resolved.outcomes[i];
        expect_same(outcome, one.resolved.outcomes[0]);
        duplicates += outcome.verdict == Verdict::duplicate ? 1 : 0;
      }
      if (size == 1) {
        EXPECT_EQ(counters.candidates, counters_of_oracle.candidates);
      }
      candidates += counters.candidates;
      at += size;
    }
  }
  EXPECT_GT(duplicates, 100u);
  EXPECT_GT(candidates, 100u);
}

// A text of 100 words, of which the last ones are others.
std::string text_with(int others, const std::string& other = "other") {
  std::string out;
  for (int i = 0; i < 100 - others; ++i) out += "word" + std::to_string(i) + " ";
  for (int i = 0; i < others; ++i) out += other + std::to_string(i) + " ";
  return out;
}

TEST_P(StagesTest, FindTheNearestOriginals) {
  EngineOptions options;
  options.rule = make_rule(.8, .995, 128, 64, 2).value();  // bands that find all of these
  options.shards = GetParam();
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Stages stages(engine, GetParam());
  Signer signer = engine.make_signer();
  Work work;
  const auto sign = [&](const std::vector<std::string>& texts) {
    stages.sign(work, texts.size(), [&](int, size_t i, SignedDocument& out, uint8_t* slices) {
      out.action = SignedDocument::Action::judge;
      signer.sign(texts[i], {}, out, slices);
    });
  };
  // Six originals: three of one kind, two that share no band with others, and one that is too short for sets.
  for (const std::string& text :
       {text_with(14, "late"), text_with(12, "more"), text_with(14), std::string("too short"),
        std::string("quite another text that has nothing in common with those"), text_with(100, "alone")}) {
    sign({text});
    MatchCounters counters;
    ASSERT_TRUE(stages.match(work, counters).ok());
    ASSERT_TRUE(stages.resolve(engine, work).ok());
    ASSERT_EQ(work.resolved.outcomes.front().verdict, Verdict::unique) << text;
  }
  const std::vector<std::string> asked{text_with(0),    "too short",
                                       "too short too", text_with(12, "more"),
                                       text_with(14),   "unknown words that no original has at all"};
  std::vector<std::vector<Verified>> found(asked.size(), {Verified{.seq = 99}});  // is replaced
  const auto nearest = [&](size_t most) {
    sign(asked);
    EXPECT_TRUE(stages.nearest(work, most, found).ok());
    std::vector<std::vector<Seq>> out;
    for (const std::vector<Verified>& of_one : found) {
      out.emplace_back();
      for (const Verified& near : of_one) {
        EXPECT_TRUE(near.checked);
        out.back().push_back(near.seq);
      }
    }
    return out;
  };
  // Equally similar originals: the earliest first.
  using Found = std::vector<std::vector<Seq>>;
  EXPECT_EQ(nearest(9), (Found{{1, 0, 2}, {3}, {}, {1, 0, 2}, {2, 0, 1}, {}}));
  EXPECT_EQ(found[0][0].overlap, (Overlap{84, 108}));  // of 96 shingles each
  EXPECT_EQ(found[1][0].overlap.inter, found[1][0].overlap.uni);
  EXPECT_EQ(nearest(1), (Found{{1}, {3}, {}, {1}, {2}, {}}));
}

TEST_P(StagesTest, CountWhatTheyLeaveUnchecked) {
  EngineOptions options;
  options.rule = make_rule(.8, .995, 128, 64, 2).value();
  options.rule.max_checks = 1;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Stages stages(engine, GetParam());
  Signer signer = engine.make_signer();
  Work work;
  for (const std::string& text : {text_with(14, "late"), text_with(14), text_with(0)}) {
    stages.sign(work, 1, [&](int, size_t, SignedDocument& out, uint8_t* slices) {
      out.action = SignedDocument::Action::judge;
      signer.sign(text, {}, out, slices);
    });
    MatchCounters counters;
    ASSERT_TRUE(stages.match(work, counters).ok());
    ASSERT_TRUE(stages.resolve(engine, work).ok());
    EXPECT_EQ(counters.checks_capped, text == text_with(0) ? 1u : 0u);
  }
}

TEST_P(StagesTest, DoEachPartOnce) {
  const EngineOptions options;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  Stages stages(engine, GetParam());
  std::vector<int> parts(40);
  stages.run_parts()(40, [&](int part) { ++parts[static_cast<size_t>(part)]; });
  EXPECT_EQ(parts, std::vector<int>(40, 1));
}

INSTANTIATE_TEST_SUITE_P(Threads, StagesTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace doppel
