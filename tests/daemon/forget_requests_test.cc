// Requests that are left as files: also by root, unreadable ones, and ones that cannot be removed.
#include "daemon/requests.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "state/file.h"
#include "status/small_stream.h"
#include "temporary_directory.h"

namespace doppel::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// Root may write anywhere. As root, the test therefore runs the daemon as another user, as in an
// installation.
class AsTheDaemonsUser {
 public:
  AsTheDaemonsUser() {
    if (root_) {
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  ~AsTheDaemonsUser() {
    if (root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  const bool root_ = ::geteuid() == 0;
};

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

struct ForgetRequestsTest : ::testing::Test {
  ForgetRequestsTest() {
    if (::geteuid() == 0) {
      EXPECT_EQ(::chown(dir.path().c_str(), kNobody, kNobody), 0);
    }
  }
  std::string file(const std::string& name, const std::string& ending) const {
    return dir / ("requests/" + name + ending);
  }
  std::string leave(const std::string& line) const {
    const absl::StatusOr<std::string> name = leave_request(dir.path(), line);
    EXPECT_TRUE(name.ok()) << name.status();
    return name.value_or("");
  }
  bool turn() {
    requests->look();
    const bool removed = stream.turn(*forgetting);
    requests->answer();
    return removed;
  }
  void restart() {
    requests.reset();
    forgetting.emplace(stream.kept, stream.bodies);
    requests.emplace(dir.path(), *forgetting);
  }
  uint64_t run(const std::string& name) {
    for (;;) {
      turn();
      if (const auto answer = take_answer(dir.path(), name)) return *answer;
    }
  }
  // Long enough to look for files several times.
  void turn_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) turn();
  }

  TemporaryDirectory dir;
  SmallStream stream;
  std::optional<Forgetting> forgetting{std::in_place, stream.kept, stream.bodies};
  std::optional<ForgetRequests> requests{std::in_place, dir.path(), *forgetting};
};

TEST_F(ForgetRequestsTest, RootLeavesWhatTheDaemonsUserCanRemove) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can leave a request for another user";
  stream.insert(3, "one");
  const std::string name = leave("id=d1");
  for (const std::string& path : {dir / "requests", file(name, ".request")}) {
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kNobody) << path;
    EXPECT_EQ(info.st_gid, kNobody) << path;
    EXPECT_EQ(info.st_mode & 077, 0u) << path;
  }
  EXPECT_FALSE(directory_in_use(dir.path()));
  EXPECT_FALSE(fs::exists(dir / "LOCK"));  // it would be root's, and no daemon could start
  const AsTheDaemonsUser user;
  EXPECT_EQ(run(name), 1u);
  EXPECT_TRUE(fs::is_empty(dir / "requests"));
}

// As older versions left them: the daemon may read the file, but neither remove it nor write next to it.
TEST_F(ForgetRequestsTest, WhatCannotBeRemovedIsCarriedOutOnce) {
  stream.insert(3, "one");
  const std::string name = leave("tag=crawl=one");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((dir / "requests").c_str(), 0, 0), 0);
    ASSERT_EQ(::chmod((dir / "requests").c_str(), 0755), 0);
  } else {
    ASSERT_EQ(::chmod((dir / "requests").c_str(), 0555), 0);
  }
  ::testing::internal::CaptureStderr();
  {
    const AsTheDaemonsUser user;
    while (!turn()) continue;
    stream.insert(2, "one");
    turn_for(std::chrono::milliseconds(1'500));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(stream.removed.size(), 3u);
  EXPECT_EQ(count(log, "cannot answer and remove it"), 1u) << log;
  EXPECT_THAT(log, HasSubstr(file(name, ".request")));
  // A person follows the advice.
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((dir / "requests").c_str(), kNobody, kNobody), 0);
  } else {
    ASSERT_EQ(::chmod((dir / "requests").c_str(), 0755), 0);
  }
  {
    const AsTheDaemonsUser user;
    EXPECT_EQ(run(name), 3u);
    EXPECT_FALSE(fs::exists(file(name, ".request")));
  }
  EXPECT_EQ(stream.removed.size(), 3u);
}

TEST_F(ForgetRequestsTest, WhatIsNoRequestIsSaidOnce) {
  stream.insert(3, "one");
  leave("id=unknown");  // makes the directory
  std::ofstream(file("1", ".request")) << "url=http://a.example/\n";
  std::ofstream(file("2", ".request")) << "";
  fs::create_directory(file("3", ".request"));
  ASSERT_EQ(::mkfifo(file("4", ".request").c_str(), 0600), 0);
  if (::geteuid() == 0) {
    for (const char* name : {"1", "2"})
      ASSERT_EQ(::chown(file(name, ".request").c_str(), kNobody, kNobody), 0);
  }
  ::testing::internal::CaptureStderr();
  turn_for(std::chrono::milliseconds(900));
  const std::string log = ::testing::internal::GetCapturedStderr();
  for (const char* name : {"1", "2", "3", "4"}) EXPECT_EQ(count(log, file(name, ".request: ")), 1u) << log;
  EXPECT_TRUE(stream.removed.empty());
  std::ofstream(file("1", ".request")) << "id=d1\n";
  EXPECT_EQ(run("1"), 1u);
  EXPECT_FALSE(leave_request(dir.path(), "id=a\nb").ok());
  EXPECT_FALSE(leave_request(dir.path(), "url=a").ok());
}

TEST_F(ForgetRequestsTest, GoesOnAfterACrashAndAnswersForAllOfIt) {
  stream.insert(12'000, "one");
  const std::string name = leave("tag=crawl=one");
  while (!turn()) continue;
  ASSERT_EQ(stream.removed.size(), 5'000u);
  const std::optional<RequestProgress> progress = request_progress(dir.path(), name);
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->stage, "removing");
  EXPECT_EQ(progress->found, 12'000u);
  restart();
  stream.insert(1, "one");
  // Killed again before it removes more: the result of the first run stays known.
  turn_for(std::chrono::milliseconds(1));
  restart();
  EXPECT_EQ(run(name), 12'000u);
  EXPECT_EQ(stream.removed.size(), 12'000u);
  EXPECT_TRUE(stream.engine.originals().live(12'000));
  EXPECT_TRUE(fs::is_empty(dir / "requests"));
}

TEST_F(ForgetRequestsTest, OneThatExpiredIsNotBegun) {
  stream.insert(3, "one");
  const std::string late = leave_request(dir.path(), "id=d1", Clock::unix_ms() - 1).value();
  const std::string in_time = leave_request(dir.path(), "id=d2", Clock::unix_ms() + 3'600'000).value();
  EXPECT_THAT(requests_in(dir.path()), ::testing::SizeIs(2));
  EXPECT_EQ(requests_in(dir.path())[0].command(), "doppel forget --id d1");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(in_time), 1u);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("a request has expired"));
  EXPECT_EQ(stream.removed.size(), 1u);
  EXPECT_FALSE(take_answer(dir.path(), late).has_value());
  EXPECT_TRUE(requests_in(dir.path()).empty());
}

// The removal of the first part is published.
TEST_F(ForgetRequestsTest, OneThatHasBegunDoesNotExpire) {
  stream.insert(12'000, "one");
  const std::string name = leave_request(dir.path(), "tag=crawl=one", Clock::unix_ms() + 3'600'000).value();
  while (!turn()) continue;
  EXPECT_EQ(requests_in(dir.path()).at(0).stage, "removing");
  EXPECT_TRUE(absl::IsFailedPrecondition(cancel_request(dir.path(), name)));
  std::ofstream(file(name, ".request")) << "tag=crawl=one\nexpires 1\n";
  restart();
  EXPECT_EQ(run(name), 12'000u);
}

TEST_F(ForgetRequestsTest, OneThatIsCancelledIsNotBegun) {
  stream.insert(3, "one");
  const std::string name = leave("id=d1");
  EXPECT_TRUE(cancel_request(dir.path(), name).ok());
  EXPECT_TRUE(absl::IsNotFound(cancel_request(dir.path(), name)));
  turn_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(stream.removed.empty());
}

TEST(OffsetRequestFiles, ThoseThatExpiredAreRefused) {
  const TemporaryDirectory dir;
  OffsetRequests requests(dir.path());
  const std::string late = leave_offsets_request(dir.path(), "set a/0=1", Clock::unix_ms() - 1).value();
  const std::string in_time = leave_offsets_request(dir.path(), "set a/0=2").value();
  std::vector<std::string> carried_out;
  ASSERT_TRUE(requests
                  .carry_out([&](const std::string& line) {
                    carried_out.push_back(line);
                    return absl::StatusOr<std::string>("done\n");
                  })
                  .ok());
  EXPECT_THAT(carried_out, ::testing::ElementsAre("set a/0=2"));
  EXPECT_THAT(take_offsets_answer(dir.path(), late).value_or(""),
              HasSubstr("refused: the request has expired"));
  EXPECT_EQ(take_offsets_answer(dir.path(), in_time), "done\n");
  EXPECT_TRUE(requests_in(dir.path()).empty());
}

TEST_F(ForgetRequestsTest, ManyAreOneSearch) {
  stream.insert(3'000, "one");
  std::vector<std::string> names;
  for (int i = 0; i < 105; ++i) names.push_back(leave("id=d" + std::to_string(i)));
  for (const std::string& name : names) EXPECT_EQ(run(name), 1u);
  EXPECT_LE(stream.bodies.reads(), 2 * 3'000u);  // more than one search takes
  EXPECT_EQ(stream.removed.size(), 105u);
}

}  // namespace
}  // namespace doppel::testing
