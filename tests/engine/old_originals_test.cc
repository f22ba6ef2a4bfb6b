#include "engine/old_originals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>

#include "engine/memory_store.h"

namespace doppel {
namespace {

// Adds the originals up to `end`, one in a batch.
void restore_up_to(Seq end, CandidateIndex& index, OldOriginals& old) {
  while (index.next_seq() < end) {
    index.restore({.digest = {.low = index.next_seq(), .high = 1}}, false);
    ASSERT_TRUE(old.move_from(index).ok());
  }
}

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
  CandidateIndexOptions options;
  SlowMerges store;
  OldOriginals old(options, {.store = &store, .young = 4});
  CandidateIndex index(options);
  old.open(0);
  restore_up_to(300, index, old);
  store.all_are_made();
  EXPECT_LE(store.most(), 40U);
  EXPECT_GE(old.set().next_seq(), 296U);
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
  CandidateIndexOptions options;
  ClosedStore store;
  OldOriginals old(options, {.store = &store, .young = 100});
  CandidateIndex index(options);
  old.open(0);
  restore_up_to(100, index, old);
  EXPECT_EQ(index.lowest_live(), 0U);  // 25 rows are copied, and leave when they are stored
  index.remove(7);                     // meanwhile
  index.remove(30);
  store.let_go();
  restore_up_to(101, index, old);  // now there are too many, so it waits
  EXPECT_EQ(index.lowest_live(), 25U);
  EXPECT_EQ(old.set().next_seq(), 25U);
  EXPECT_TRUE(old.set().live(6));
  EXPECT_FALSE(old.set().live(7));
  EXPECT_FALSE(index.live(30));
}

// Limits of numbers and time go on while a segment is made.
TEST(OldOriginals, WhatExpiresWhileItsSegmentIsMadeStaysExpired) {
  for (const Seq expired : {10, 25, 60}) {
    SCOPED_TRACE(expired);
    CandidateIndexOptions options;
    ClosedStore store;
    OldOriginals old(options, {.store = &store, .young = 100});
    CandidateIndex index(options);
    old.open(0);
    restore_up_to(100, index, old);
    old.expire_below(expired);
    index.expire_below(expired);
    store.let_go();
    restore_up_to(101 + expired, index, old);
    const Seq lowest = old.set().size() == 0 ? index.lowest_live() : old.set().lowest_live();
    EXPECT_EQ(lowest, expired);
    if (old.set().size() != 0) {
      EXPECT_EQ(old.set().next_seq(), index.lowest_live());
    }
  }
}

}  // namespace
}  // namespace doppel
