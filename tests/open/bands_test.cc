// An index keeps the bands that it was made with. If somebody sets others, it is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "open/setup.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::HasSubstr;

class Bands : public testing::Test {
 protected:
  Bands() { o_.state_directory = folder_.path() + "/state"; }

  // Opens an index once, with one commit. Returns its bands and rows.
  absl::StatusOr<Banding> start(int bands, int rows) {
    o_.bands = bands;
    o_.rows = rows;
    absl::StatusOr<EngineOptions> engine = engine_options(o_, {1, 2});
    if (!engine.ok()) return engine.status();
    auto session = open_session(session_options(o_, *engine));
    if (!session.ok()) return session.status();
    absl::Status status = (*session)->commit_outputs("there");
    if (!status.ok()) return status;
    return (*session)->engine().options().rule.banding;
  }

  TemporaryDirectory folder_;
  Options o_;
};

TEST_F(Bands, AnIndexThatIsThereKeepsItsOwn) {
  ASSERT_EQ(start(18, 6).value(), (Banding{18, 6}));
  EXPECT_EQ(start(0, 0).value(), (Banding{18, 6}));
  o_.recall = .9;  // would choose others
  EXPECT_EQ(start(0, 0).value(), (Banding{18, 6}));
}

TEST_F(Bands, OthersThatAreSetAreRefused) {
  const Banding chosen = start(0, 0).value();
  EXPECT_EQ(start(chosen.bands, chosen.rows).value(), chosen);
  const absl::StatusOr<Banding> other = start(18, 6);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("bands"));
  EXPECT_EQ(start(0, 0).value(), chosen);
}

}  // namespace
}  // namespace doppel
