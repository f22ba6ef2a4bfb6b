// Whose turn it is to serve an index, as members of a group and the log say. Time is virtual.
#include "kafka/log/standby.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kafka/unit/topics_cluster.h"
#include "simulation/scheduler.h"
#include "temporary_directory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr int kLook = 200;  // how long one question takes

// A group whose coordinator answers what the test says.
class GroupOfTest : public TopicsCluster {
 public:
  explicit GroupOfTest(simulation::Scheduler& scheduler) : scheduler_(scheduler) {}

  bool chosen = false;
  absl::Status fails, members_fail, join_fails;
  std::vector<std::string> alive;
  std::vector<int> waits;              // of each question whether we are chosen
  std::vector<int64_t> asked_members;  // when
  kafka::MembershipOptions joined;

  absl::StatusOr<std::unique_ptr<kafka::Membership>> join(const kafka::MembershipOptions& how) override {
    joined = how;
    if (!join_fails.ok()) return join_fails;
    return std::make_unique<Member>(*this);
  }

 private:
  class Member : public kafka::Membership {
   public:
    explicit Member(GroupOfTest& group) : group_(group) {}
    absl::StatusOr<std::vector<kafka::TopicPartition>> ours(int wait_ms) override {
      group_.waits.push_back(wait_ms);
      group_.scheduler_.sleep(std::chrono::milliseconds(wait_ms));
      if (!group_.fails.ok()) return group_.fails;
      return group_.chosen ? std::vector<kafka::TopicPartition>{{"log", 0}}
                           : std::vector<kafka::TopicPartition>();
    }
    absl::StatusOr<std::vector<std::string>> members() override {
      group_.asked_members.push_back(group_.scheduler_.unix_ms());
      if (!group_.members_fail.ok()) return group_.members_fail;
      return group_.alive;
    }
    std::string credentials() override { return {}; }

   private:
    GroupOfTest& group_;
  };
  simulation::Scheduler& scheduler_;
};

class StandbyOfTest : public ::testing::Test {
 protected:
  StandbyOfTest() {
    Clock::install(&scheduler);
    options = options_with_topics();
    options.state_directory = dir.path();
    plan.kafka = &group;
    plan.transactional_id = "doppel-log";
    plan.index_log.name = "log";
  }
  ~StandbyOfTest() override { Clock::install(nullptr); }

  void join() {
    auto joined = Standby::join(options, plan, [this](const RestoreProgress& p) { said.push_back(p.phase); });
    ASSERT_TRUE(joined.ok()) << joined.status();
    standby = *std::move(joined);
    me = standby.member();
  }
  bool ours(const std::string& owner) {
    const absl::StatusOr<bool> answer = standby.ours(owner);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(false);
  }
  // How many milliseconds pass until it is our turn; -1: more than ten seconds.
  int64_t turn_after(const std::string& owner) {
    const int64_t start = scheduler.unix_ms();
    for (int look = 0; look < 50; ++look)
      if (ours(owner)) return scheduler.unix_ms() - start;
    return -1;
  }
  void sleep(int ms) { scheduler.sleep(std::chrono::milliseconds(ms)); }
  // What keep() warns of.
  std::string kept() {
    ::testing::internal::CaptureStderr();
    standby.keep();
    return ::testing::internal::GetCapturedStderr();
  }

  simulation::Scheduler scheduler{1};
  const TemporaryDirectory dir;
  Options options;
  GroupOfTest group{scheduler};
  KafkaPlan plan;
  Standby standby;
  std::string me;
  std::vector<std::string> said;  // the phases that were reported
};

const std::string kOwner = "host/1/2/abcd/doppel-owner", kReleased = "/" + kOwner;

TEST_F(StandbyOfTest, WithoutAGroupTheIndexIsOursAtOnce) {
  EXPECT_TRUE(ours(kOwner));
  EXPECT_FALSE(standby.stands_by());
  EXPECT_EQ(standby.member(), "");
  EXPECT_EQ(kept(), "");
  EXPECT_THAT(group.waits, IsEmpty());
}

TEST_F(StandbyOfTest, JoinsTheDaemonsOfTheIndex) {
  join();
  EXPECT_EQ(group.joined.group, "doppel-log-daemons");
  EXPECT_EQ(group.joined.member, *member_name(dir.path()));
  EXPECT_EQ(me, group.joined.member);
  EXPECT_THAT(group.joined.topics, ElementsAre("log"));
  EXPECT_THAT(group.joined.purpose, HasSubstr("kafka.takeover: standby"));
  EXPECT_TRUE(group.joined.may_be_silent);
  EXPECT_EQ(group.joined.session_timeout_ms, 10'000);
  EXPECT_THAT(group.waits, IsEmpty());           // it does not wait
  options.kafka.session_timeout_ms = 3'600'001;  // more than the client accepts
  join();
  EXPECT_EQ(group.joined.session_timeout_ms, 3'600'000);
}

TEST_F(StandbyOfTest, ErrorsAreHandedOn) {
  group.join_fails = absl::PermissionDeniedError("may not join");
  EXPECT_EQ(Standby::join(options, plan, {}).status(), group.join_fails);
  group.join_fails = absl::OkStatus();
  join();
  group.fails = absl::AlreadyExistsError("another process uses our name");
  EXPECT_EQ(standby.ours("").status(), group.fails);
  options.state_directory = dir / "missing";
  EXPECT_THAT(std::string(Standby::join(options, plan, {}).status().message()), HasSubstr("missing"));
}

TEST_F(StandbyOfTest, TheChosenOneServesAnIndexWithoutAnOwner) {
  group.chosen = true;
  group.alive = {"doppel-other"};
  for (const char* owner : {"", "rebuild/1/2", "host/1/2/abcd", "doppel", "doppel-other/1/2"}) {
    join();
    EXPECT_EQ(turn_after(owner), kLook) << owner;
    EXPECT_THAT(said, IsEmpty());  // it never stood by
    EXPECT_FALSE(standby.stands_by());
  }
  EXPECT_THAT(group.waits, Each(kLook));
}

TEST_F(StandbyOfTest, OneThatIsNotChosenStandsByAfterFourSeconds) {
  join();
  group.alive = {"doppel-other", me};
  for (int look = 1; look <= 21; ++look) {  // 4,000 ms after the first answer
    EXPECT_FALSE(ours(""));
    EXPECT_FALSE(standby.stands_by());
    EXPECT_THAT(said, IsEmpty());
  }
  ::testing::internal::CaptureStderr();
  for (size_t look = 1; look <= 3; ++look) {
    EXPECT_FALSE(ours(""));
    EXPECT_TRUE(standby.stands_by());
    EXPECT_THAT(said, SizeIs(look));
    EXPECT_THAT(said, Each(kStandingBy));
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("(kafka.takeover: standby) index_log=log takes_over_after_ms=10000"));
  group.chosen = true;
  EXPECT_TRUE(ours(""));
  EXPECT_FALSE(standby.stands_by());
  EXPECT_THAT(said, SizeIs(4));
  EXPECT_EQ(said.back(), "claiming the index log");
}

TEST_F(StandbyOfTest, OnceItIsOursItStaysOurs) {
  join();
  group.chosen = true;
  EXPECT_TRUE(ours(""));
  group.chosen = false;
  group.alive = {"doppel-owner"};
  EXPECT_TRUE(ours(kOwner));
  EXPECT_THAT(group.waits, SizeIs(1));
}

TEST_F(StandbyOfTest, ARestartOnTheSameDirectoryDoesNotWait) {
  join();
  group.alive = {me, "doppel-other"};
  EXPECT_FALSE(ours("host/1/2/abcd/" + me + "0"));
  EXPECT_TRUE(ours("host/1/2/abcd/" + me));
}

// It would publish something else when it takes over.
TEST_F(StandbyOfTest, OneWithOtherSettingsThanTheOwnerIsRefusedByName) {
  kafka::KafkaPosition at{.owner = kOwner, .owner_settings = standby_settings(options, plan)};
  const auto refused = [&](const std::function<void(Options&, KafkaPlan&)>& change) {
    Options other = options;
    KafkaPlan of_other = plan;
    change(other, of_other);
    absl::StatusOr<Standby> joined = Standby::join(other, of_other, [](const RestoreProgress&) {});
    EXPECT_TRUE(joined.ok()) << joined.status();
    const absl::Status status = joined->may_follow(at);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  group.alive = {"doppel-owner"};
  EXPECT_EQ(refused([](Options&, KafkaPlan&) {}), "");
  EXPECT_THAT(refused([](Options& o, KafkaPlan&) { o.output.topic = "elsewhere"; }),
              HasSubstr("output.topic=" + options.output.topic + " (here: elsewhere). A standby must"));
  EXPECT_THAT(refused([](Options& o, KafkaPlan&) { o.output.verdicts = Verdicts::all; }),
              HasSubstr("output.verdicts=duplicates (here: all)"));
  EXPECT_THAT(refused([](Options& o, KafkaPlan&) { o.input.best = "text_length"; }),
              HasSubstr("output.best= (here: text_length)"));
  EXPECT_THAT(refused([](Options& o, KafkaPlan&) { o.tombstones = Tombstones::key; }),
              HasSubstr("tombstones=ignore (here: key)"));
  EXPECT_THAT(refused([](Options& o, KafkaPlan&) { o.output.key = OutputKey::cluster_id; }),
              HasSubstr("output.key=input (here: cluster_id)"));
  const auto another_id = [](Options&, KafkaPlan& p) { p.transactional_id = "mine"; };
  EXPECT_THAT(refused(another_id),
              HasSubstr("kafka.transactional_id=doppel-log (here: mine). A standby must"));
  // An owner that is gone has been replaced on purpose. But its group is not ours if the id differs.
  group.alive = {};
  EXPECT_EQ(refused([](Options& o, KafkaPlan&) { o.output.topic = "elsewhere"; }), "");
  EXPECT_THAT(refused(another_id), HasSubstr("if none of them runs any more"));
  at.owner = kReleased;
  EXPECT_EQ(refused(another_id), "");
  at.owner = "host/1/2/abcd/" + *member_name(dir.path());  // a restart on the same directory
  EXPECT_EQ(refused(another_id), "");
  at.owner = "rebuild/1/2";
  EXPECT_EQ(refused(another_id), "");
}

TEST_F(StandbyOfTest, TheChosenOneWaitsForAnOwnerThatLives) {
  join();
  group.chosen = true;
  group.alive = {me, "doppel-owner"};
  const int64_t start = scheduler.unix_ms();
  for (int look = 1; look <= 5; ++look) EXPECT_FALSE(ours(kOwner));
  group.alive = {me};
  EXPECT_TRUE(ours(kOwner));
  // The members are asked once in a second.
  EXPECT_THAT(group.asked_members, ElementsAre(start + kLook, start + kLook + 1'000));
}

TEST_F(StandbyOfTest, AnOwnerThatLivedCountsAsAliveWhileTheMembersAreUnknown) {
  join();
  group.chosen = true;
  group.alive = {me, "doppel-owner"};
  EXPECT_FALSE(ours(kOwner));
  group.members_fail = absl::UnavailableError("no coordinator");
  sleep(5'000);
  EXPECT_FALSE(ours(kOwner));
  group.members_fail = absl::OkStatus();
  group.alive = {me};
  sleep(1'000);
  EXPECT_TRUE(ours(kOwner));
}

TEST_F(StandbyOfTest, AnOwnerThatLeftIsNoReasonForOneThatIsNotChosen) {
  join();
  group.alive = {me};
  EXPECT_EQ(turn_after(kOwner), -1);
}

TEST_F(StandbyOfTest, AfterAReleaseTheChosenOneGoesFirst) {
  join();
  group.chosen = true;
  group.alive = {"doppel-a", "doppel-b", "doppel-owner", me};
  EXPECT_EQ(turn_after(kReleased), kLook);
}

// Each of the others gets half a second, in the order of the group; the one that released needs none.
TEST_F(StandbyOfTest, AfterAReleaseTheOthersFollowOneAfterTheOther) {
  const auto turn = [&](const std::vector<std::string>& before, const std::vector<std::string>& after) {
    join();
    group.alive = before;
    group.alive.push_back(me);
    group.alive.insert(group.alive.end(), after.begin(), after.end());
    return turn_after(kReleased);
  };
  EXPECT_EQ(turn({}, {"doppel-a", "doppel-b"}), 200);
  EXPECT_EQ(turn({"doppel-owner"}, {"doppel-a"}), 200);
  EXPECT_EQ(turn({"doppel-a"}, {}), 800);  // the first look after 500 ms
  EXPECT_EQ(turn({"doppel-owner", "doppel-a"}, {}), 800);
  EXPECT_EQ(turn({"doppel-a", "doppel-b"}, {"doppel-c"}), 1'200);  // exactly after 1,000 ms
  EXPECT_EQ(turn({"doppel-a", "doppel-owner", "doppel-b", "doppel-c"}, {}), 1'800);
}

TEST_F(StandbyOfTest, AReleaseCountsTheMembersOfNow) {
  join();
  group.chosen = true;
  group.alive = {"doppel-owner", me};
  EXPECT_FALSE(ours(kOwner));  // knows the members
  group.chosen = false;
  group.alive = {"doppel-owner", "doppel-a", me};
  EXPECT_FALSE(ours(kReleased));
  EXPECT_THAT(group.asked_members, SizeIs(2));
}

TEST_F(StandbyOfTest, EachReleaseBeginsTheWaitAgain) {
  join();
  group.alive = {"doppel-a", me};
  EXPECT_FALSE(ours(kReleased));
  EXPECT_FALSE(ours("host/1/2/ef/doppel-a"));  // it took its turn
  sleep(600);
  EXPECT_FALSE(ours("/host/1/2/ef/doppel-b"));  // this one wrote and ended meanwhile
  EXPECT_FALSE(ours("/host/1/2/ef/doppel-b"));
  EXPECT_FALSE(ours("/host/1/2/ef/doppel-b"));
  EXPECT_TRUE(ours("/host/1/2/ef/doppel-b"));
}

TEST_F(StandbyOfTest, TheOneThatServesStaysInTheGroupWithoutWaiting) {
  join();
  group.chosen = true;
  EXPECT_TRUE(ours(""));
  group.waits.clear();
  EXPECT_EQ(kept(), "");
  EXPECT_THAT(group.waits, ElementsAre(0));
}

TEST_F(StandbyOfTest, ALostPlaceInTheGroupIsSaidOnce) {
  join();
  group.chosen = true;
  EXPECT_TRUE(ours(""));
  EXPECT_EQ(kept(), "");
  for (int times = 0; times < 2; ++times) {
    group.chosen = false;
    EXPECT_THAT(kept(), HasSubstr("another one may take over group=doppel-log-daemons"));
    EXPECT_EQ(kept(), "");
    group.chosen = true;
    EXPECT_EQ(kept(), "");
  }
  group.fails = absl::UnavailableError("the session has expired");
  EXPECT_THAT(kept(), HasSubstr("the session has expired"));
}

// It claimed after a release, before the coordinator chose it.
TEST_F(StandbyOfTest, AnOwnerThatIsNotChosenYetHasNothingToLose) {
  join();
  group.alive = {me};
  EXPECT_TRUE(ours(kReleased));
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(kept(), "");
  group.chosen = true;
  EXPECT_EQ(kept(), "");
  group.chosen = false;
  EXPECT_THAT(kept(), HasSubstr("another one may take over"));
}

TEST(MemberNameOfTest, StaysWithItsDirectoryAndNotWithACopy) {
  const TemporaryDirectory dir;
  const std::string a = dir / "a", b = dir / "b", file = a + "/member";
  std::filesystem::create_directory(a);
  const std::string name = *member_name(a);
  EXPECT_THAT(name, MatchesRegex("doppel-[0-9a-f]{16}"));
  EXPECT_EQ(*member_name(a), name);
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  std::filesystem::copy(a, b);
  const std::string other = *member_name(b);
  EXPECT_NE(other, name);
  EXPECT_EQ(*member_name(b), other);
  std::filesystem::rename(a, a + "-moved");
  EXPECT_EQ(*member_name(a + "-moved"), name);
}

TEST(MemberNameOfTest, ADamagedFileIsWrittenAgain) {
  const TemporaryDirectory dir;
  ASSERT_TRUE(member_name(dir.path()).ok());
  for (const char* text : {"", "doppel-0", "doppel-0 1"}) {
    std::ofstream(dir / "member") << text;
    const std::string name = *member_name(dir.path());
    EXPECT_THAT(name, MatchesRegex("doppel-[0-9a-f]{16}"));
    EXPECT_EQ(*member_name(dir.path()), name);
  }
  const absl::Status missing = member_name(dir / "missing").status();
  EXPECT_THAT(std::string(missing.message()), HasSubstr("missing/member.new"));
}

}  // namespace
}  // namespace doppel::kafka_test
