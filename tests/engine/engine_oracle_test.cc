#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/simd.h"
#include "engine/indexed_engine.h"
#include "engine/memory_store.h"
#include "engine/steps.h"

namespace doppel {
namespace {

using testing::add_random_relations;
using testing::History;
using testing::make_related_steps;
using testing::make_steps;
using testing::MemoryStore;
using testing::random_options;
using testing::run_slow;
using testing::sign;
using testing::SlowOutcome;
using testing::Step;

// The durable form of an index.
class Kept {
 public:
  void add(const Resolved& resolved, const EngineOptions& options) {
    for (const StoredRow& stored : resolved.rows) {
      Copy copy{.row = stored};
      if (stored.row.slices != nullptr)
        copy.slices.assign(stored.row.slices, stored.row.slices + options.scheme.num_perm);
      copy.mask.assign(stored.row.mask, stored.row.mask + (options.rule.banding.bands + 31) / 32);
      copy.prints.assign(stored.row.prints.begin(), stored.row.prints.end());
      rows_.push_back(std::move(copy));
    }
    for (const Removed& r : resolved.removed) rows_[r.seq].row.removed = true;
    lowest_live_ = resolved.lowest_live;
  }

  // Like a snapshot: the live rows, and the removals.
  void restore_snapshot(Engine& engine, const std::string& clock, std::mt19937_64& random) {
    ASSERT_TRUE(engine.start_restore(lowest_live_, lowest_live_, clock).ok());
    for (Seq seq = lowest_live_; seq < rows_.size(); ++seq) ASSERT_TRUE(engine.restore(view(seq)).ok());
    engine.finish_restore(1 + static_cast<int>(random() % 30));
  }

  // Like a compacted log: removals come late, some dead rows have only their time left, and rows that died
  // long ago may be there or not.
  void restore_log(Engine& engine, const std::string& clock, std::mt19937_64& random) {
    const Seq first = random() % (lowest_live_ + 1);
    ASSERT_TRUE(engine.start_restore(first, first, {}).ok());
    std::vector<Seq> late;
    for (Seq seq = first; seq < rows_.size(); ++seq) {
      StoredRow row = view(seq);
      const bool dead = row.removed || seq < lowest_live_;
      if (dead && random() % 2 == 0)
        row.row.slices = nullptr, row.row.digest = {}, row.row.id_tag = 0, row.row.payload = 0;
      if (row.removed && random() % 2 == 0) {
        late.push_back(seq);
        row.removed = false;
        if (row.row.slices == nullptr) row.trusted_ms = kNoTime;
      } else {
        row.removed = dead && (row.removed || row.row.slices == nullptr);
      }
      ASSERT_TRUE(engine.restore(row).ok());
      if (!late.empty() && random() % 4 == 0) {
        engine.restore_removed(late.back(), rows_[late.back()].row.trusted_ms);
        late.pop_back();
      }
    }
    for (const Seq seq : late) engine.restore_removed(seq, rows_[seq].row.trusted_ms);
    ASSERT_TRUE(engine.restore_clock(lowest_live_, clock).ok());
    engine.finish_restore(1 + static_cast<int>(random() % 30));
  }

 private:
  struct Copy {
    StoredRow row;
    std::vector<uint8_t> slices;
    std::vector<uint32_t> mask;
    std::vector<uint64_t> prints;
  };
  StoredRow view(Seq seq) const {
    StoredRow row = rows_[seq].row;
    row.row.slices = rows_[seq].slices.empty() ? nullptr : rows_[seq].slices.data();
    row.row.mask = rows_[seq].mask.data();
    row.row.prints = rows_[seq].prints;
    return row;
  }
  std::vector<Copy> rows_;
  Seq lowest_live_ = 0;
};

// Restarts the engine now and then, with another number of shards. If there is a store, old originals are in
// segments, which remain.
History run_engine(EngineOptions options, const std::vector<Step>& steps, size_t batch_size,
                   std::mt19937_64& random) {
  std::unique_ptr<Bodies> bodies = memory_bodies();
  auto engine = std::make_unique<Engine>(options, *bodies);
  Signer signer = engine->make_signer();
  History run;
  Kept kept;
  Work work;
  for (size_t at = 0; at < steps.size();) {
    size_t n = 1;
    while (n < batch_size && at + n < steps.size() && steps[at + n].forget.empty()) ++n;
    if (random() % 8 == 0) {
      const std::string clock = engine->clock();
      if (options.segments.empty()) options.shards = 1 + static_cast<int>(random() % 5);
      engine = std::make_unique<Engine>(options, *bodies);
      if (random() % 2 == 0) {
        kept.restore_snapshot(*engine, clock, random);
      } else {
        kept.restore_log(*engine, clock, random);
      }
    }
    work.resize(n, options);
    work.forget = steps[at].forget;
    const auto sign_one = [&](size_t i) {
      sign(signer, steps[at + i], options, engine->id_tag(steps[at + i].id), work.sign.documents[i],
           work.sign.slices.data() + i * options.scheme.num_perm);
    };
    for (size_t i = 0; i < n; ++i) {
      sign_one(i);
      SignedDocument& document = work.sign.documents[i];
      // The payload is known: the text is not read, unless RESOLVE needs it.
      if (document.action == SignedDocument::Action::judge && engine->knows_payload(document.payload)) {
        document.content = Content::unread;
        document.digest = {};
        ++run.unread;
      }
    }
    MatchCounters counters;
    EXPECT_TRUE(engine->match(work, 0, n / 2, counters).ok());
    EXPECT_TRUE(engine->match(work, n / 2, n, counters).ok());
    const auto read = [&](size_t i) {
      ++run.read_late;
      sign_one(i);
      return engine->match(work, i, i + 1, counters);
    };
    EXPECT_TRUE(engine->resolve(work, {.read = read}).ok());
    for (const Outcome& o : work.resolved.outcomes) {
      run.outcomes.push_back(testing::without_metadata(o));
      for (const Related& related : o.related) EXPECT_FALSE(related.original.empty());
    }
    kept.add(work.resolved, options);
    run.removed.insert(run.removed.end(), work.resolved.removed.begin(), work.resolved.removed.end());
    run.lowest_live = work.resolved.lowest_live;
    at += n;
  }
  return run;
}

// Checks the indexed rule, which verifies runs with many documents.
TEST(EngineOracle, TheIndexedRuleIsTheSlowRule) {
  std::random_device device;
  for (int round = 0; round < 30; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const EngineOptions options = random_options(random);
    const std::vector<Step> steps = make_steps(random(), 400);
    const History slow = run_slow(options, steps);
    const History indexed = run_slow<testing::IndexedEngine>(options, steps);
    ASSERT_EQ(indexed.outcomes == slow.outcomes, true);
    EXPECT_EQ(indexed.removed, slow.removed);
    EXPECT_EQ(indexed.lowest_live, slow.lowest_live);
  }
}

void expect_same_outcomes(const History& fast, const History& slow, size_t batch) {
  ASSERT_EQ(fast.outcomes.size(), slow.outcomes.size());
  for (size_t i = 0; i < slow.outcomes.size(); ++i) {
    ASSERT_EQ(fast.outcomes[i], slow.outcomes[i])
        << "batch size " << batch << ", document " << i << ": verdict "
        << static_cast<int>(fast.outcomes[i].verdict) << " of " << fast.outcomes[i].seq << " with "
        << fast.outcomes[i].related.size() << " related, expected "
        << static_cast<int>(slow.outcomes[i].verdict) << " of " << slow.outcomes[i].seq << " with "
        << slow.outcomes[i].related.size();
  }
}

TEST(EngineOracle, SaysWhatTheSlowRuleSays) {
  std::random_device device;
  uint64_t near = 0, exact = 0, unique = 0, expired = 0, unread = 0, read_late = 0;
  std::map<RemovalReason, uint64_t> removed;
  // Half of the rounds replace, but few documents of a round do: by chance, some more rounds may be needed.
  for (int round = 0; round < 12 || (round < 60 && removed[RemovalReason::replaced] <= 10); ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = random_options(random);
    std::vector<Step> steps = make_steps(random(), 400);
    History slow = run_slow(options, steps);
    for (const SlowOutcome& o : slow.outcomes) {
      near += o.kind == Kind::near ? 1 : 0;
      exact += o.kind == Kind::exact ? 1 : 0;
      unique += o.verdict == Verdict::unique ? 1 : 0;
    }
    for (const Removed& r : slow.removed) ++removed[r.reason];
    expired += slow.lowest_live;
    for (size_t batch : {size_t{1}, size_t{7}, size_t{64}, size_t{1000}}) {
      options.shards = 1 + static_cast<int>(random() % 4);
      options.initial_capacity = random() % 2 == 0 ? 1 : 100'000;
      force_simd(static_cast<Simd>(random() % 3));
      History fast = run_engine(options, steps, batch, random);
      force_simd(simd_supported());
      ASSERT_NO_FATAL_FAILURE(expect_same_outcomes(fast, slow, batch));
      unread += fast.unread;
      read_late += fast.read_late;
      EXPECT_EQ(fast.removed, slow.removed);
      EXPECT_EQ(fast.lowest_live, slow.lowest_live);
    }
  }
  // The comparison must have covered enough cases.
  EXPECT_GT(near, 200u);
  EXPECT_GT(exact, 100u);
  EXPECT_GT(unique, 500u);
  EXPECT_GT(removed[RemovalReason::removed], 50u);
  EXPECT_GT(removed[RemovalReason::replaced], 10u);
  EXPECT_GT(removed[RemovalReason::forgotten], 10u);
  EXPECT_GT(expired, 0u);
  EXPECT_GT(unread, 100u);
  EXPECT_GT(read_late, 10u);
}

// Segments are made and merged.
void expect_same_with_segments(bool relations) {
  std::random_device device;
  size_t made = 0;
  uint64_t longest = 0;
  uint64_t related = 0, similar = 0;
  // Of few originals, segments stay short in all rounds now and then; then there are more rounds.
  for (int round = 0; round < 12 || (longest <= 16 && round < 48); ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = random_options(random);
    if (relations) add_random_relations(random, options);
    if (round % 3 == 0) testing::report_similar(options);
    const std::vector<Step> steps = relations ? make_related_steps(random(), 150) : make_steps(random(), 400);
    const History slow = run_slow(options, steps);
    for (const SlowOutcome& o : slow.outcomes)
      for (const Related& each : o.related) ++(each.relation == Relation::similar ? similar : related);
    for (const size_t batch : {size_t{1}, size_t{7}, size_t{64}, size_t{1000}}) {
      options.shards = 1 + static_cast<int>(random() % 3);
      std::vector<MemoryStore> stores(static_cast<size_t>(options.shards));
      options.segments.clear();
      for (MemoryStore& store : stores)
        options.segments.push_back(
            {.store = &store,
             .young = 2 + random() % 30,
             .merge_on = random() % 2 == 0 ? std::launch::deferred : std::launch::async});
      const History fast = run_engine(options, steps, batch, random);
      ASSERT_NO_FATAL_FAILURE(expect_same_outcomes(fast, slow, batch));
      EXPECT_EQ(fast.removed, slow.removed);
      EXPECT_EQ(fast.lowest_live, slow.lowest_live);
      for (const MemoryStore& store : stores) {
        made += store.made();
        longest = std::max(longest, store.longest());
      }
    }
  }
  EXPECT_GT(made, 100u);
  EXPECT_GT(longest, 16u);
  EXPECT_EQ(related > 100, relations) << related;
  EXPECT_GT(similar, 0u);
}

TEST(EngineOracle, SaysTheSameWithOldOriginalsInSegments) { expect_same_with_segments(false); }
TEST(EngineOracle, RelatesTheSameWithOldOriginalsInSegments) { expect_same_with_segments(true); }

TEST(EngineOracle, RelatesWhatTheSlowRuleRelates) {
  std::random_device device;
  std::map<Relation, uint64_t> found;
  uint64_t more = 0, repeats = 0;
  // A few rounds have settings that find little: by chance, some more rounds may be needed.
  const auto enough = [&] {
    return found[Relation::contained] > 50 && found[Relation::contains] > 50 &&
           found[Relation::shares] > 50 && more > 10 && repeats > 10;
  };
  for (int round = 0; round < 10 || (round < 100 && !enough()); ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = random_options(random);
    add_random_relations(random, options);
    const std::vector<Step> steps = make_related_steps(random(), 150);
    const History slow = run_slow(options, steps);
    for (const SlowOutcome& o : slow.outcomes) {
      for (const Related& related : o.related) ++found[related.relation];
      more += o.related_more;
      repeats += o.kind == Kind::contained ? 1 : 0;
    }
    for (size_t batch : {size_t{1}, size_t{9}, size_t{1000}}) {
      options.shards = 1 + static_cast<int>(random() % 4);
      const History fast = run_engine(options, steps, batch, random);
      ASSERT_NO_FATAL_FAILURE(expect_same_outcomes(fast, slow, batch));
      EXPECT_EQ(fast.removed, slow.removed);
    }
  }
  EXPECT_TRUE(enough()) << found[Relation::contained] << ' ' << found[Relation::contains] << ' '
                        << found[Relation::shares] << ' ' << more << ' ' << repeats;
}

// The first document has common prints. The next one is matched a second time because its best candidate has
// died. The common prints of the first document must not affect it.
TEST(EngineOracle, WhatWasCommonInOneDocumentSaysNothingAboutTheNext) {
  std::random_device device;
  uint64_t related = 0;
  for (int round = 0; round < 40; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    uint64_t next_word = 0;
    const auto words = [&](size_t n) {
      std::vector<std::string> out(n);
      for (std::string& word : out) word = "w" + std::to_string(next_word++);
      return out;
    };
    const auto joined = [](const std::vector<std::string>& first, const std::vector<std::string>& then) {
      std::string out;
      for (const auto* part : {&first, &then})
        for (const std::string& word : *part) out += word + " ";
      return out;
    };
    EngineOptions options;
    options.scheme.key = {random(), random()};
    options.track_ids = true;
    options.payload_of = testing::payload_of;
    options.rule = make_rule(0.8, 0.9, 128).value();
    options.rule.max_checks = 2;
    options.rule.relations.contains = options.rule.relations.shares = true;
    options.rule.relations.passage = options.scheme.passage = 20;
    options.rule.relations.common_after = 3;

    const std::vector<std::string> held = words(28), bar = words(60), body = words(200);
    std::vector<Step> steps{{.forget = {}, .id = "held", .text = joined(held, {})}};
    for (int site = 0; site < 3; ++site)
      steps.push_back({.forget = {}, .id = "site" + std::to_string(site), .text = joined(bar, words(200))});
    for (int version = 0; version < 3; ++version) {
      std::vector<std::string> edited = body;
      for (size_t w = 10 + static_cast<size_t>(version); w < edited.size(); w += 50) edited[w] += "x";
      steps.push_back({.forget = {}, .id = "body" + std::to_string(version), .text = joined({}, edited)});
    }
    const Seq nobody = 1000;
    steps.push_back({.forget = {nobody}, .id = "site3", .text = joined(bar, words(200))});  // a new batch
    const uint64_t kept = random() % 3;
    for (const uint64_t version : {kept + 1, kept + 2})
      steps.push_back({.remove = true, .forget = {}, .id = "body" + std::to_string(version % 3)});
    steps.push_back({.forget = {}, .id = "holds", .text = joined(held, body)});

    const History slow = run_slow(options, steps);
    const History fast = run_engine(options, steps, 1000, random);
    ASSERT_EQ(fast.outcomes == slow.outcomes, true);
    related += slow.outcomes.back().related.size();
  }
  EXPECT_GT(related, 20u);
}

}  // namespace
}  // namespace doppel
