// Processes that die, disks that fill up.

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "support.h"

namespace doppel::state_test {
namespace {

// A child commits endlessly and reports each commit. It is killed some time after the n-th.
TEST(Crash, Kill) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const TempDir dir;
  Writer writer(seed);
  for (int round = 0; round < 60; ++round) {
    const Fsync fsync = round % 20 == 0 ? Fsync::commit : Fsync::none;
    const uint64_t checkpoint_documents = 1 + random() % 60;
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto state = StateDir::open(options_of(dir.path(), fsync, checkpoint_documents), {});
      if (!state.ok()) ::_exit(1);
      while (writer.commit(**state).ok()) {
        if (::write(fds[1], "c", 1) != 1) ::_exit(2);
      }
      ::_exit(3);
    }
    ::close(fds[1]);
    size_t said = 0;
    char c = 0;
    for (auto wanted = random() % 12; said < wanted && ::read(fds[0], &c, 1) == 1;) ++said;
    for (volatile auto spin = random() % 100'000; spin > 0;)
      spin = spin - 1;  // somewhere within the next commit
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    while (::read(fds[0], &c, 1) == 1) ++said;
    ::close(fds[0]);

    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE((*state)->recovered().notes.size() <= 1);  // a torn record at most
    const size_t before = writer.models().size() - 1;
    for (size_t i = 0; i <= said; ++i) writer.plan();  // one more commit may be done than was reported
    const int shown = matching(**state, writer);
    EXPECT_GE(shown, static_cast<int>(before + said));
    ASSERT_GE(shown, 0);
    writer.back_to(static_cast<size_t>(shown));
  }
}

// `limit` makes writes fail somewhere, `repair` removes the limit. Afterwards the directory shows some
// commit, and continues.
void fill_up(const std::string& path, uint64_t checkpoint_documents, const std::function<void()>& limit,
             const std::function<void()>& repair, const std::string& reason) {
  Writer writer(5);
  {
    auto state = StateDir::open(options_of(path, Fsync::none, checkpoint_documents), {});
    ASSERT_TRUE(state.ok()) << state.status();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.commit(**state).ok());
    limit();
    absl::Status status;
    while (status.ok()) status = writer.commit(**state);
    const std::string message(status.message());
    EXPECT_THAT(message, testing::HasSubstr(path + "/"));
    EXPECT_THAT(message, testing::HasSubstr("offset"));
    EXPECT_THAT(message, testing::HasSubstr(reason));
    EXPECT_THAT(std::string((*state)->commit({}).message()), testing::HasSubstr("an earlier write failed"));
    EXPECT_FALSE((*state)->checkpoint().ok());
  }
  repair();
  const int tried = static_cast<int>(writer.models().size()) - 1;
  auto state = StateDir::open(options_of(path), {});
  ASSERT_TRUE(state.ok()) << state.status();
  const int shown = matching(**state, writer);
  EXPECT_GE(shown, tried - 1);  // the failed one may have been a checkpoint after its commit
  writer.back_to(static_cast<size_t>(shown));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.commit(**state).ok());
  state->reset();
  state = StateDir::open(options_of(path), {});
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(matching(**state, writer), shown + 20);
}

TEST(Crash, FileSizeLimit) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  for (const rlim_t bytes : {12'345u, 16'000u, 23'456u}) {
    const TempDir dir;
    fill_up(
        dir.path(), 500,
        [&] {
          const rlimit small{.rlim_cur = bytes, .rlim_max = old.rlim_max};
          ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        },
        [&] { ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0); }, "File too large");
  }
  std::signal(SIGXFSZ, before);
}

TEST(Crash, FullDisk) {
  const TempDir dir;
  if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "mounting a small file system needs root";
  }
  struct Unmount {
    const std::string& path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } const unmount{dir.path()};
  const std::string path = dir.file("state");
  const std::string ballast = dir.file("ballast");
  // No checkpoints: they free the space of expired originals, and the disk would never be full.
  fill_up(
      path, 1'000'000, [&] { write_file(ballast, std::string(128 << 10, 'b')); },
      [&] { std::filesystem::remove(ballast); }, "No space left");
}

}  // namespace
}  // namespace doppel::state_test
