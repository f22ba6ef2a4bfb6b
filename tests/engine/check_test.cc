// Deliberately broken contracts of RESOLVE: a mistake of MATCH or of a caller must not become an event.
#include "base/check.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/window.h"

namespace doppel {
namespace {

using testing::ExitedWithCode;

std::string text_of(int number) {
  std::string out;
  for (int i = 0; i < 40; ++i) out += "w" + std::to_string(number * 1000 + i) + " ";
  return out;
}

EngineOptions options() {
  EngineOptions out;
  out.rule = make_rule(0.8, 0.995, 128).value();
  return out;
}

class BrokenRuleDeathTest : public testing::Test {
 protected:
  // Runs SIGN and MATCH for these documents.
  void match(const std::vector<int>& numbers) {
    work.resize(numbers.size(), engine.options());
    Signer signer = engine.make_signer();
    for (size_t i = 0; i < numbers.size(); ++i)
      signer.sign(text_of(numbers[i]), {}, work.sign.documents[i], work.sign.slices.data() + i * 128);
    MatchCounters counters;
    ASSERT_TRUE(engine.match(work, 0, numbers.size(), counters).ok());
  }
  void insert(const std::vector<int>& numbers) {
    match(numbers);
    ASSERT_TRUE(engine.resolve(work).ok());
  }
  // Adds a candidate that MATCH has not found.
  void claim(size_t document, Seq seq, Overlap overlap) {
    work.answers[document].candidates.push_back(
        {.seq = seq, .equal = 128, .checked = true, .overlap = overlap});
    work.answers[document].describe(seq, "");
  }
  void dies(const char* message) {
    EXPECT_EXIT((void)engine.resolve(work), ExitedWithCode(kBrokenExitCode), message);
  }

  std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine{options(), *bodies};
  Work work;
};

TEST_F(BrokenRuleDeathTest, AnOriginalWasStoredAndLives) {
  insert({1, 2});
  match({3});
  claim(0, 5, {1, 1});
  dies("an original was stored before its copy came, and lives");
  engine.originals().remove(1);
  match({3});
  claim(0, 1, {1, 1});
  dies("an original lived when its copy came");
  match({3});
  claim(0, 0, {1, 1});
  EXPECT_TRUE(engine.resolve(work).ok());
}

TEST_F(BrokenRuleDeathTest, ASimilarityIsAtMostOne) {
  insert({1});
  match({2});
  claim(0, 0, {3, 2});
  dies("a similarity is at most 1");
}

TEST_F(BrokenRuleDeathTest, EachDocumentHasItsPlace) {
  match({1, 2});
  work.answers.pop_back();
  dies("each document of a batch has its place");
  match({1, 2});
  work.band_keys.pop_back();
  dies("each document of a batch has its place");
}

TEST_F(BrokenRuleDeathTest, NumbersOfABatchAscend) {
  const Seq lowest_live = 0;
  Newcomers newcomers(8, {1, 8}, 1, lowest_live);
  newcomers.start_batch(0, 3);
  newcomers.add({.seq = 7}, nullptr, {});
  EXPECT_EXIT(newcomers.add({.seq = 7}, nullptr, {}), ExitedWithCode(kBrokenExitCode), "ascend without gaps");
  EXPECT_EXIT(newcomers.add({.seq = 9}, nullptr, {}), ExitedWithCode(kBrokenExitCode), "ascend without gaps");
  newcomers.add({.seq = 8}, nullptr, {});
}

TEST_F(BrokenRuleDeathTest, GenerationsAscend) {
  Rule rule;
  rule.expire_after_ms = 1000;
  rule.generation = 4;
  Expiry expiry(rule);
  expiry.added(9, 1);
  expiry.added(8, 1);
  EXPECT_EXIT(expiry.added(7, 1), ExitedWithCode(kBrokenExitCode), "generations ascend");
}

}  // namespace
}  // namespace doppel
