// Deliberately broken contracts of the index and of its parts.
#include "base/check.h"

#include <gtest/gtest.h>

#include <vector>

#include "index/index.h"

namespace doppel {
namespace {

using testing::ExitedWithCode;

class BrokenIndexDeathTest : public testing::Test {
 protected:
  void insert() {
    const Row row{.slices = slices.data(), .digest = {index.next_seq(), 1}, .mask = &mask};
    index.band_keys(slices.data(), keys.data());
    index.insert({&row, 1}, keys.data());
  }
  CandidateIndex index{{.num_perm = 16, .banding = {4, 4}, .min_equal = 8}};
  std::vector<uint8_t> slices = std::vector<uint8_t>(16, 7);
  std::vector<uint64_t> keys = std::vector<uint64_t>(4);
  uint32_t mask = 15;
};

TEST_F(BrokenIndexDeathTest, BandsNeedSlots) {
  EXPECT_EXIT(CandidateIndex({.num_perm = 16, .banding = {5, 4}}), ExitedWithCode(kBrokenExitCode),
              "slots of the sketch");
  EXPECT_EXIT(CandidateIndex({.num_perm = 16, .banding = {0, 4}}), ExitedWithCode(kBrokenExitCode),
              "slots of the sketch");
}

TEST_F(BrokenIndexDeathTest, RowsAreAskedForInTheWindow) {
  insert();
  insert();
  EXPECT_EQ(index.row(1).digest.low, 1u);
  EXPECT_EXIT((void)index.row(2), ExitedWithCode(kBrokenExitCode),
              "is in the window\n(.|\n)*seq, low_, next_ = 2, 0, 2");
  index.expire_below(1);
  EXPECT_EXIT((void)index.row(0), ExitedWithCode(kBrokenExitCode), "is in the window");
}

TEST_F(BrokenIndexDeathTest, NumberingBeginsWhileItIsEmpty) {
  index.start_at(100);
  insert();
  EXPECT_EXIT(index.start_at(200), ExitedWithCode(kBrokenExitCode), "only while there are no rows");
}

TEST_F(BrokenIndexDeathTest, BodiesAndMasksOfRows) {
  Row row{.slices = slices.data(), .digest = {1, 1}, .body = {.offset = uint64_t{1} << 40}, .mask = &mask};
  EXPECT_EXIT(index.insert({&row, 1}, keys.data()), ExitedWithCode(kBrokenExitCode), "fit into its row");
  row.body = {.offset = 1, .size = 1 << 24};
  EXPECT_EXIT(index.restore(row, false), ExitedWithCode(kBrokenExitCode), "fit into its row");
  row = {.slices = slices.data(), .digest = {1, 1}};
  EXPECT_EXIT(index.restore(row, false), ExitedWithCode(kBrokenExitCode), "in which bands it is listed");
}

TEST_F(BrokenIndexDeathTest, LookupsHaveRoomAndBandsExist) {
  const std::vector<Query> queries(3);
  std::vector<Found> found(2);
  EXPECT_EXIT(index.lookup(queries, found), ExitedWithCode(kBrokenExitCode), "room for each answer");
  EXPECT_EXIT((void)index.count_listed(4, 1, slices.data()), ExitedWithCode(kBrokenExitCode),
              "one of the index's");
}

}  // namespace
}  // namespace doppel
