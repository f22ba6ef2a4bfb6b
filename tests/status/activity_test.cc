#include "status/activity.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <thread>

#include "records/metadata.h"
#include "status/mailbox.h"

namespace doppel {
namespace {

using ::testing::SizeIs;

std::string encoded(const std::string& id, const std::string& url) {
  std::string out;
  encode_metadata({.source = "in", .offset = 7, .id = id, .url = url}, out);
  return out;
}

// A settled batch of duplicates: (document, number of its original).
class Settled {
 public:
  void add(const std::string& document, Seq original, Kind kind = Kind::near) {
    documents_.push_back(encoded(document, "http://copy.example/" + document));
    originals_.push_back(encoded("o" + std::to_string(original), "http://first.example/"));
    seqs_.push_back(original);
    kinds_.push_back(kind);
  }
  void observe(Activity& activity, int64_t now_ms) {
    Batch batch;
    Work work;
    work.sign.documents.resize(documents_.size());
    for (size_t i = 0; i < documents_.size(); ++i) {
      work.sign.documents[i].metadata = documents_[i];
      work.resolved.outcomes.push_back({.verdict = Verdict::duplicate,
                                        .kind = kinds_[i],
                                        .similarity = {9, 10},
                                        .seq = seqs_[i],
                                        .original = originals_[i]});
    }
    activity.observe({batch, work}, now_ms);
  }

 private:
  std::vector<std::string> documents_, originals_;
  std::vector<Seq> seqs_;
  std::vector<Kind> kinds_;
};

std::string name_of(const std::string& metadata) {
  Metadata m;
  EXPECT_TRUE(decode_metadata(metadata, m).ok());
  return m.name();
}

TEST(Activity, KeepsTheLastMembersOfACluster) {
  Activity activity(1000);
  Settled batch;
  for (int i = 0; i < 20; ++i) batch.add("d" + std::to_string(i), 5, i % 4 == 0 ? Kind::exact : Kind::near);
  batch.observe(activity, 2000);
  Settled later;
  later.add("last", 5);
  later.add("other", 6);
  later.observe(activity, 3000);
  const auto cluster = activity.cluster(Seq{5});
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->exact, 5u);
  EXPECT_EQ(cluster->near, 16u);
  EXPECT_EQ(cluster->first_ms, 2000);
  EXPECT_EQ(cluster->last_ms, 3000);
  EXPECT_EQ(cluster->since_ms, 1000);
  ASSERT_THAT(cluster->last(), SizeIs(16));
  EXPECT_EQ(name_of(cluster->last()[0]->document), "last");
  EXPECT_EQ(name_of(cluster->last()[1]->document), "d19");
  EXPECT_EQ(name_of(cluster->last()[15]->document), "d5");
  EXPECT_FALSE(activity.cluster(Seq{7}));
  ASSERT_THAT(activity.events(), SizeIs(22));
  EXPECT_EQ(name_of(activity.events()[0].copy.document), "other");
  EXPECT_EQ(name_of(activity.events()[0].original), "o6");
  EXPECT_EQ(activity.originals(1)[0].key, 5u);
  EXPECT_EQ(activity.originals(1)[0].count, 21u);
  EXPECT_EQ(activity.host_pairs(9)[0].key, "copy.example\nfirst.example");
}

TEST(Activity, MemoryIsBoundedAndItSaysWhatItForgot) {
  Activity activity(1);
  for (Seq seq = 0; seq < 3 * Activity::kClusters; ++seq) {
    Settled batch;
    batch.add("d", seq);
    batch.add("e", 0);  // stays, since it grows
    batch.observe(activity, static_cast<int64_t>(10 + seq));
  }
  EXPECT_FALSE(activity.cluster(Seq{1}));
  EXPECT_EQ(activity.cluster(Seq{0})->near, 3 * Activity::kClusters + 1);
  EXPECT_EQ(activity.cluster(Seq{0})->since_ms, 1);
  EXPECT_EQ(activity.cluster(Seq{3 * Activity::kClusters - 1})->since_ms, 10 + 3 * Activity::kClusters - 1);
  EXPECT_THAT(activity.events(), SizeIs(Activity::kEvents));
}

TEST(Activity, LongMetadataIsCut) {
  Activity activity(1);
  Settled batch;
  batch.add(std::string(60'000, 'x'), 1);
  batch.observe(activity, 2);
  const auto cluster = activity.cluster(Seq{1});
  EXPECT_LT(cluster->members[0].document.size(), Activity::kMetadataMost);
  EXPECT_EQ(name_of(cluster->members[0].document), std::string(500, 'x'));
}

TEST(Activity, KeepsWhyTheLastRecordsWereRejected) {
  Activity activity(1000);
  Batch batch;
  Work work;
  for (uint64_t i = 0; i < 30; ++i) {
    batch.records.push_back({.source = "docs", .partition = 2, .offset = i});
    work.sign.documents.emplace_back().reason = "reason " + std::to_string(i);
    work.resolved.outcomes.push_back({.verdict = i % 2 == 0 ? Verdict::rejected : Verdict::unique});
  }
  activity.observe({batch, work}, 2000);
  std::vector<DeadLetter> kept = activity.dead_letters();
  ASSERT_EQ(kept.size(), Activity::kDeadLetters);
  EXPECT_EQ(kept.front().where, "docs/2/28");
  EXPECT_EQ(kept.front().reason, "reason 28");
  EXPECT_EQ(kept.back().where, "docs/2/10");

  batch.records = {{.source = "in/a.jsonl", .line = 7}};
  work.resolved.outcomes.resize(1);
  activity.observe({batch, work}, 3000);
  kept = activity.dead_letters();
  ASSERT_EQ(kept.size(), Activity::kDeadLetters);
  EXPECT_EQ(kept[0].where, "in/a.jsonl:7");
  EXPECT_EQ(kept[0].at_ms, 3000);
  EXPECT_EQ(kept[1].where, "docs/2/28");
}

TEST(Activity, AnHourOfSamples) {
  Activity activity(0);
  Counters counters;
  for (int64_t ms = 0; ms <= 2 * 3'600'000; ms += 1000) {
    counters.records = static_cast<uint64_t>(ms);
    activity.sample(counters, ms);
  }
  const auto samples = activity.samples();
  EXPECT_EQ(samples.back().at_ms, 2 * 3'600'000);
  EXPECT_EQ(samples.front().at_ms, 3'600'000);
  EXPECT_EQ(samples.front().documents, 3'600'000u);
}

// The first sample may already include a finished batch: it counts, too.
TEST(Activity, WhatCameBeforeTheFirstLookCounts) {
  Activity activity(1000);
  activity.sample({.records = 123}, 1500);
  ASSERT_THAT(activity.samples(), SizeIs(2));
  EXPECT_EQ(activity.samples().front().documents, 0u);
  EXPECT_EQ(activity.samples().back().documents, 123u);
}

// In a large batch, a sample of the duplicates stands for all.
TEST(Activity, CountsTheMostCopiedAlsoInLargeBatches) {
  Activity activity(1000);
  Settled large;
  for (int i = 0; i < 20'000; ++i) large.add("d" + std::to_string(i), i % 10 < 7 ? 1 : 2);
  large.observe(activity, 2000);
  const auto top = activity.originals(10);
  ASSERT_THAT(top, SizeIs(2));
  EXPECT_NEAR(static_cast<double>(top[0].count), 14'000, 2'000);
  EXPECT_NEAR(static_cast<double>(top[1].count), 6'000, 2'000);
  EXPECT_EQ(name_of(top[0].note), "o1");
  EXPECT_EQ(activity.cluster(Seq{1})->near, 14'000u);  // clusters are counted one by one
  EXPECT_EQ(activity.events().front().copy.document, encoded("d19999", "http://copy.example/d19999"));
  ASSERT_THAT(activity.events(), SizeIs(Activity::kEvents));
}

// Against exact counts: no count is too low, none is too high by more than its error, and every frequent key
// is there.
TEST(HeavyHitters, AgainstExactCounts) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const size_t size : {1u, 8u, 64u}) {
    HeavyHitters<uint64_t> sketch(size);
    std::map<uint64_t, uint64_t> exact;
    uint64_t total = 0;
    for (int i = 0; i < 50'000; ++i) {
      const double u = std::uniform_real_distribution<>(1e-4, 1)(random);
      const auto key = static_cast<uint64_t>(1 / u);  // few are frequent, many are rare
      const uint64_t times = random() % 2 + 1;
      exact[key] += times;
      total += times;
      sketch.add(key, times);
    }
    EXPECT_EQ(sketch.total(), total);
    const auto top = sketch.top(size);
    ASSERT_THAT(top, SizeIs(std::min(size, exact.size())));
    std::map<uint64_t, uint64_t> found;
    for (const auto& entry : top) {
      found[entry.key] = entry.count;
      EXPECT_GE(entry.count, exact[entry.key]);
      EXPECT_LE(entry.count - entry.error, exact[entry.key]);
      EXPECT_LE(entry.error, total / size);
    }
    for (const auto& [key, count] : exact) {
      if (count > total / size) {
        EXPECT_TRUE(found.contains(key)) << key << " came " << count << " times";
      }
    }
  }
}

TEST(Mailbox, AnswersInOrderOrNotAtAll) {
  Mailbox mailbox;
  EXPECT_FALSE(mailbox.ask([] { FAIL(); }, std::chrono::milliseconds(1)));  // nobody answers
  mailbox.answer();
  std::atomic<int> answered = 0;
  std::vector<std::jthread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        int got = 0;
        if (mailbox.ask([&] { got = n; }, std::chrono::minutes(1)) && got == n) ++answered;
      }
    });
  }
  while (answered < 800) mailbox.answer();
  askers.clear();
  std::jthread late([&] { EXPECT_FALSE(mailbox.ask([] { FAIL(); }, std::chrono::minutes(1))); });
  mailbox.close();
  late.join();
  EXPECT_FALSE(mailbox.ask([] { FAIL(); }, std::chrono::minutes(1)));
  mailbox.answer();
}

}  // namespace
}  // namespace doppel
