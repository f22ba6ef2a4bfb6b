// More originals than one index takes.
#include "engine/originals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/memory_store.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EngineOptions options(int shards) {
  EngineOptions out;
  out.rule = make_rule(0.8, 0.995, 128).value();
  out.shards = shards;
  out.rows_max = 100;  // instead of 268 million
  return out;
}

class OriginalsTest : public ::testing::Test {
 protected:
  // Signs `count` documents that resemble nothing.
  void sign(Engine& engine, int first, int count, Work& work) {
    work.resize(static_cast<size_t>(count), engine.options());
    Signer signer = engine.make_signer();
    for (int i = 0; i < count; ++i) {
      std::string text;
      for (int w = 0; w < 40; ++w) text += "w" + std::to_string((first + i) * 1000 + w) + " ";
      signer.sign(text, {}, work.sign.documents[static_cast<size_t>(i)],
                  work.sign.slices.data() + static_cast<size_t>(i) * 128);
    }
  }

  // Adds the next `count` documents at once.
  absl::Status add(Engine& engine, int count) {
    Work work;
    sign(engine, number_, count, work);
    number_ += count;
    MatchCounters counters;
    EXPECT_TRUE(engine.match(work, 0, static_cast<size_t>(count), counters).ok());
    return engine.resolve(work);
  }

  std::unique_ptr<Bodies> bodies_ = memory_bodies();
  int number_ = 0;
};

TEST_F(OriginalsTest, AFullIndexRefusesABatchAndSaysWhatToDo) {
  Engine engine(options(1), *bodies_);
  EXPECT_TRUE(add(engine, 60).ok());
  EXPECT_TRUE(add(engine, 40).ok());
  const absl::Status full = add(engine, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(std::string(full.message()), AllOf(HasSubstr("100 originals"), HasSubstr("`shards`")));
  EXPECT_EQ(engine.originals().next_seq(), 100u);
}

TEST_F(OriginalsTest, ShardsTakeAsManyEach) {
  Engine engine(options(3), *bodies_);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(add(engine, 10).ok());
  const OriginalsStats stats = engine.originals().stats();
  EXPECT_EQ(stats.live, 300u);
  ASSERT_EQ(stats.shards.size(), 3u);
  for (const IndexStats& shard : stats.shards) EXPECT_EQ(shard.live, 100u);
  // Each is known.
  number_ = 0;
  EXPECT_TRUE(add(engine, 300).ok());
  EXPECT_EQ(engine.originals().next_seq(), 300u);
  EXPECT_TRUE(absl::IsResourceExhausted(add(engine, 1)));
}

TEST_F(OriginalsTest, WhatExpiresMakesRoom) {
  EngineOptions o = options(2);
  o.rule.max_documents = 150;
  Engine engine(o, *bodies_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(add(engine, 10).ok());
  EXPECT_EQ(engine.originals().stats().live, 150u);
}

TEST_F(OriginalsTest, WhatIsInSegmentsIsCounted) {
  EngineOptions o = options(2);
  std::vector<testing::MemoryStore> stores(2);
  for (SegmentStore& store : stores) o.segments.push_back({.store = &store, .young = 20});
  Engine engine(o, *bodies_);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(add(engine, 10).ok());
  const OriginalsStats before = engine.originals().stats();
  EXPECT_EQ(before.live, 100u);
  EXPECT_LE(before.rows, 40u);
  ASSERT_TRUE(before.old.has_value());
  EXPECT_EQ(before.old->live + before.rows, 100u);
  EXPECT_GE(before.old->segments, 2u);
  EXPECT_GT(before.memory_bytes(), before.row_bytes + before.table_bytes);
  number_ = 0;
  EXPECT_TRUE(add(engine, 60).ok());
  const OriginalsStats after = engine.originals().stats();
  EXPECT_EQ(after.live, 100u);
  EXPECT_GT(after.old->key_pages, before.old->key_pages);
  EXPECT_GT(after.old->row_pages, before.old->row_pages);
}

// A matcher that is asked again does not find originals that died meanwhile. This holds for one question.
TEST_F(OriginalsTest, AQuestionWithoutTheDeadChangesNothing) {
  Engine engine(options(2), *bodies_);
  ASSERT_TRUE(add(engine, 10).ok());
  const auto found = [&](const Deaths& deaths) {
    Work work;
    sign(engine, 0, 10, work);
    MatchCounters counters;
    EXPECT_TRUE(
        engine.originals().match_without(deaths, [&] { return engine.match(work, 0, 10, counters); }).ok());
    std::vector<Seq> out;
    for (const Answer& answer : work.answers)
      if (answer.exact) out.push_back(*answer.exact);
    return out;
  };
  EXPECT_THAT(found({.seqs = {5, 7, 900}, .lowest_live = 2}), ElementsAre(2, 3, 4, 6, 8, 9));
  EXPECT_THAT(found({}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  // An original that is dead stays so.
  EXPECT_TRUE(engine.originals().remove(3));
  EXPECT_THAT(found({.seqs = {3, 7}, .lowest_live = 1}), ElementsAre(1, 2, 4, 5, 6, 8, 9));
  EXPECT_THAT(found({}), ElementsAre(0, 1, 2, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(engine.originals().stats().live, 9u);
}

TEST_F(OriginalsTest, ARestoreOfTooManyIsRefused) {
  const auto restore = [&](int shards) {
    Engine engine(options(shards), *bodies_);
    EXPECT_TRUE(engine.start_restore(0, 0, {}).ok());
    for (Seq seq = 0; seq < 101; ++seq) {
      const absl::Status status = engine.restore({.seq = seq, .row = {.digest = {seq, 1}}});
      if (!status.ok()) return status;
    }
    engine.finish_restore();
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsResourceExhausted(restore(1)));
  EXPECT_TRUE(restore(2).ok());
}

}  // namespace
}  // namespace doppel
