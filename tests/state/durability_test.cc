// What is synced before what, so that a loss of power never costs what a commit or a checkpoint promised.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "support.h"

namespace {

// The files that were synced while a test listens, and which file the journal was then, and how long.
struct Synced {
  std::string name;
  uint64_t journal_inode = 0, journal_bytes = 0;
};
std::vector<Synced>* listener = nullptr;
std::string journal_path;

void tell(int fd) {
  if (listener == nullptr) return;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
  struct stat info = {};
  if (::stat(journal_path.c_str(), &info) != 0) info = {};
  listener->push_back({path.filename(), info.st_ino, static_cast<uint64_t>(info.st_size)});
}

}  // namespace

// This program's own, in place of the library's.
extern "C" int fdatasync(int fd) {
  tell(fd);
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
extern "C" int fsync(int fd) {
  tell(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace doppel {
namespace {

using state_test::options_of;
using state_test::TempDir;
using state_test::Writer;

class Durability : public testing::Test {
 protected:
  ~Durability() override { listener = nullptr; }

  std::unique_ptr<StateDir> open(Fsync fsync) {
    StateOptions options = options_of(dir_.path(), fsync);
    options.sync_on = std::launch::deferred;  // on this thread
    auto state = StateDir::open(options, {});
    EXPECT_TRUE(state.ok()) << state.status();
    journal_path = dir_.file("journal");
    listener = &synced_;
    return *std::move(state);
  }

  // Returns what was synced for a commit.
  std::vector<Synced> of_commit(StateDir& state) {
    synced_.clear();
    EXPECT_TRUE(writer_.commit(state).ok());
    return synced_;
  }
  static uint64_t journal_bytes() { return std::filesystem::file_size(journal_path); }
  static uint64_t journal_inode() {
    struct stat info = {};
    EXPECT_EQ(::stat(journal_path.c_str(), &info), 0);
    return info.st_ino;
  }

  const TempDir dir_;
  Writer writer_{7};
  std::vector<Synced> synced_;
};

TEST_F(Durability, ACommitIsSyncedAfterWhatItCounts) {
  const auto state = open(Fsync::commit);
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = journal_bytes();
    const std::vector<Synced> synced = of_commit(*state);
    ASSERT_EQ(synced.size(), 3U);
    EXPECT_EQ(synced[0].name + " " + synced[1].name + " " + synced[2].name, "bodies hot journal");
    EXPECT_EQ(synced[0].journal_bytes, before);
    EXPECT_EQ(synced[1].journal_bytes, before);
    EXPECT_GT(synced[2].journal_bytes, before);
    EXPECT_EQ(synced[2].journal_bytes, journal_bytes());
  }
}

TEST_F(Durability, BetweenCheckpointsNothingIsSynced) {
  const auto state = open(Fsync::checkpoint);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(of_commit(*state).empty());
}

// The new journal takes the old one's place when it and everything that it counts are on the disk.
TEST_F(Durability, ACheckpointIsSyncedAfterWhatItCounts) {
  const auto state = open(Fsync::checkpoint);
  for (int i = 0; i < 5; ++i) {
    of_commit(*state);
    const uint64_t before = journal_inode();
    synced_.clear();
    ASSERT_TRUE(state->checkpoint().ok());
    ASSERT_EQ(synced_.size(), 4U);
    EXPECT_EQ(synced_[0].name + " " + synced_[1].name + " " + synced_[2].name, "bodies hot journal.new");
    for (int k = 0; k < 3; ++k) EXPECT_EQ(synced_[k].journal_inode, before);
    EXPECT_EQ(synced_[3].name, std::filesystem::path(dir_.path()).filename());
    EXPECT_NE(synced_[3].journal_inode, before);
    EXPECT_EQ(synced_[3].journal_inode, journal_inode());
  }
}

// All signatures depend on the key, so it is on the disk before anything is signed.
TEST_F(Durability, ANewHashKeyIsSynced) {
  listener = &synced_;
  ASSERT_TRUE(hash_key_of(dir_.path(), nullptr).ok());
  ASSERT_EQ(synced_.size(), 2U);
  EXPECT_TRUE(synced_[0].name.starts_with("hash.key.")) << synced_[0].name;
  EXPECT_EQ(synced_[1].name, std::filesystem::path(dir_.path()).filename());
  synced_.clear();
  ASSERT_TRUE(hash_key_of(dir_.path(), nullptr).ok());
  EXPECT_TRUE(synced_.empty());
}

TEST_F(Durability, NothingIsSyncedIfNobodyAskedForIt) {
  const auto state = open(Fsync::none);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(of_commit(*state).empty());
    ASSERT_TRUE(state->checkpoint().ok());
  }
  EXPECT_TRUE(synced_.empty());
}

}  // namespace
}  // namespace doppel
