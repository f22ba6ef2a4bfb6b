// max_memory determines how many originals an index holds once, when it is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/settings.h"
#include "open/setup.h"
#include "state/scheme.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr HashKey kKey{1, 2};

class Room : public testing::Test {
 protected:
  Room() {
    o_.state_directory = folder_.path() + "/state";
    o_.max_memory = kGiB;
  }

  // Opens an index once, with one commit. Returns the number of originals that it holds.
  absl::StatusOr<uint64_t> start() {
    absl::StatusOr<EngineOptions> engine = engine_options(o_, kKey);
    if (!engine.ok()) return engine.status();
    auto session = open_session(session_options(o_, *engine));
    if (!session.ok()) return session.status();
    absl::Status status = (*session)->commit_outputs("there");
    if (status.ok()) status = (*session)->checkpoint();
    if (!status.ok()) return status;
    return (*session)->engine().options().rule.max_documents;
  }
  // The same with the rule in the stored form of earlier versions.
  void start_as_earlier_versions() {
    const EngineOptions engine = engine_options(o_, kKey).value();
    Rule rule = engine.rule;
    set_room(rule, 0, 0, rule.max_documents);
    const StateOptions options{.directory = o_.state_directory,
                               .data_scheme = engine.scheme.describe(),
                               .rule = describe_rule(rule),
                               .num_perm = o_.num_perm,
                               .mask_words = (rule.banding.bands + 31) / 32};
    auto state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_TRUE((*state)->commit({.source_position = "here", .sink_position = "there"}).ok());
  }
  std::string refusal() {
    const absl::StatusOr<uint64_t> started = start();
    EXPECT_EQ(started.status().code(), absl::StatusCode::kFailedPrecondition) << started.status();
    return std::string(started.status().message());
  }

  TemporaryDirectory folder_;
  Options o_;
};

TEST_F(Room, BuffersChangeNothingInAnIndexThatIsThere) {
  const uint64_t made = start().value();
  o_.batch_bytes = 64 << 20;
  EXPECT_NE(engine_options(o_, kKey).value().rule.max_documents, made);
  EXPECT_EQ(start().value(), made);
  o_.batch_bytes = 1 << 20;
  EXPECT_EQ(start().value(), made);
  // With Kafka there are more buffers.
  o_.kafka.brokers = "localhost:1";
  o_.kafka.fetch_queue = 512 << 20;
  EXPECT_EQ(start().value(), made);
}

TEST_F(Room, AnotherMaxMemoryIsRefusedByItsName) {
  ASSERT_TRUE(start().ok());
  o_.max_memory = 2 * kGiB;
  EXPECT_THAT(refusal(), HasSubstr("\n  max_memory: the index was made with 1073741824, now 2147483648"));
  EXPECT_THAT(refusal(), Not(HasSubstr("documents")));
  o_.max_memory = 0;
  EXPECT_THAT(refusal(), HasSubstr("\n  max_memory: the index was made with 1073741824, now 0"));
  EXPECT_THAT(refusal(), Not(HasSubstr("documents")));
}

TEST_F(Room, MaxDocumentsIsARuleOfItsOwn) {
  o_.max_documents = 20'000;
  EXPECT_EQ(start().value(), 20'000U);
  o_.batch_bytes = 64 << 20;
  EXPECT_EQ(start().value(), 20'000U);
  o_.max_documents = 30'000;
  EXPECT_THAT(refusal(), HasSubstr("\n  max_documents: the index was made with 20000, now 30000"));
  EXPECT_THAT(refusal(), Not(HasSubstr("max_memory")));
}

TEST_F(Room, OfEarlierVersionsIsTaken) {
  start_as_earlier_versions();
  const uint64_t made = engine_options(o_, kKey).value().rule.max_documents;
  EXPECT_EQ(start().value(), made);
  o_.batch_bytes = 64 << 20;
  EXPECT_EQ(start().value(), made);
  // From now on the index knows max_memory.
  o_.max_memory = 2 * kGiB;
  EXPECT_THAT(refusal(), HasSubstr("\n  max_memory: the index was made with 1073741824, now 2147483648"));
}

TEST_F(Room, OfEarlierVersionsIsTakenWithOtherBuffersAtOnce) {
  start_as_earlier_versions();
  const uint64_t made = engine_options(o_, kKey).value().rule.max_documents;
  o_.batch_bytes = 64 << 20;
  EXPECT_EQ(start().value(), made);
}

TEST_F(Room, OfEarlierVersionsWithMaxDocumentsToo) {
  o_.max_documents = 20'000;
  start_as_earlier_versions();
  o_.batch_bytes = 64 << 20;
  EXPECT_EQ(start().value(), 20'000U);
  o_.max_documents = 10'000;
  EXPECT_THAT(refusal(), HasSubstr("\n  max_documents: the index was made with 20000, now 10000"));
}

// ---- the texts, which an index log stores, too

TEST(RuleInForce, KeepsWhatMaxMemoryGave) {
  const std::string stored = "a=1\nmax_memory=100\ndocuments_in_memory=7\nb=2\n";
  const std::string now = "a=1\nmax_memory=100\ndocuments_in_memory=9\nb=2\n";
  EXPECT_THAT(rule_differences(stored, now, {}), IsEmpty());
  EXPECT_EQ(rule_in_force(stored, now, {}), stored);
  // It is named in accept_rule_change, but did not change.
  EXPECT_EQ(rule_in_force(stored, now, {"max_memory"}), stored);
}

TEST(RuleInForce, TakesWhatIsAccepted) {
  const std::string stored = "max_memory=100\ndocuments_in_memory=7\n";
  const std::string now = "max_memory=200\ndocuments_in_memory=9\n";
  EXPECT_THAT(rule_differences(stored, now, {}),
              ElementsAre("max_memory: the index was made with 100, now 200"));
  EXPECT_THAT(rule_differences(stored, now, {"max_memory"}), IsEmpty());
  EXPECT_EQ(rule_in_force(stored, now, {"max_memory"}), now);
}

TEST(RuleInForce, OfEarlierVersions) {
  const std::string now = "max_memory=200\ndocuments_in_memory=9\n";
  EXPECT_THAT(rule_differences("max_documents=7\n", now, {}), IsEmpty());
  EXPECT_EQ(rule_in_force("max_documents=7\n", now, {}), "max_memory=200\ndocuments_in_memory=7\n");
  EXPECT_EQ(rule_in_force("max_documents=7\n", now, {"max_memory"}), now);
  // If both are named, the difference shows which of the two counted.
  const std::string both = "max_documents=8\nmax_memory=200\ndocuments_in_memory=9\n";
  EXPECT_EQ(rule_in_force("max_documents=7\n", both, {}),
            "max_documents=8\nmax_memory=200\ndocuments_in_memory=7\n");
  EXPECT_EQ(rule_in_force("max_documents=8\n", both, {}), both);
  // Without any earlier limit, it is a change.
  EXPECT_THAT(rule_differences("", now, {}), ElementsAre("max_memory: the index was made with 0, now 200"));
  EXPECT_THAT(rule_differences("max_documents=7\n", "max_documents=8\n", {}),
              ElementsAre("max_documents: the index was made with 7, now 8"));
}

}  // namespace
}  // namespace doppel
