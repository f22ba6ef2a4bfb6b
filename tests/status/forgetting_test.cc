#include "status/forgetting.h"

#include <gmock/gmock.h>

#include <numeric>

#include "status/small_stream.h"

namespace doppel::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using Stage = Forgetting::Stage;

OriginalsWanted wanted(const std::string& line) { return OriginalsWanted::parse(line).value(); }

std::vector<Seq> range(Seq from, Seq to) {
  std::vector<Seq> out(to - from);
  std::iota(out.begin(), out.end(), from);
  return out;
}

struct ForgettingTest : ::testing::Test {
  Forgetting::Ticket ask(const std::string& line) { return forgetting.ask({.wanted = wanted(line)}); }
  bool done(const Forgetting::Ticket& ticket) const {
    return forgetting.progress(ticket).stage == Stage::done;
  }
  uint64_t run(const Forgetting::Ticket& ticket) {
    while (!done(ticket)) stream.turn(forgetting);
    return forgetting.progress(ticket).found;
  }

  SmallStream stream;
  Forgetting forgetting{stream.kept, stream.bodies};
};

TEST(OriginalsWanted, KnowsWhatARequestMayBe) {
  const std::string tags = "crawl=a\nteam=b";
  const Metadata m{.source = "t", .partition = 1, .offset = 7, .id = "x", .tags = tags};
  for (const char* line :
       {"id=x", "event_id=t/1/7", "any_id=x", "any_id=t/1/7", "tag=crawl=a", "tag=team=b"}) {
    EXPECT_TRUE(wanted(line).fits(m)) << line;
    EXPECT_EQ(wanted(line).line(), line);
  }
  for (const char* line : {"id=t/1/7", "event_id=x", "any_id=y", "tag=crawl=b", "tag=crawl=", "id=X"})
    EXPECT_FALSE(wanted(line).fits(m)) << line;
  for (const char* line : {"", "id", "id=", "tag=crawl", "url=x", "=x"})
    EXPECT_FALSE(OriginalsWanted::parse(line).ok()) << line;
}

TEST_F(ForgettingTest, ReadsBesideTheStreamAndOnceForAllRequests) {
  stream.insert(10'000, "one");
  stream.insert(20'000, "two");
  const auto tag = ask("tag=crawl=one"), id = ask("id=d20000"), event = ask("event_id=small/20001");
  const auto none = ask("id=unknown");
  EXPECT_EQ(run(tag), 10'000u);
  EXPECT_EQ(run(id), 1u);
  EXPECT_EQ(run(event), 1u);
  EXPECT_EQ(run(none), 0u);
  EXPECT_LE(stream.bodies.reads_here(), Forgetting::kTail);
  EXPECT_EQ(stream.bodies.reads(), 30'000u);
  std::sort(stream.removed.begin(), stream.removed.end());
  std::vector<Seq> expected = range(0, 10'000);
  expected.insert(expected.end(), {20'000, 20'001});
  EXPECT_EQ(stream.removed, expected);
}

TEST_F(ForgettingTest, MayReadInTurn) {
  stream.insert(3'000, "one");
  Forgetting in_turn(stream.kept, stream.bodies, Forgetting::Search::in_turn);
  const auto ticket = in_turn.ask({.wanted = wanted("tag=crawl=one")});
  EXPECT_FALSE(stream.turn(in_turn));
  stream.insert(1, "one");
  EXPECT_TRUE(stream.turn(in_turn));
  EXPECT_EQ(in_turn.progress(ticket).found, 3'001u);
  EXPECT_EQ(stream.bodies.reads_elsewhere(), 0u);
}

TEST_F(ForgettingTest, TheStreamGoesOnMeanwhileAndWhatComesIsFound) {
  stream.insert(1'000, "one");
  Forgetting::Ticket ticket;
  {
    const std::lock_guard hold(stream.bodies.gate);  // like a disk that does not answer
    ticket = ask("tag=crawl=one");
    while (stream.bodies.reads_elsewhere() == 0) stream.turn(forgetting);
    for (int i = 0; i < 10; ++i) {
      stream.insert(100, "one");
      EXPECT_FALSE(stream.turn(forgetting));
    }
    EXPECT_EQ(forgetting.progress(ticket).stage, Stage::searching);
  }
  while (!stream.turn(forgetting)) continue;
  EXPECT_EQ(stream.removed, range(0, 2'000));
  EXPECT_TRUE(done(ticket));
  stream.insert(1, "one");  // later
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(stream.turn(forgetting));
  EXPECT_TRUE(stream.engine.originals().live(2'000));
}

TEST_F(ForgettingTest, RemovesInPiecesAndTheSmallestFirst) {
  stream.insert(17'000, "one");
  stream.insert(10, "two");
  const auto large = ask("tag=crawl=one");
  while (!stream.turn(forgetting)) continue;
  EXPECT_EQ(forgetting.progress(large).removed, Forgetting::kPiece);
  EXPECT_EQ(forgetting.progress(large).found, 17'000u);
  const auto small = ask("tag=crawl=two");
  {
    // The large request continues during the search for the small one.
    const std::lock_guard hold(stream.bodies.gate);
    EXPECT_TRUE(stream.turn(forgetting));
  }
  EXPECT_EQ(run(small), 10u);
  EXPECT_EQ(run(large), 17'000u);
  EXPECT_THAT(stream.pieces, Each(Le(Forgetting::kPiece)));
  std::sort(stream.removed.begin(), stream.removed.end());
  EXPECT_EQ(stream.removed, range(0, 17'010));
}

TEST_F(ForgettingTest, GoesOnWhereAnEarlierRunEnded) {
  stream.insert(12'000, "one");
  Forgetting::Request request{.wanted = wanted("tag=crawl=one")};
  Seq below = 0;
  uint64_t found = 0;
  {
    Forgetting first(stream.kept, stream.bodies);
    request.begins = [&](Seq b, uint64_t f) {
      EXPECT_TRUE(stream.removed.empty());
      below = b;
      found = f;
    };
    ASSERT_NE(first.ask(request), nullptr);
    while (!stream.turn(first)) continue;
  }
  EXPECT_EQ(below, 12'000u);
  EXPECT_EQ(found, 12'000u);
  stream.insert(5, "one");
  request.below = below;
  request.found = found;
  request.begins = [&](Seq b, uint64_t f) {
    EXPECT_EQ(b, below);
    EXPECT_EQ(f, found);
  };
  const auto ticket = forgetting.ask(request);
  EXPECT_EQ(run(ticket), 12'000u);
  EXPECT_EQ(stream.removed, range(0, 12'000));
  EXPECT_THAT(stream.pieces, ElementsAre(5'000, 5'000, 2'000));
  EXPECT_TRUE(stream.engine.originals().live(12'004));
}

TEST_F(ForgettingTest, WhatWaitsIsBoundedJoinedAndSentAwayAtTheEnd) {
  const auto first = ask("id=d0");
  EXPECT_EQ(ask("id=d0"), first);
  for (size_t i = 1; i < Forgetting::kWaitingMost; ++i) EXPECT_NE(ask("id=d" + std::to_string(i)), nullptr);
  EXPECT_EQ(ask("id=other"), nullptr);
  EXPECT_EQ(forgetting.await(first, std::chrono::milliseconds(1)).stage, Stage::waiting);
  std::jthread waiter(
      [&] { EXPECT_EQ(forgetting.await(first, std::chrono::minutes(10)).stage, Stage::closed); });
  forgetting.close();
  waiter.join();
  EXPECT_EQ(ask("id=d0"), nullptr);
  EXPECT_FALSE(stream.turn(forgetting));
}

}  // namespace
}  // namespace doppel::testing
