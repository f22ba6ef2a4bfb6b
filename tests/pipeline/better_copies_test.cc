// Which copies are better than the one that their cluster shows.
#include "pipeline/better_copies.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "records/metadata.h"

namespace doppel {
namespace {

class BetterCopiesTest : public ::testing::Test {
 protected:
  static std::string metadata(uint64_t offset, std::optional<BestValue> best) {
    std::string out;
    encode_metadata({.source = "in", .partition = 0, .offset = offset, .best = best}, out);
    return out;
  }
  static BestValue worth(std::optional<double> value) {
    return {.tag = Best::parse("score:max")->tag(), .value = value};
  }

  // Adds an original; its number is also the offset of its document in the topic.
  void original(Seq seq, std::optional<BestValue> best) { originals_[seq] = metadata(seq, best); }
  void copy(Seq of, std::optional<BestValue> best, Verdict verdict = Verdict::duplicate) {
    SignedDocument& document = work_.sign.documents.emplace_back();
    document.metadata = metadata(1000 + work_.sign.documents.size(), best);
    work_.resolved.outcomes.push_back({.verdict = verdict, .seq = of, .original = originals_.at(of)});
  }

  // Returns a text for each better copy: its number in the batch, its value, and the value that it replaces.
  std::vector<std::string> find(Seq first_own = 0) {
    BetterCopies better(*Best::parse("score:max"), first_own, [this](Seq seq) {
      const auto found = shown_.find(seq);
      return found == shown_.end() ? nullptr : &found->second;
    });
    EXPECT_TRUE(better.find(work_).ok());
    std::vector<std::string> out;
    for (const BetterCopy& each : work_.resolved.better) {
      ShownCopy now, before;
      EXPECT_TRUE(decode_shown(each.copy, now).ok());
      EXPECT_TRUE(each.before.empty() || decode_shown(each.before, before).ok());
      out.push_back(std::to_string(each.document) + ": " + std::to_string(static_cast<int>(now.value)) +
                    " for " + (each.before.empty() ? "the original" : std::string(before.event_id)));
      EXPECT_EQ(now.event_id, "in/0/" + std::to_string(1001 + each.document));
      shown_[each.seq] = each.copy;
    }
    work_.sign.documents.clear();
    work_.resolved.clear();
    return out;
  }

  Work work_;
  std::map<Seq, std::string> originals_, shown_;
};

using Lines = std::vector<std::string>;

TEST_F(BetterCopiesTest, AreComparedWithWhatTheClusterShowsInTheBatchAndBefore) {
  original(1, worth(5));
  original(2, worth(5));
  copy(1, worth(5));
  copy(1, worth(7));
  copy(2, worth(6));
  copy(1, worth(6));
  copy(1, worth(8));
  EXPECT_EQ(find(), (Lines{"1: 7 for the original", "2: 6 for the original", "4: 8 for in/0/1002"}));
  copy(1, worth(8));
  copy(1, worth(9));
  copy(2, worth(7), Verdict::skipped);
  EXPECT_EQ(find(), (Lines{"1: 9 for in/0/1005"}));
}

TEST_F(BetterCopiesTest, AnyValueIsBetterThanNone) {
  original(1, worth(std::nullopt));
  copy(1, worth(std::nullopt));
  copy(1, worth(-3));
  copy(1, worth(std::nullopt));
  EXPECT_EQ(find(), (Lines{"1: -3 for the original"}));
}

TEST_F(BetterCopiesTest, AClusterOfAnotherSettingNeverChanges) {
  original(1, std::nullopt);
  original(2, BestValue{.tag = 1, .value = 0});
  original(3, worth(0));
  copy(1, worth(9));
  copy(2, worth(9));
  copy(3, std::nullopt);                     // signed without the setting
  copy(3, BestValue{.tag = 1, .value = 9});  // or with another one
  EXPECT_EQ(find(), Lines{});
}

TEST_F(BetterCopiesTest, AClusterOfAnIndexThatIsOnlyReadNeverChanges) {
  original(1, worth(0));
  original(2, worth(0));
  copy(1, worth(9));
  copy(2, worth(9));
  EXPECT_EQ(find(2), (Lines{"1: 9 for the original"}));
}

}  // namespace
}  // namespace doppel
