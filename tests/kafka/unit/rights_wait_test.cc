// What happens while a right is missing, in time that a test sets.

#include "kafka/rights_wait.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"

namespace doppel::kafka {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RightsWaitTest : public testing::Test, private Clock::Source {
 protected:
  RightsWaitTest() {
    Clock::install(this);
    testing::internal::CaptureStderr();
  }
  ~RightsWaitTest() override {
    if (capturing_) said();
    Clock::install(nullptr);
  }

  // How often it was logged that a right is missing.
  size_t said(const std::string& what = "a right is missing") {
    capturing_ = false;
    const std::string text = testing::internal::GetCapturedStderr();
    return std::vector<std::string>(absl::StrSplit(text, what)).size() - 1;
  }
  seconds passed() const { return std::chrono::duration_cast<seconds>(now_ - Clock::time_point(kBegin)); }
  void pass(milliseconds duration) { now_ += duration; }

  const absl::Status refused = absl::PermissionDeniedError("refused");
  const absl::Status lacks = absl::PermissionDeniedError("Write on the topic events");
  int asked = 0;

 private:
  static constexpr seconds kBegin{1'000};
  Clock::time_point now() override { return now_; }
  void sleep(milliseconds duration) override { now_ += duration; }
  int64_t unix_ms() override { return 0; }

  Clock::time_point now_{kBegin};
  bool capturing_ = true;
};

TEST_F(RightsWaitTest, EndsWhenTheRightIsGranted) {
  RightsWait rights([&] { return ++asked <= 5 ? lacks : absl::OkStatus(); });
  EXPECT_TRUE(rights.waits());
  EXPECT_TRUE(rights.wait(refused, [] { return false; }).ok());
  EXPECT_EQ(asked, 6);
  EXPECT_EQ(passed(), seconds(10));  // asks every two seconds
  EXPECT_EQ(said("Write on the topic events"), 1u);
}

TEST_F(RightsWaitTest, SaysItEveryHalfMinute) {
  RightsWait rights([&] { return passed() < seconds(100) ? lacks : absl::OkStatus(); });
  EXPECT_TRUE(rights.wait(refused, [] { return false; }).ok());
  EXPECT_EQ(said(), 4u);  // at 0, 30, 60 and 90
}

TEST_F(RightsWaitTest, EndsAfterHalfAMinuteIfTheBrokersDoNotSayWhatIsMissing) {
  RightsWait rights([] { return absl::OkStatus(); });
  EXPECT_TRUE(rights.wait(refused, [] { return false; }).ok());
  EXPECT_EQ(passed(), seconds(30));
  EXPECT_EQ(said("refused"), 1u);
}

TEST_F(RightsWaitTest, EndsWithAStop) {
  RightsWait rights([&] { return lacks; });
  const absl::Status status = rights.wait(refused, [&] { return passed() >= seconds(5); });
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(status.message(), "stopped while a right was missing: refused");
  EXPECT_EQ(passed(), seconds(5));
}

TEST_F(RightsWaitTest, StillAsksEveryHalfMinute) {
  bool granted = false;
  RightsWait rights([&] {
    ++asked;
    return granted ? absl::OkStatus() : lacks;
  });
  EXPECT_TRUE(rights.still(refused));
  EXPECT_EQ(asked, 1);
  pass(milliseconds(29'900));
  granted = true;
  EXPECT_TRUE(rights.still(refused));
  EXPECT_EQ(asked, 1);
  pass(milliseconds(100));
  EXPECT_FALSE(rights.still(refused));
  EXPECT_EQ(asked, 2);
  // The next refusal is said at once, whatever the brokers say.
  EXPECT_TRUE(rights.still(refused));
  EXPECT_EQ(said(), 2u);
}

TEST_F(RightsWaitTest, WithoutAQuestionItDoesNotWait) { EXPECT_FALSE(RightsWait(nullptr).waits()); }

}  // namespace
}  // namespace doppel::kafka
