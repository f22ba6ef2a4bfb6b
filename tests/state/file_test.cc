#include "state/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include "state/state_dir.h"
#include "temporary_directory.h"

namespace {

// While it is not 0, calls of this thread move at most so many bytes, and a signal interrupts every other
// call.
thread_local size_t most_bytes = 0;
thread_local bool interrupted = false;
thread_local int interrupted_locks = 0;  // so many calls of flock() are interrupted
// What link() fails with; 0: it works. `before_link` runs first.
thread_local int link_error = 0;
thread_local std::function<void(const char*)> before_link;

template <typename Bytes>
ssize_t in_part(long call, int fd, Bytes* bytes, size_t size, off_t offset) {
  if (most_bytes != 0) {
    interrupted = !interrupted;
    if (interrupted) {
      errno = EINTR;
      return -1;
    }
    size = std::min(size, most_bytes);
  }
  return ::syscall(call, fd, bytes, size, offset);
}

}  // namespace

// This program's own, in place of the library's.
extern "C" ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return in_part(SYS_pread64, fd, bytes, size, offset);
}
extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return in_part(SYS_pwrite64, fd, bytes, size, offset);
}
extern "C" int lock_file(int fd, int how) noexcept __asm__("flock");  // there is a struct of that name
extern "C" int lock_file(int fd, int how) noexcept {
  if (interrupted_locks > 0) {
    --interrupted_locks;
    errno = EINTR;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, fd, how));
}
extern "C" int link(const char* from, const char* to) noexcept {
  if (before_link) before_link(to);
  if (link_error != 0) {
    errno = link_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace doppel {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// The system may move fewer bytes than asked for, and a signal may interrupt it.
TEST(File, ReadsAndWritesAllBytesInParts) {
  const TemporaryDirectory dir;
  const absl::StatusOr<File> file = File::open(dir / "a", O_RDWR | O_CREAT);
  ASSERT_TRUE(file.ok());
  const std::string text = "all of these bytes, in parts";
  for (most_bytes = 1; most_bytes <= text.size(); ++most_bytes) {
    const uint64_t at = 100 * most_bytes;
    std::string read(text.size(), '-');
    EXPECT_TRUE(file->write_at(at, text).ok());
    EXPECT_TRUE(file->read_at(at, read.data(), read.size()).ok());
    EXPECT_EQ(read, text) << most_bytes;
  }
  std::string read(text.size() + 1, '-');
  const absl::Status cut = file->read_at(2800, read.data(), read.size());
  EXPECT_TRUE(absl::IsDataLoss(cut));
  EXPECT_EQ(std::string(cut.message()),
            (dir / "a") + ": ends at offset 2828, 29 bytes were expected at offset 2800");
  most_bytes = 0;
}

TEST(File, WritesDurablyWholeOrNotAtAll) {
  const TemporaryDirectory dir;
  const std::string path = dir / "a";
  ASSERT_TRUE(write_durably(path, "a long first text").ok());
  ASSERT_TRUE(write_durably(path, "second").ok());
  EXPECT_EQ(text_of(path), "second");
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // If the file cannot be replaced, it stays, and no temporary file is left.
  std::filesystem::create_directories(dir / "b/full");
  EXPECT_FALSE(write_durably(dir / "b", "text").ok());
  EXPECT_FALSE(exists(dir / "b.tmp"));
  EXPECT_TRUE(exists(dir / "b/full"));
  EXPECT_FALSE(write_durably(dir / "none/a", "text").ok());
}

// A file system may have no hard links.
TEST(HashKeyFile, IsMadeWithoutHardLinks) {
  const TemporaryDirectory dir;
  bool made = false;
  link_error = EPERM;
  const absl::StatusOr<HashKey> key = hash_key_of(dir.path(), &made);
  link_error = 0;
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_TRUE(made);
  EXPECT_EQ(text_of(dir / "hash.key"), fmt::format("{:016x}{:016x}\n", key->high, key->low));
  const std::filesystem::directory_iterator files(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(HashKeyFile, IsTheOneThatAnotherProcessMadeFirst) {
  const TemporaryDirectory dir;
  const std::string other = "000102030405060708090a0b0c0d0e0f\n";
  before_link = [&](const char* to) { std::ofstream(to) << other; };
  bool made = true;
  const absl::StatusOr<HashKey> key = hash_key_of(dir.path(), &made);
  before_link = nullptr;
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_FALSE(made);
  EXPECT_EQ(key->low, 0x08090a0b0c0d0e0fu);
  EXPECT_EQ(text_of(dir / "hash.key"), other);
}

TEST(Lock, IsTakenAlthoughASignalInterruptsIt) {
  const TemporaryDirectory dir;
  const absl::StatusOr<File> held = lock_directory(dir.path());
  ASSERT_TRUE(held.ok());
  interrupted_locks = 3;
  EXPECT_TRUE(absl::IsUnavailable(lock_directory(dir.path()).status()));
  EXPECT_EQ(interrupted_locks, 0);
}

TEST(Lock, IsAskedForWithoutMakingIt) {
  const TemporaryDirectory dir;
  EXPECT_FALSE(directory_in_use(dir.path()));
  EXPECT_FALSE(exists(dir / "LOCK"));
  {
    const absl::StatusOr<File> lock = lock_directory(dir.path());
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(directory_in_use(dir.path()));
  }
  EXPECT_FALSE(directory_in_use(dir.path()));
}

// A process that was just killed holds the lock until the system has ended it.
TEST(Lock, WaitsForAHolderThatEnds) {
  const TemporaryDirectory dir;
  absl::StatusOr<File> held = lock_directory(dir.path());
  ASSERT_TRUE(held.ok());
  std::thread ends([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    held = File();
  });
  const absl::Status after = lock_directory(dir.path()).status();
  ends.join();
  EXPECT_TRUE(after.ok()) << after;
}

TEST(Lock, NamesAHolderThatStays) {
  const TemporaryDirectory dir;
  const absl::StatusOr<File> held = lock_directory(dir.path());
  ASSERT_TRUE(held.ok());
  const absl::Status second = lock_directory(dir.path()).status();
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_NE(second.message().find(std::to_string(::getpid())), std::string::npos) << second;
}

}  // namespace
}  // namespace doppel
