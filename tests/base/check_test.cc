// The effects of a broken invariant on a process: tests it in child processes, by message, exit code and
// files.
#include "base/check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Ended {
  int code = -1;
  std::string err;
};

// Runs `child` in a process of its own, and returns its stderr.
Ended run(const std::function<void()>& child) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    child();
    std::exit(0);
  }
  ::close(ends[1]);
  Ended out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR);)
    out.err.append(buffer.data(), n > 0 ? static_cast<size_t>(n) : 0);
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  return out;
}

std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(Check, WhatHoldsEvaluatesNoValue) {
  int evaluated = 0;
  DOPPEL_CHECK(evaluated == 0, "nothing was evaluated", ++evaluated);
  DOPPEL_CHECK(true, "without values");
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, TheMessageSaysWhatWhereAndWhatToSend) {
  const int64_t left = -7;
  const uint64_t right = 18446744073709551615u;
  const std::string_view name = "a\nb";
  const int line = __LINE__ + 1;
  const Ended ended = run([&] { DOPPEL_CHECK(left > 0, "left is above zero", left, right, name, true); });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  EXPECT_EQ(kBrokenExitCode, 70);
  EXPECT_THAT(ended.err, StartsWith("doppel: broken invariant: left is above zero\n  at "));
  EXPECT_THAT(ended.err, HasSubstr("check_test.cc:" + std::to_string(line) + " "));
  EXPECT_THAT(ended.err, HasSubstr("(left > 0), doppel 0."));
  EXPECT_THAT(ended.err, HasSubstr("left, right, name, true = -7, 18446744073709551615, a?b, 1\n"));
  EXPECT_THAT(ended.err, HasSubstr("Exit code 70"));
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("report it"), HasSubstr("never send hash.key"), HasSubstr("docs/runbook.md")));
  EXPECT_THAT(ended.err, Not(HasSubstr("the next start")));
  EXPECT_THAT(ended.err, EndsWith("\n"));
}

TEST(CheckDeathTest, JsonIsOneLine) {
  const Ended ended = run([] {
    log::configure(log::Form::json, log::Level::error);
    const std::string_view quoted = "a \"b\\\n";
    DOPPEL_CHECK(quoted == "x", "no text \"is\" quoted", quoted);
  });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  EXPECT_THAT(ended.err, StartsWith("{\"time\":\"2"));
  EXPECT_THAT(ended.err,
              HasSubstr(R"("level":"error","message":"broken invariant: no text 'is' quoted","where":")"));
  EXPECT_THAT(ended.err,
              HasSubstr(R"("condition":"quoted == 'x'","values":"quoted = a 'b/?","version":"0.)"));
  EXPECT_THAT(ended.err, HasSubstr(R"("marked":"","exit_code":70,"help":")"));
  EXPECT_THAT(ended.err, EndsWith("\"}\n"));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
}

TEST(CheckDeathTest, NothingIsWrittenAfterIt) {
  const TemporaryDirectory dir;
  static std::string path;  // for the handler
  path = dir.path() + "/";
  struct Writes {
    ~Writes() { std::ofstream(path + "destructor") << 1; }
  };
  static std::FILE* buffered = nullptr;
  const Ended ended = run([] {
    buffered = std::fopen((path + "buffered").c_str(), "w");
    (void)std::fputs("not flushed", buffered);
    std::atexit([] { std::ofstream(path + "atexit") << 1; });
    const Writes writes;
    DOPPEL_CHECK(buffered == nullptr, "nothing is open");
  });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  EXPECT_FALSE(std::filesystem::exists(path + "destructor"));
  EXPECT_FALSE(std::filesystem::exists(path + "atexit"));
  EXPECT_EQ(read_file(path + "buffered"), "");
}

TEST(CheckDeathTest, LeavesMarksWhileTheyLive) {
  const TemporaryDirectory dir;
  const std::string mark = dir.path() + "/DAMAGED";
  const std::string other = dir.path() + "/other";
  const Ended ended = run([&] {
    {
      const MarkIfBroken gone(other);
    }
    const MarkIfBroken lives(mark);
    const MarkIfBroken nowhere(dir.path() + "/no/such/directory");
    const int two = 2;
    DOPPEL_CHECK(two == 1, "two is one", two);
  });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_THAT(ended.err, HasSubstr("the next start verifies everything: " + mark + "\n"));
  const std::string reason = read_file(mark);
  EXPECT_THAT(reason, StartsWith("an invariant was broken: two is one ("));
  EXPECT_THAT(reason, HasSubstr("check_test.cc:"));
  EXPECT_THAT(reason, HasSubstr("; two = 2; doppel 0."));
  EXPECT_EQ(std::count(reason.begin(), reason.end(), '\n'), 1);
}

TEST(CheckDeathTest, MoreMarksThanThereIsRoomForDoNoHarm) {
  const TemporaryDirectory dir;
  const Ended ended = run([&] {
    std::vector<std::unique_ptr<MarkIfBroken>> marks;
    for (int i = 0; i < 20; ++i)
      marks.push_back(std::make_unique<MarkIfBroken>(dir.path() + "/" + std::to_string(i)));
    const MarkIfBroken too_long(dir.path() + "/" + std::string(1000, 'x'));
    marks.erase(marks.begin());
    const MarkIfBroken room_again(dir.path() + "/again");
    DOPPEL_CHECK(marks.empty(), "there are no marks", marks.size());
  });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  for (const auto& [name, left] :
       {std::pair("0", false), {"1", true}, {"7", true}, {"8", false}, {"again", true}})
    EXPECT_EQ(std::filesystem::exists(dir.path() + "/" + name), left) << name;
}

TEST(CheckDeathTest, ThreadsThatBreakTogetherGiveOneMessage) {
  const Ended ended = run([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([i] { DOPPEL_CHECK(i < 0, "the number is negative", i); });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(ended.code, kBrokenExitCode);
  const std::string_view what = "broken invariant";
  const size_t first = ended.err.find(what);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(ended.err.find(what, first + 1), std::string::npos) << ended.err;
}

// A log without a reader must not keep a broken process alive.
TEST(CheckDeathTest, EndsThoughNobodyReadsItsMessage) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (::write(ends[1], "x", 1) == 1) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    DOPPEL_CHECK(pid != 0, "this is the parent", pid);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kBrokenExitCode) << status;
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace doppel
