// The promises of docs/events.md about original-removed: how a stream is cut into batches may only move these
// events among the others. The same events come, and none before a copy that names its original.
#include "pipeline/removals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace doppel {
namespace {

struct Step {
  std::string name, text, id;
  SignedDocument::Action action = SignedDocument::Action::judge;
  int64_t timestamp_ms = 0;
};

// Few texts and few ids, so that copies, removals and replacements are frequent. Time advances.
std::vector<Step> make_steps(std::mt19937_64& random, int count) {
  std::vector<Step> steps;
  for (int n = 0; n < count; ++n) {
    Step step{.name = std::to_string(n), .text = {}, .id = "id" + std::to_string(random() % 60)};
    const auto text = std::to_string(random() % 90);
    for (int w = 0; w < 30; ++w)
      step.text.append("w").append(text).append("x").append(std::to_string(w)) += ' ';
    if (random() % 10 == 0) step.action = SignedDocument::Action::remove;
    step.timestamp_ms = n * 1'000 + static_cast<int64_t>(random() % 3'000);
    steps.push_back(std::move(step));
  }
  return steps;
}

class Known : public StoredOriginals {
 public:
  absl::StatusOr<Original> original(Seq seq) override { return all.at(seq); }
  std::map<Seq, Original> all;
};

struct Written {
  std::vector<std::string> documents;  // "copy=original"
  std::vector<std::string> ends;       // "original: reason"
};

class Ends : public ::testing::Test {
 protected:
  // Decides the stream in batches of random sizes, then empty batches until all ends are announced.
  Written decide(const std::vector<Step>& steps, size_t largest_batch) {
    const std::unique_ptr<Bodies> bodies = memory_bodies();
    Engine engine(options, *bodies);
    Signer signer = engine.make_signer();
    Known known;
    Written out;
    std::set<std::string> ended;
    Seq announced = 0;
    Work work;
    for (size_t at = 0, n = 0; at < steps.size() || announced < work.resolved.lowest_live; at += n) {
      n = std::min<size_t>(random() % (largest_batch + 1), steps.size() - at);
      work.resize(n, options);
      for (size_t i = 0; i < n; ++i) sign(engine, signer, steps[at + i], work, i);
      MatchCounters counters;
      EXPECT_TRUE(engine.match(work, 0, n, counters).ok());
      EXPECT_TRUE(engine.resolve(work).ok());
      for (size_t i = 0; i < n; ++i) {
        const Outcome& outcome = work.resolved.outcomes[i];
        if (outcome.verdict != Verdict::duplicate) continue;
        const std::string original(outcome.original);
        EXPECT_FALSE(ended.contains(original)) << steps[at + i].name << " names " << original;
        out.documents.push_back(steps[at + i].name + "=" + original);
      }
      const auto write = [&](const RemovedOriginal& end) {
        const std::string original(end.metadata);
        EXPECT_TRUE(ended.insert(original).second) << original << " ends twice";
        out.ends.push_back(original + ": " + std::string(removal_reason_name(end.reason)));
        return absl::OkStatus();
      };
      const Batch batch;
      EXPECT_TRUE(write_removed({.batch = batch, .work = work}, known, write).ok());
      for (size_t r = 0; r < work.resolved.rows.size(); ++r) {
        const StoredRow& row = work.resolved.rows[r];
        known.all[row.seq] = {.metadata = work.sign.documents[work.resolved.places[r]].metadata,
                              .trusted_ms = row.trusted_ms};
      }
      // Like an index: the removals of a batch are known once it is applied.
      const auto first = out.ends.size();
      const absl::StatusOr<Seq> told = write_expired(work.resolved, announced, engine, known, write);
      EXPECT_TRUE(told.ok());
      announced = *told;
      const auto number = [](const std::string& end) { return std::stoi(end); };
      EXPECT_TRUE(std::ranges::is_sorted(out.ends.begin() + static_cast<std::ptrdiff_t>(first),
                                         out.ends.end(), {}, number));
      for (const Removed& removed : work.resolved.removed) known.all.at(removed.seq).removed = true;
    }
    return out;
  }

  void sign(Engine& engine, Signer& signer, const Step& step, Work& work, size_t i) const {
    SignedDocument& out = work.sign.documents[i];
    out.action = step.action;
    out.timestamp_ms = step.timestamp_ms;
    out.metadata = step.name;
    out.id_tag = engine.id_tag(step.id);
    out.replace = true;
    if (step.action == SignedDocument::Action::judge)
      signer.sign(step.text, "", out, &work.sign.slices[i * static_cast<size_t>(options.scheme.num_perm)]);
  }

  void check() {
    const std::vector<Step> steps = make_steps(random, 2'000);
    Written first = decide(steps, 1);
    std::ranges::sort(first.ends);
    EXPECT_GT(first.ends.size(), 100u);
    for (const size_t largest : {7, 100, 2'000}) {
      SCOPED_TRACE("batches of at most " + std::to_string(largest));
      Written other = decide(steps, largest);
      EXPECT_EQ(other.documents, first.documents);
      std::ranges::sort(other.ends);
      EXPECT_EQ(other.ends, first.ends);
    }
  }

  Ends() {
    options.rule = make_rule(0.8, 0.995, 128).value();
    options.track_ids = true;
  }

  uint64_t seed = std::random_device()();
  std::mt19937_64 random{seed};
  ::testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  EngineOptions options;
};

TEST_F(Ends, OfReplacedRemovedAndEvictedOriginalsAreTheSameInAllBatches) {
  options.rule.max_documents = 25;
  check();
}

TEST_F(Ends, OfReplacedRemovedAndExpiredOriginalsAreTheSameInAllBatches) {
  options.rule.expire_after_ms = 60'000;
  options.rule.generation = 8;
  options.rule.watermark_rank = 5;
  check();
}

}  // namespace
}  // namespace doppel
