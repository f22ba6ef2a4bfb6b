// What outputs write, what a restart cuts, and the messages about a full disk.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "base/status.h"
#include "files/output_file.h"
#include "files_testing.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::unique_ptr<OutputFile> must(absl::StatusOr<std::unique_ptr<OutputFile>> file) {
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? *std::move(file) : nullptr;
}

TEST(Output, WhatWasFlushedIsThereAndNothingElse) {
  TemporaryDirectory d;
  write_file(d / "out", "old content that is longer");
  auto out = must(OutputFile::open(d / "out"));
  out->append("one\n");
  EXPECT_EQ(out->length(), 4u);
  EXPECT_EQ(read_back(d / "out"), "");
  EXPECT_TRUE(out->flush().ok());
  out->append("two\n");
  EXPECT_TRUE(out->sync().ok());
  out->append("lost");
  EXPECT_EQ(out->length(), 12u);
  EXPECT_EQ(out->path(), d / "out");
  out.reset();
  EXPECT_EQ(read_back(d / "out"), "one\ntwo\n");
}

TEST(Output, ResumeCutsAndContinues) {
  TemporaryDirectory d;
  write_file(d / "out", "one\ntwo\nthr");
  auto out = must(OutputFile::resume(d / "out", 4));
  EXPECT_EQ(out->length(), 4u);
  out->append("2\n");
  EXPECT_TRUE(out->sync().ok());
  EXPECT_EQ(out->length(), 6u);
  EXPECT_EQ(read_back(d / "out"), "one\n2\n");
  must(OutputFile::resume(d / "new", 0));
  EXPECT_EQ(read_back(d / "new"), "");
  must(OutputFile::resume(d / "out", 6));
  EXPECT_EQ(read_back(d / "out"), "one\n2\n");
}

TEST(Output, ErrorsNameTheFile) {
  TemporaryDirectory d;
  write_file(d / "short", "123");
  EXPECT_THAT(OutputFile::resume(d / "short", 5).status().ToString(),
              HasSubstr(d / "short" + ": the file has 3 bytes, but 5 were committed"));
  EXPECT_EQ(read_back(d / "short"), "123");
  EXPECT_THAT(OutputFile::resume(d / "none", 5).status().ToString(),
              HasSubstr("none: the file is missing, but 5 bytes of it were committed"));
  EXPECT_FALSE(std::filesystem::exists(d / "none"));
  for (bool resume : {false, true}) {
    std::string path = d / "no/such/out";
    auto out = resume ? OutputFile::resume(path, 0) : OutputFile::open(path);
    EXPECT_THAT(out.status().ToString(),
                HasSubstr(path + ": the directory " + d.path() + "/no/such does not exist"));
  }
  EXPECT_THAT(OutputFile::open(d.path()).status().ToString(), HasSubstr(d.path() + ": Is a directory"));
}

TEST(Output, AFullDevice) {
  auto out = must(OutputFile::open("/dev/full"));
  out->append("x");
  EXPECT_THAT(out->flush().ToString(),
              HasSubstr("/dev/full: cannot write at byte 0: No space left on device"));
  EXPECT_EQ(out->length(), 1u);
}

// Half of a write succeeds. When there is room, only the rest is written.
TEST(Output, AFileSizeLimitInTheMiddle) {
  TemporaryDirectory d;
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto out = OutputFile::open(d / "out");
    (*out)->append(std::string(9'000, 'a'));
    if (!(*out)->flush().ok()) ::_exit(1);
    (*out)->append(std::string(3'000, 'b'));
    std::string message((*out)->flush().ToString());
    if (message.find(d / "out" + ": cannot write at byte 10000: File too large") == std::string::npos)
      ::_exit(2);
    if ((*out)->length() != 12'000) ::_exit(3);
    limit.rlim_cur = 20'000;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit((*out)->sync().ok() ? 0 : 4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_back(d / "out"), std::string(9'000, 'a') + std::string(3'000, 'b'));
}

// A reader that reads little at a time, with signals in between: short writes and EINTR.
TEST(Output, ASlowPipeAndSignals) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  ::sigaction(SIGUSR1, &action, &before);
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    uint64_t sum = 0;
    char piece[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;) {
      for (ssize_t i = 0; i < n; ++i) sum = sum * 31 + static_cast<unsigned char>(piece[i]);
      ::kill(parent, SIGUSR1);
    }
    ::_exit(static_cast<int>(sum % 251));
  }
  ::close(ends[0]);
  std::string bytes;
  for (int i = 0; bytes.size() < 1'000'000; ++i) bytes += std::to_string(i * 7919);
  uint64_t sum = 0;
  for (char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  {
    auto out = must(OutputFile::open("/dev/fd/" + std::to_string(ends[1])));
    ::close(ends[1]);
    out->append(bytes);
    EXPECT_TRUE(out->sync().ok());
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(sum % 251));
}

TEST(Output, ABrokenPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto before = ::signal(SIGPIPE, SIG_IGN);
  auto out = must(OutputFile::resume("/dev/fd/" + std::to_string(ends[1]), 0));
  ::close(ends[0]);
  ::close(ends[1]);
  out->append("x");
  EXPECT_THAT(out->flush().ToString(), HasSubstr("cannot write at byte 0: Broken pipe"));
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace doppel
