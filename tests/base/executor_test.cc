// Work in parts on several threads.
#include "base/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/status.h"

namespace doppel {
namespace {

TEST(Executor, TriesAllPartsAndSaysWhatFailed) {
  for (const int threads : {1, 4}) {
    Executor executor(threads);
    for (const size_t fails : {size_t{0}, size_t{37}, size_t{1000}}) {
      std::vector<std::atomic<int>> done(100);
      const absl::Status status = executor.try_run(done.size(), 8, [&](int, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++done[i];
        return begin <= fails && fails < end ? invalid("part") : absl::OkStatus();
      });
      EXPECT_EQ(status, fails < done.size() ? invalid("part") : absl::OkStatus());
      for (const std::atomic<int>& each : done) EXPECT_EQ(each, 1);
    }
  }
}

}  // namespace
}  // namespace doppel
