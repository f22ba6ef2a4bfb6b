#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/simd.h"
#include "engine/indexed_engine.h"
#include "engine/steps.h"

namespace doppel {
namespace {

using testing::add_random_relations;
using testing::History;
using testing::make_related_steps;
using testing::make_steps;
using testing::random_options;
using testing::run_slow;
using testing::sign;
using testing::SlowOutcome;
using testing::Step;

// What the durable form of an index keeps of it.
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

  // As from a snapshot: what lives, and what was removed.
  void restore_snapshot(Engine& engine, const std::string& clock, std::mt19937_64& random) {
    ASSERT_TRUE(engine.start_restore(lowest_live_, lowest_live_, clock).ok());
    for (Seq seq = lowest_live_; seq < rows_.size(); ++seq) ASSERT_TRUE(engine.restore(view(seq)).ok());
    engine.finish_restore(1 + static_cast<int>(random() % 30));
  }

  // As from a compacted log: removals come late, of some dead rows only the time is left, and what is dead
  // for long may be there or not.
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

// Restarted now and then, with another number of shards.
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
      options.shards = 1 + static_cast<int>(random() % 5);
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
      // Known when it came: not read, unless it turns out to be needed.
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

// What verifies runs of many documents.
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

TEST(EngineOracle, SaysWhatTheSlowRuleSays) {
  std::random_device device;
  uint64_t near = 0, exact = 0, unique = 0, expired = 0, unread = 0, read_late = 0;
  std::map<RemovalReason, uint64_t> removed;
  // Half of the rounds replace, and few documents of a round do: chance may ask for some rounds more.
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
      ASSERT_EQ(fast.outcomes.size(), slow.outcomes.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(fast.outcomes[i], slow.outcomes[i])
            << "batch size " << batch << ", document " << i << ": verdict "
            << static_cast<int>(fast.outcomes[i].verdict) << " of " << fast.outcomes[i].seq << ", expected "
            << static_cast<int>(slow.outcomes[i].verdict) << " of " << slow.outcomes[i].seq;
      }
      unread += fast.unread;
      read_late += fast.read_late;
      EXPECT_EQ(fast.removed, slow.removed);
      EXPECT_EQ(fast.lowest_live, slow.lowest_live);
    }
  }
  // What was compared must have contained something to compare.
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

TEST(EngineOracle, RelatesWhatTheSlowRuleRelates) {
  std::random_device device;
  std::map<Relation, uint64_t> found;
  uint64_t more = 0, repeats = 0;
  // A few rounds have settings that find little: chance may ask for some rounds more.
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
      ASSERT_EQ(fast.outcomes.size(), slow.outcomes.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(fast.outcomes[i], slow.outcomes[i])
            << "batch size " << batch << ", document " << i << ": verdict "
            << static_cast<int>(fast.outcomes[i].verdict) << " of " << fast.outcomes[i].seq << " with "
            << fast.outcomes[i].related.size() << " related, expected "
            << static_cast<int>(slow.outcomes[i].verdict) << " of " << slow.outcomes[i].seq << " with "
            << slow.outcomes[i].related.size();
      }
      EXPECT_EQ(fast.removed, slow.removed);
    }
  }
  EXPECT_TRUE(enough()) << found[Relation::contained] << ' ' << found[Relation::contains] << ' '
                        << found[Relation::shares] << ' ' << more << ' ' << repeats;
}

}  // namespace
}  // namespace doppel
