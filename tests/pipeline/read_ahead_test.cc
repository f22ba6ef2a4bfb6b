#include "pipeline/read_ahead.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace doppel {
namespace {

// Its next() returns when the test says so.
class Slow final : public Source {
 public:
  absl::StatusOr<bool> next(Batch& batch) override {
    batch.clear();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_ > 0; });
    --batches_;
    batch.records.emplace_back();
    return true;
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }
  void go() {
    {
      const std::lock_guard lock(mutex_);
      ++batches_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int batches_ = 0;
};

TEST(ReadAhead, ARingEndsTheWait) {
  Slow source;
  Waker waker;
  waker.ring();  // nobody waits, and nobody will
  {
    ReadAhead reader(source, true, &waker);
    Batch batch;
    std::jthread other([&] { waker.ring(); });
    ASSERT_TRUE(*reader.next(batch));  // the source gives nothing
    EXPECT_TRUE(batch.records.empty());
    waker.ring();  // before the wait
    ASSERT_TRUE(*reader.next(batch));
    EXPECT_TRUE(batch.records.empty());
    source.go();
    ASSERT_TRUE(*reader.next(batch));
    EXPECT_EQ(batch.records.size(), 1u);
    for (int i = 0; i < 2; ++i)
      source.go();  // the thread reads one batch ahead, and another one that nobody takes
  }
  waker.ring();  // after its end
}

}  // namespace
}  // namespace doppel
