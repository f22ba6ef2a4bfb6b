#include "state/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "state/lock.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
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
