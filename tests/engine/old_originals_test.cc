#include "engine/old_originals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "engine/bodies.h"
#include "engine/memory_store.h"

namespace doppel {
namespace {

// A store in memory whose create() may wait.
class WaitingStore : public SegmentStore {
 public:
  std::vector<SegmentName> list() const override { return kept_.list(); }
  absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) override {
    return kept_.open(name);
  }
  void remove(const SegmentName& name) override { kept_.remove(name); }
  const PageReader& reader() const override { return kept_.reader(); }

 protected:
  testing::MemoryStore kept_;
};

// An index whose old originals move to this store.
struct Moving {
  Moving(SegmentStore& store, uint64_t young, const CandidateIndexOptions& options = {})
      : index(options), old(options, {.store = &store, .young = young}, *bodies) {
    old.open(0);
  }
  // Adds the originals up to `end`, one in a batch.
  void up_to(Seq end) {
    while (index.next_seq() < end) {
      index.restore({.digest = {.low = index.next_seq(), .high = 1}}, false);
      ASSERT_TRUE(old.move_from(index).ok());
    }
  }
  std::unique_ptr<Bodies> bodies = memory_bodies();
  CandidateIndex index;
  OldOriginals old;
};

// Merges end only when all_are_made(), or late.
class SlowMerges final : public WaitingStore {
 public:
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override {
    std::unique_lock lock(mutex_);
    if (name.end - name.first == 1) {
      most_ = std::max(most_, kept_.list().size() + 1);
    } else if (!done_) {
      done_ = !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; });
    }
    return kept_.create(name);
  }

  void all_are_made() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  size_t most_ = 0;  // segments at once
};

// A restore makes segments faster than they are merged.
TEST(OldOriginals, FewSegmentsWaitToBeMerged) {
  SlowMerges store;
  Moving moving(store, 4);
  moving.up_to(300);
  store.all_are_made();
  EXPECT_LE(store.most(), 40U);
  EXPECT_GE(moving.old.set().next_seq(), 296U);
}

// A store in which nothing can be made before let_go().
class ClosedStore final : public WaitingStore {
 public:
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override {
    opened_.wait();
    return kept_.create(name);
  }
  void let_go() { open_.set_value(); }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_{open_.get_future()};
};

TEST(OldOriginals, ABatchDoesNotWaitForASegment) {
  ClosedStore store;
  Moving moving(store, 100);
  const SegmentSet& old = moving.old.set();
  moving.up_to(100);
  EXPECT_EQ(moving.index.lowest_live(), 0U);  // 25 rows are copied, and leave when they are stored
  moving.index.remove(7);                     // meanwhile
  moving.index.remove(30);
  store.let_go();
  moving.up_to(101);  // now there are too many, so it waits
  EXPECT_EQ(moving.index.lowest_live(), 25U);
  EXPECT_EQ(old.next_seq(), 25U);
  EXPECT_TRUE(old.live(6));
  EXPECT_FALSE(old.live(7));
  EXPECT_FALSE(moving.index.live(30));
}

// A store that counts what is asked of it.
class CountedStore final : public WaitingStore {
 public:
  absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) override {
    ++made_;
    return kept_.create(name);
  }
  size_t made() const { return made_; }

 private:
  std::atomic<size_t> made_ = 0;
};

TEST(OldOriginals, ARestartOpensWhatWasStored) {
  CountedStore store;
  Seq end = 0;
  {
    Moving moving(store, 20);
    moving.up_to(500);
    end = moving.old.set().next_seq();
  }  // what is being made is finished
  const size_t made = store.made(), stored = store.list().size();
  ASSERT_GT(stored, 1U);
  CandidateIndex index(CandidateIndexOptions{});
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  OldOriginals old({}, {.store = &store, .young = 20}, *bodies);
  old.open(0);
  EXPECT_GE(old.set().next_seq(), end);
  EXPECT_TRUE(old.set().live(0));
  EXPECT_EQ(store.made(), made);
  EXPECT_LE(store.list().size(), stored);
  EXPECT_EQ(store.list().size(), old.set().size());

  // Without the first one, those behind the gap are of no use.
  store.remove(store.list().front());
  OldOriginals gap({}, {.store = &store, .young = 20}, *bodies);
  gap.open(0);
  EXPECT_EQ(gap.set().size(), 0U);
  EXPECT_TRUE(store.list().empty());
}

// Limits of numbers and time go on while a segment is made.
TEST(OldOriginals, WhatExpiresWhileItsSegmentIsMadeStaysExpired) {
  for (const Seq expired : {10, 25, 60}) {
    SCOPED_TRACE(expired);
    ClosedStore store;
    Moving moving(store, 100);
    const SegmentSet& old = moving.old.set();
    moving.up_to(100);
    moving.old.expire_below(expired);
    moving.index.expire_below(expired);
    store.let_go();
    moving.up_to(101 + expired);
    const Seq lowest = old.size() == 0 ? moving.index.lowest_live() : old.lowest_live();
    EXPECT_EQ(lowest, expired);
    if (old.size() != 0) {
      EXPECT_EQ(old.next_seq(), moving.index.lowest_live());
    }
  }
}

// Prints come from bodies. Those of an expired original may be gone; that of a live one must be there.
TEST(OldOriginals, ABodyThatIsGoneIsAnErrorOnlyIfItsOriginalLives) {
  CandidateIndexOptions options;
  options.track_prints = true;
  const std::vector<uint8_t> slices(static_cast<size_t>(options.num_perm));
  const uint32_t mask = 1;
  for (const Seq gone : {3, 12}) {
    SCOPED_TRACE(gone);
    ClosedStore store;
    Moving moving(store, 100, options);
    absl::Status moved;
    const auto insert = [&] {
      const Seq seq = moving.index.next_seq();
      std::vector<uint64_t> prints{seq + 1, 1'000};
      std::string coded = "a set";
      append_prints(prints, coded);
      const BodyRef body = moving.bodies->append({.metadata = "", .coded_set = coded}).value();
      moving.index.restore({.slices = slices.data(),
                            .digest = {.low = seq, .high = 1},
                            .body = seq == gone ? BodyRef{uint64_t{1} << 30, 8} : body,
                            .mask = &mask,
                            .prints = prints},
                           false);
      moved = moving.old.move_from(moving.index);
    };
    while (moving.index.next_seq() < 100) insert();
    moving.old.expire_below(10);
    moving.index.expire_below(10);
    store.let_go();
    while (moving.index.next_seq() < 111 && moved.ok()) insert();
    EXPECT_EQ(moved.ok(), gone < 10) << moved;
    if (!moved.ok()) continue;
    PrintsFound found;
    ASSERT_TRUE(moving.old.set().find_prints(std::vector<uint64_t>{1'000, 15}, 100, 200, found).ok());
    ASSERT_EQ(found.listings.size(), 2U);
    EXPECT_EQ(found.listings[0].count, 15U);  // from 10 to 24
    EXPECT_EQ(found.numbers.back(), 14U);
    EXPECT_EQ(moving.old.set().prints_of(14), 2U);
  }
}

}  // namespace
}  // namespace doppel
