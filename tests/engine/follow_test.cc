// An engine that follows another one's decisions answers as that one does: a standby, which has all
// originals, and owners, which have some.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/steps.h"

namespace doppel {
namespace {

using testing::Step;

// What the index log says of a batch. The rows' content is that of `bodies`, which all engines share.
Resolved logged(const Resolved& decided, const Engine& follower, const BandMask& no_bands,
                std::mt19937_64& random) {
  Resolved out;
  out.removed = decided.removed;
  out.lowest_live = decided.lowest_live;
  for (const StoredRow& row : decided.rows) {
    StoredRow& copy = out.rows.emplace_back(row);
    copy.row.prints = {};  // the log has them in the body
    const auto of_row = [&](const Removed& removed) { return removed.seq == row.seq; };
    // The log has only the number of a row that was compacted away, and an owner keeps only those of others'.
    const bool gone = std::any_of(out.removed.begin(), out.removed.end(), of_row) && random() % 2 == 0;
    if (!gone && follower.has(row.seq)) continue;
    copy = {.seq = row.seq, .trusted_ms = row.trusted_ms, .removed = follower.has(row.seq)};
    copy.row.mask = no_bands.data();
    if (gone) std::erase_if(out.removed, of_row);
  }
  return out;
}

struct Compared {
  uint64_t duplicates = 0, unique = 0, related = 0;
};

class Follow {
 public:
  Follow(const EngineOptions& options, uint64_t seed)
      : options_(options),
        random_(seed),
        bodies_(memory_bodies()),
        leader_(options, *bodies_),
        signer_(leader_.make_signer()),
        no_bands_(static_cast<size_t>(options.rule.banding.mask_words()), 0) {
    add_follower({});
    for (uint32_t shard : {0U, 1U}) add_follower(ShardSet(2, {shard}));
  }

  void decide(const std::vector<Step>& steps, size_t from, size_t to) {
    sign(steps, from, to);
    MatchCounters counters;
    ASSERT_TRUE(leader_.match(work_, 0, to - from, counters).ok());
    ASSERT_TRUE(leader_.resolve(work_).ok());
    for (const auto& follower : followers_) {
      Resolved batch = logged(work_.resolved, *follower, no_bands_, random_);
      ASSERT_TRUE(follower->follow(batch).ok());
      ASSERT_EQ(follower->originals().next_seq(), leader_.originals().next_seq());
      for (Seq seq = 0; seq < leader_.originals().next_seq(); ++seq) {
        if (!follower->has(seq)) continue;
        ASSERT_EQ(follower->originals().live(seq), leader_.originals().live(seq)) << seq;
      }
    }
  }

  void compare(const std::vector<Step>& steps, size_t from, size_t to, Compared& counts) {
    const std::vector<Outcome> wanted = ask(leader_, steps, from, to);
    const std::vector<Outcome> standby = ask(*followers_[0], steps, from, to);
    const std::vector<Outcome> owners[] = {ask(*followers_[1], steps, from, to),
                                           ask(*followers_[2], steps, from, to)};
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (steps[from + i].remove) continue;
      SCOPED_TRACE(from + i);
      const Outcome& is = wanted[i];
      ASSERT_EQ(standby[i].verdict, is.verdict);
      ASSERT_EQ(standby[i].kind, is.kind);
      ASSERT_EQ(standby[i].seq, is.seq);
      ASSERT_EQ(standby[i].similarity, is.similarity);
      ASSERT_EQ(standby[i].candidates, is.candidates);
      ASSERT_EQ(standby[i].original, is.original);
      ASSERT_EQ(standby[i].related, is.related);
      counts.related += is.related.size();
      if (is.verdict == Verdict::unique) {
        ++counts.unique;
        for (const auto& owner : owners) ASSERT_NE(owner[i].verdict, Verdict::duplicate);
      } else if (is.verdict == Verdict::duplicate) {
        ++counts.duplicates;
        const Outcome& owner = owners[is.seq % 2][i];
        ASSERT_EQ(owner.verdict, is.verdict);
        ASSERT_EQ(owner.seq, is.seq);
        ASSERT_EQ(owner.similarity, is.similarity);
      }
    }
  }

 private:
  void add_follower(std::optional<ShardSet> own) {
    EngineOptions options = options_;
    options.own = std::move(own);
    if (options.own) options.shards = 1;
    followers_.push_back(std::make_unique<Engine>(options, *bodies_));
  }

  void sign(const std::vector<Step>& steps, size_t from, size_t to) {
    work_.resize(to - from, options_);
    for (size_t i = from; i < to; ++i)
      testing::sign(signer_, steps[i], options_, leader_.id_tag(steps[i].id), work_.sign.documents[i - from],
                    work_.sign.slices.data() + (i - from) * static_cast<size_t>(options_.scheme.num_perm));
  }

  std::vector<Outcome> ask(const Engine& engine, const std::vector<Step>& steps, size_t from, size_t to) {
    sign(steps, from, to);
    std::vector<Outcome> out(to - from);
    for (size_t i = 0; i < out.size(); ++i) {
      if (steps[from + i].remove) continue;
      EXPECT_TRUE(engine.query(work_, i, i + 1, out).ok());
      for (Related& related : out[i].related) related.original.clear();
      originals_.emplace_back(out[i].original);
      out[i].original = originals_.back();
    }
    return out;
  }

  const EngineOptions options_;
  std::mt19937_64 random_;
  const std::unique_ptr<Bodies> bodies_;
  Engine leader_;
  Signer signer_;
  const BandMask no_bands_;
  std::vector<std::unique_ptr<Engine>> followers_;  // a standby, and the owners of two shards
  Work work_;
  std::deque<std::string> originals_;
};

TEST(Follow, AnswersAsTheEngineThatDecides) {
  std::random_device device;
  Compared counts;
  for (int round = 0; round < 12; ++round) {
    const uint64_t seed = device();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EngineOptions options = testing::random_options(random);
    options.shards = 1 + static_cast<int>(random() % 4);
    // An owner counts only its own originals for these.
    options.rule.max_checks = options.rule.max_listed = 10'000;
    const bool related = random() % 2 == 0;
    if (related) testing::add_random_relations(random, options);
    options.rule.relations.partial_duplicate = false;  // the original may depend on what is common
    const std::vector<Step> steps =
        related ? testing::make_related_steps(random(), 250) : testing::make_steps(random(), 250);
    Follow follow(options, random());
    for (size_t at = 0; at < steps.size();) {
      const size_t to = std::min(steps.size(), at + 1 + random() % 25);
      follow.decide(steps, at, to);
      const size_t from = random() % to;
      follow.compare(steps, from, std::min(to, from + 20), counts);
      if (HasFatalFailure()) return;
      at = to;
    }
  }
  EXPECT_GT(counts.duplicates, 500u);
  EXPECT_GT(counts.unique, 200u);
  EXPECT_GT(counts.related, 20u);
}

}  // namespace
}  // namespace doppel
