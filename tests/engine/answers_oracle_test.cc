// RESOLVE gives the slow rule's verdicts with any number of owners, however far each of them is behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/bodies.h"
#include "engine/memory_store.h"
#include "engine/share.h"
#include "engine/steps.h"

namespace doppel {
namespace {

using testing::History;
using testing::make_steps;
using testing::random_options;
using testing::run_slow;
using testing::Step;

// A decided batch as in a log: it does not refer to the batch.
struct Logged {
  Resolved resolved;
  std::vector<std::vector<uint8_t>> slices;
  std::vector<std::vector<uint32_t>> masks;
  std::vector<std::vector<uint64_t>> keys;
  std::vector<std::string> metadata, coded_sets;
  std::vector<std::vector<uint64_t>> prints;
};

// An owner of some shards, which applies decisions at its own pace.
class LateOwner {
 public:
  // young: 0: all originals are in memory.
  LateOwner(const EngineOptions& options, const ShardSet& shards, uint64_t young)
      : bodies_(memory_bodies()),
        share_(options.rule, shards, index_options(options), *bodies_, options.payload_of,
               {.store = young == 0 ? nullptr : &store_, .young = young}) {}

  Cut cut() const { return share_.cut(); }

  void apply_to(Cut cut, const std::vector<std::unique_ptr<Logged>>& log) {
    while (share_.cut() < cut) apply(*log[share_.cut()]);
  }

  void apply_deaths(const Resolved& resolved) { share_.apply_deaths(resolved, 0); }

  void answer(const ToMatch& work, size_t begin, size_t end, size_t owner) const {
    MatchCounters counters;
    ASSERT_TRUE(share_.matcher().match(work, begin, end, owner, share_.cut(), counters).ok());
  }
  void band_keys(const uint8_t* slices, uint64_t* out) const {
    share_.index().young().band_keys(slices, out);
  }

 private:
  void apply(const Logged& logged) {
    std::vector<Row> rows;
    std::vector<uint64_t> keys;
    for (size_t r = 0; r < logged.resolved.rows.size(); ++r) {
      if (!share_.shards().owns(logged.resolved.rows[r].seq)) continue;
      Row row = logged.resolved.rows[r].row;
      row.slices = logged.slices[r].empty() ? nullptr : logged.slices[r].data();
      row.mask = logged.masks[r].data();
      row.prints = logged.prints[r];
      row.body = bodies_->append({.metadata = logged.metadata[r], .coded_set = logged.coded_sets[r]}).value();
      rows.push_back(row);
      keys.insert(keys.end(), logged.keys[r].begin(), logged.keys[r].end());
    }
    ASSERT_TRUE(share_.apply(logged.resolved, rows, keys.data(), 1, {}).ok());
  }

  std::unique_ptr<Bodies> bodies_;
  testing::MemoryStore store_;
  Share share_;
};

struct Counts {
  uint64_t asked_again = 0, behind = 0;
};

std::vector<ShardSet> random_sets(uint32_t shards, size_t owners, std::mt19937_64& random) {
  std::vector<std::vector<uint32_t>> own(owners);
  std::vector<uint32_t> all(shards);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  for (size_t i = 0; i < all.size(); ++i) own[i < owners ? i : random() % owners].push_back(all[i]);
  std::vector<ShardSet> out;
  for (std::vector<uint32_t>& each : own) {
    std::sort(each.begin(), each.end());
    out.emplace_back(shards, each);
  }
  return out;
}

class Cluster {
 public:
  Cluster(const EngineOptions& options, uint32_t shards, size_t owners, size_t lag, std::mt19937_64& random)
      : options_(options),
        lag_(lag),
        random_(random),
        sets_(random_sets(shards, owners, random)),
        signer_(options.scheme),
        resolver_(options_.rule, options.scheme.num_perm, Owners(sets_)) {
    for (const ShardSet& set : sets_) {
      // Two owners that compete.
      auto& both = owners_.emplace_back();
      for (int i = 0; i < 2; ++i) {
        const bool segments = random_() % 2 == 0;
        both.push_back(std::make_unique<LateOwner>(options_, set, segments ? 2 + random_() % 10 : 0));
      }
    }
  }

  History run(const std::vector<Step>& steps, size_t batch_size, Counts& counts) {
    for (size_t at = 0; at < steps.size();) {
      size_t n = 1;
      while (n < batch_size && at + n < steps.size() && steps[at + n].forget.empty()) ++n;
      batch(std::span(steps).subspan(at, n), counts);
      at += n;
    }
    return std::move(run_);
  }

 private:
  struct BatchWork {
    SignedBatch sign;
    std::vector<uint64_t> keys;
    std::vector<DocumentSet> sets;
    std::vector<Answer> answers;
    Resolved resolved;
  };

  void batch(std::span<const Step> steps, Counts& counts) {
    // It is freed at the end: the window must have copied what it needs longer.
    auto work = std::make_unique<BatchWork>();
    const auto bands = static_cast<size_t>(options_.rule.banding.bands);
    const auto num_perm = static_cast<size_t>(options_.scheme.num_perm);
    work->sign.resize(steps.size(), options_.scheme.num_perm);
    work->keys.resize(steps.size() * bands);
    work->sets.resize(steps.size());
    work->answers.resize(steps.size() * owners_.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      testing::sign(signer_, steps[i], options_, id_tag(options_.scheme.key, steps[i].id),
                    work->sign.documents[i], work->sign.slices.data() + i * num_perm);
      if (work->sign.documents[i].content == Content::shingled)
        owners_.front().front()->band_keys(work->sign.slices.data() + i * num_perm, &work->keys[i * bands]);
    }
    ToMatch to_match{.batch = work->sign,
                     .band_keys = work->keys,
                     .sets = work->sets,
                     .answers = {.all = work->answers, .owners = owners_.size()}};
    to_match.answers.covered = log_.size();
    for (const auto& both : owners_)
      for (const auto& owner : both)
        to_match.answers.covered = std::min(to_match.answers.covered, owner->cut());
    const size_t middle = random_() % (steps.size() + 1);
    ask(to_match, 0, middle, counts);
    ask(to_match, middle, steps.size(), counts);
    for (Answer& answer : work->answers) shorten(answer);

    std::vector<Seq> forget;
    for (const Seq seq : steps.front().forget)
      if (seq < next_ && !dead_.contains(seq) && seq >= run_.lowest_live) forget.push_back(seq);
    const Ask again{.read = {}, .again = [&](size_t i) {
                      ++counts.asked_again;
                      for (size_t k = 0; k < owners_.size(); ++k) {
                        LateOwner& owner = *owners_[k][random_() % 2];
                        owner.apply_to(log_.size(), log_);
                        owner.apply_deaths(work->resolved);
                        ToMatch hinted = to_match;
                        hinted.hint = &resolver_.hint();
                        owner.answer(hinted, i, i + 1, k);
                        shorten(to_match.answers.of(i)[k]);
                      }
                      return absl::OkStatus();
                    }};
    ASSERT_TRUE(resolver_
                    .resolve({.batch = work->sign,
                              .band_keys = work->keys,
                              .sets = work->sets,
                              .answers = to_match.answers,
                              .forget = forget},
                             again, work->resolved)
                    .ok());
    ASSERT_TRUE(resolver_.keep().ok());
    record(*work);
  }

  // Each owner answers at its own pace, and only one of two that compete; some answer twice.
  void ask(const ToMatch& work, size_t begin, size_t end, Counts& counts) {
    std::vector<size_t> order(owners_.size());
    std::iota(order.begin(), order.end(), 0);
    if (random_() % 3 == 0) order.push_back(random_() % owners_.size());
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t k : order) {
      LateOwner& owner = *owners_[k][random_() % 2];
      const Cut behind = random_() % (lag_ + 1);
      owner.apply_to(log_.size() - std::min<Cut>(log_.size(), behind), log_);
      counts.behind += owner.cut() < log_.size() ? 1 : 0;
      owner.answer(work, begin, end, k);
    }
  }

  // Keeps only the verified candidates.
  void shorten(Answer& answer) {
    const auto most = static_cast<size_t>(options_.rule.max_checks);
    if (answer.candidates.size() <= most || random_() % 2 == 0) return;
    answer.candidates_more = static_cast<uint32_t>(answer.candidates.size() - most);
    answer.candidates.resize(most);
  }

  void record(BatchWork& work) {
    const auto bands = static_cast<size_t>(options_.rule.banding.bands);
    for (size_t i = 0; i < work.resolved.outcomes.size(); ++i) {
      const Outcome& o = work.resolved.outcomes[i];
      const bool duplicate = o.verdict == Verdict::duplicate;
      run_.outcomes.push_back(testing::without_metadata(o));
      if (!duplicate) continue;
      EXPECT_EQ(o.original, o.seq < metadata_.size() ? metadata_[o.seq] : made_now(work, o.seq));
    }
    auto logged = std::make_unique<Logged>();
    for (size_t r = 0; r < work.resolved.rows.size(); ++r) {
      const StoredRow& row = work.resolved.rows[r];
      const size_t i = work.resolved.places[r];
      EXPECT_EQ(row.seq, next_++);
      logged->slices.emplace_back();
      if (row.row.slices != nullptr)
        logged->slices.back().assign(row.row.slices, row.row.slices + options_.scheme.num_perm);
      logged->masks.emplace_back(row.row.mask, row.row.mask + (bands + 31) / 32);
      logged->prints.emplace_back(row.row.prints.begin(), row.row.prints.end());
      logged->keys.emplace_back(&work.keys[i * bands], &work.keys[i * bands] + bands);
      logged->metadata.push_back(work.sign.documents[i].metadata);
      work.sets[i].code(work.sign.documents[i]);
      logged->coded_sets.push_back(work.sets[i].coded);
      if (options_.rule.relations.on()) append_prints(logged->prints.back(), logged->coded_sets.back());
      metadata_.push_back(work.sign.documents[i].metadata);
    }
    for (const Removed& removed : work.resolved.removed) dead_.insert(removed.seq);
    run_.removed.insert(run_.removed.end(), work.resolved.removed.begin(), work.resolved.removed.end());
    run_.lowest_live = work.resolved.lowest_live;
    logged->resolved = std::move(work.resolved);
    log_.push_back(std::move(logged));
  }

  static std::string made_now(const BatchWork& work, Seq seq) {
    for (size_t r = 0; r < work.resolved.rows.size(); ++r)
      if (work.resolved.rows[r].seq == seq) return work.sign.documents[work.resolved.places[r]].metadata;
    return "nowhere";
  }

  const EngineOptions options_;
  const size_t lag_;
  std::mt19937_64& random_;
  const std::vector<ShardSet> sets_;
  std::vector<std::vector<std::unique_ptr<LateOwner>>> owners_;
  Signer signer_;
  Resolver resolver_;
  std::vector<std::unique_ptr<Logged>> log_;
  std::set<Seq> dead_;
  std::vector<std::string> metadata_;  // by number
  Seq next_ = 0;
  History run_;
};

TEST(AnswersOracle, OwnersOfShardsSayTogetherWhatTheSlowRuleSays) {
  std::random_device device;
  Counts counts;
  uint64_t near = 0, removed = 0;
  for (int round = 0; round < 10; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const EngineOptions options = random_options(random);
    const std::vector<Step> steps = make_steps(random(), 400);
    const History slow = run_slow(options, steps);
    removed += slow.removed.size();
    for (const uint32_t shards : {1u, 2u, 3u, 8u, 64u}) {
      const size_t owners = 1 + random() % std::min(shards, 5u);
      const size_t batch = 1 + random() % 60, lag = random() % 5;
      SCOPED_TRACE(std::to_string(shards) + " shards of " + std::to_string(owners) + " owners, batches of " +
                   std::to_string(batch) + ", up to " + std::to_string(lag) + " behind");
      Cluster cluster(options, shards, owners, lag, random);
      const History fast = cluster.run(steps, batch, counts);
      ASSERT_EQ(fast.outcomes.size(), slow.outcomes.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(fast.outcomes[i], slow.outcomes[i])
            << "document " << i << ": verdict " << static_cast<int>(fast.outcomes[i].verdict) << " of "
            << fast.outcomes[i].seq << ", expected " << static_cast<int>(slow.outcomes[i].verdict) << " of "
            << slow.outcomes[i].seq;
        near += fast.outcomes[i].kind == Kind::near ? 1 : 0;
      }
      EXPECT_EQ(fast.removed, slow.removed);
      EXPECT_EQ(fast.lowest_live, slow.lowest_live);
    }
  }
  // The comparison must have covered enough cases.
  EXPECT_GT(near, 500u);
  EXPECT_GT(removed, 100u);
  EXPECT_GT(counts.asked_again, 50u);
  EXPECT_GT(counts.behind, 500u);
}

TEST(AnswersOracle, OwnersOfShardsRelateTogetherWhatTheSlowRuleRelates) {
  std::random_device device;
  uint64_t related = 0;
  Counts counts;
  for (int round = 0; round < 6; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = random_options(random);
    testing::add_random_relations(random, options);
    const std::vector<Step> steps = testing::make_related_steps(random(), 120);
    const History slow = run_slow(options, steps);
    for (const uint32_t shards : {1u, 3u, 16u}) {
      const size_t owners = 1 + random() % std::min(shards, 5u);
      const size_t batch = 1 + random() % 60, lag = random() % 5;
      SCOPED_TRACE(std::to_string(shards) + " shards of " + std::to_string(owners) + " owners, batches of " +
                   std::to_string(batch) + ", up to " + std::to_string(lag) + " behind");
      Cluster cluster(options, shards, owners, lag, random);
      const History fast = cluster.run(steps, batch, counts);
      ASSERT_EQ(fast.outcomes.size(), slow.outcomes.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(fast.outcomes[i], slow.outcomes[i]) << "document " << i;
        related += fast.outcomes[i].related.size();
      }
    }
  }
  EXPECT_GT(related, 200u);
}

TEST(ShardSet, NumbersAreDenseWithinAnOwner) {
  std::random_device device;
  const uint64_t seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const auto shards = static_cast<uint32_t>(1 + random() % 70);
    const std::vector<ShardSet> sets = random_sets(shards, 1 + random() % std::min(shards, 6u), random);
    const Owners owners(sets);
    std::vector<Seq> next(sets.size());
    for (Seq seq = 0; seq < 500; ++seq) {
      for (size_t k = 0; k < sets.size(); ++k) {
        EXPECT_EQ(sets[k].local(seq), next[k]);
        EXPECT_EQ(sets[k].owns(seq), owners.of(seq) == k);
      }
      const size_t owner = owners.of(seq);
      EXPECT_EQ(sets[owner].global(next[owner]), seq);
      ++next[owner];
    }
  }
}

}  // namespace
}  // namespace doppel
