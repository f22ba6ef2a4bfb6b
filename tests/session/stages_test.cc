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
