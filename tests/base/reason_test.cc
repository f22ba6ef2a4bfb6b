// Each reason is found again in its message, and each message has one reason.
#include "base/reason.h"

#include <gtest/gtest.h>

namespace doppel {
namespace {

TEST(Reason, IsFoundInItsMessage) {
  size_t at = 0;
  for (const ReasonInfo& each : reasons()) {
    EXPECT_EQ(static_cast<size_t>(each.reason), ++at) << each.label;
    EXPECT_EQ(&info_of(each.reason), &each);
    EXPECT_EQ(reason_of(message_of(each.reason)), each.reason) << each.label;
    EXPECT_TRUE(each.rejects || each.skips || each.unscores) << each.label;
    EXPECT_FALSE(each.label.empty());
  }
  EXPECT_EQ(at, static_cast<size_t>(Reason::other));
}

TEST(Reason, IsNotThatOfAShorterBeginning) {
  EXPECT_EQ(reason_of("text: field \"a\" is a number, not a string"), Reason::bad_text);
  EXPECT_EQ(reason_of("text: no field /text"), Reason::no_text);
  EXPECT_EQ(reason_of("warc_mismatch: the record is of a, the message of b"), Reason::warc_mismatch);
  EXPECT_EQ(reason_of("id, url and other metadata together are longer"), Reason::metadata_too_long);
  EXPECT_EQ(reason_of("id: field \"a\" is an object"), Reason::bad_id);
  EXPECT_EQ(reason_of("signed without its set (verify: signature)"), Reason::without_set);
  EXPECT_EQ(reason_of("something new"), Reason::other);
}

TEST(Reason, IsTheMessageOfAnError) {
  const absl::Status status = rejected(Reason::not_json, ": it is empty");
  EXPECT_EQ(status.message(), "not JSON: it is empty");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace doppel
