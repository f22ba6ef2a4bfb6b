// The position of files in the journal of a state directory: whatever happens to the files, and wherever the
// journal ends, a start must find exactly the position of the last complete commit. The cost of a commit must
// depend on the changes since the previous one, not on the number of files.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "files/files_testing.h"
#include "files/position.h"
#include "state/journal.h"
#include "state/state_dir.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

StateOptions options_of(const std::string& directory) {
  return {.directory = directory, .data_scheme = "a=1\n", .rule = "b=1\n", .fsync = Fsync::none};
}

Commit commit_of(const std::string& position) { return {.source_position = position}; }

// ---- input that is followed: files come, grow, are rotated and go; the daemon restarts

class Following {
 public:
  explicit Following(Random& random) : random_(random) {}

  std::string next() {
    for (uint64_t steps = random_() % 6; steps > 0; --steps) step();
    return position_.encode();
  }
  void back_to(const std::string& position) { position_ = FollowPosition::parse(position).value(); }

 private:
  std::string path() { return "/input/" + std::to_string(random_() % 12) + ".jsonl"; }
  FileKey key() { return {1, random_() % 12}; }
  void step() {
    switch (random_() % 12) {
      case 0:
        position_.forget_whole(FollowPosition::path_hash(path()));
        break;
      case 1:
        position_.forget_tail(key());
        break;
      case 2:
        position_.count_another(path());
        break;
      case 3:
        back_to(position_.encode());
        break;  // a start
      case 4:
      case 5:
        position_.set_whole(FollowPosition::path_hash(path()), random_());
        break;
      default: {
        const FileKey file = key();
        TailMark tail;
        tail.mark = {.device = file.first, .inode = file.second, .offset = random_() % 100'000};
        tail.mark.path = path();  // it may have been rotated
        tail.name = path();
        position_.set_tail(tail);
      }
    }
  }

  Random& random_;
  FollowPosition position_;
};

// ---- input that is read once: finished files, the current one, and those that an earlier run left

class Scanning {
 public:
  explicit Scanning(Random& random) : random_(random), pending_(random() % 10) {
    for (uint64_t i = 0; i < pending_; ++i) writer_.add_pending(mark("left/" + std::to_string(i)));
  }

  std::string next() {
    for (uint64_t steps = random_() % 4; steps > 0; --steps) {
      if (random_() % 2 == 0) writer_.add_whole(random_());
      if (reading_) {
        current_.offset += random_() % 1000;
        if (random_() % 3 != 0) continue;
        current_.disk_length = current_.offset + 1;
        writer_.add_done(current_);
        reading_ = false;
      } else if (pending_ > 0) {
        --pending_;
        writer_.take_pending();
        current_ = mark("left/again");
        reading_ = true;
      } else if (random_() % 2 == 0) {
        current_ = mark("file/" + std::to_string(random_()));
        reading_ = true;
      }
    }
    return writer_.encode(reading_ ? &current_ : nullptr);
  }
  // The next position is any other one: that of another run.
  void back_to(const std::string&) {}

 private:
  LineMark mark(std::string path) {
    LineMark out{.device = 1, .inode = random_() % 1000, .head_hash = random_(), .offset = random_() % 100};
    out.path = std::move(path);
    return out;
  }

  Random& random_;
  PositionWriter writer_;
  uint64_t pending_;
  LineMark current_;
  bool reading_ = false;
};

void copy_directory(const std::string& from, const std::string& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

// Commits; then repeatedly cuts the journal anywhere and continues it. `positions`: the plain form.
template <typename Input>
void crash_anywhere(uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  Input input(random);
  const TemporaryDirectory folder;
  const std::string directory = folder.path() + "/state";
  const std::string journal = directory + "/journal";
  std::vector<std::string> positions{""};  // by the number of the commit
  for (int round = 0; round < 3; ++round) {
    {
      auto state = StateDir::open(options_of(directory), {});
      ASSERT_TRUE(state.ok()) << state.status();
      ASSERT_EQ((*state)->recovered().source_position, positions.back());
      for (uint64_t commits = 1 + random() % 12; commits > 0; --commits) {
        positions.push_back(input.next());
        ASSERT_TRUE((*state)->commit(commit_of(positions.back())).ok());
        if (random() % 10 != 0) continue;
        ASSERT_TRUE((*state)->checkpoint().ok());
      }
    }
    const JournalContents whole = read_journal(*File::open(journal, O_RDONLY)).value();
    for (size_t i = 0; i < whole.entries.size(); ++i)
      ASSERT_EQ(whole.source_position(i), positions[whole.entries[i].record.commits]);

    const uint64_t checkpoint = whole.entries.front().end;
    for (int cuts = 1; cuts <= 3; ++cuts) {
      const uint64_t at = checkpoint + random() % (whole.file_bytes - checkpoint + 1);
      const std::string copy = folder.path() + "/copy";
      copy_directory(directory, copy);
      fs::resize_file(copy + "/journal", at);
      uint64_t expected = 0;
      for (const JournalEntry& entry : whole.entries) {
        if (entry.end <= at) expected = entry.record.commits;
      }
      auto state = StateDir::open(options_of(copy), {});
      ASSERT_TRUE(state.ok()) << state.status();
      ASSERT_EQ((*state)->recovered().source_position, positions[expected]) << "cut at " << at;
      // Reads the input again from there, and continues the journal.
      if (cuts != 3) continue;
      state->reset();
      copy_directory(copy, directory);
      positions.resize(expected + 1);
      input.back_to(positions.back());
    }
  }
}

RC_GTEST_PROP(JournalOfFiles, AnyCrashOfAFollowerIsACommit, ()) {
  crash_anywhere<Following>(*rc::gen::arbitrary<uint64_t>());
}

RC_GTEST_PROP(JournalOfFiles, AnyCrashOfAScanIsACommit, ()) {
  crash_anywhere<Scanning>(*rc::gen::arbitrary<uint64_t>());
}

// ---- the cost of a commit

constexpr uint64_t kFiles = 100'000;
constexpr uint64_t kBatch = 256;

// Returns the bytes of each commit of the newest journal.
std::vector<uint64_t> commit_bytes(const std::string& directory) {
  const JournalContents journal = read_journal(*File::open(directory + "/journal", O_RDONLY)).value();
  std::vector<uint64_t> out;
  for (size_t i = 1; i < journal.entries.size(); ++i)
    out.push_back(journal.entries[i].end - journal.entries[i - 1].end);
  return out;
}

TEST(JournalOfFiles, ACommitCostsWhatItReadWhenFilesAreDropped) {
  const TemporaryDirectory folder;
  auto state = StateDir::open(options_of(folder.path() + "/state"), {}).value();
  FollowPosition position;
  PositionWriter scan;
  for (uint64_t file = 0; file < kFiles; ++file) {
    position.set_whole(file + 1, file + 1);
    if ((file + 1) % kBatch != 0) continue;
    ASSERT_TRUE(state->commit(commit_of(position.encode())).ok());
  }
  for (uint64_t file = 0; file < kFiles; ++file) {
    scan.add_whole(file + 1);
    if ((file + 1) % kBatch != 0) continue;
    ASSERT_TRUE(state->commit(commit_of(scan.encode(nullptr))).ok());
  }
  const std::vector<uint64_t> bytes = commit_bytes(folder.path() + "/state");
  ASSERT_EQ(bytes.size(), 2 * (kFiles / kBatch));
  constexpr uint64_t kEntry = 17;    // 'w' and two hashes
  constexpr uint64_t kRecord = 100;  // the rest of a commit
  EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()), kBatch * kEntry + kRecord);
}

TEST(JournalOfFiles, ACommitCostsWhatItReadWhenLogsGrow) {
  const TemporaryDirectory folder;
  auto state = StateDir::open(options_of(folder.path() + "/state"), {}).value();
  FollowPosition position;
  const auto grow = [&](uint64_t file, uint64_t offset) {
    TailMark tail;
    tail.mark = {.device = 1, .inode = file, .head_length = 4096, .head_hash = file, .offset = offset};
    tail.mark.path = "/var/log/of/a/service/number-" + std::to_string(file) + ".jsonl";
    tail.name = tail.mark.path;
    position.set_tail(tail);
  };
  for (uint64_t file = 0; file < kFiles; ++file) grow(file, 1);
  ASSERT_TRUE(state->commit(commit_of(position.encode())).ok());
  ASSERT_TRUE(state->checkpoint().ok());
  const uint64_t whole = position.encode().size();
  // Each batch is of a thousand logs. Meanwhile the position is rewritten whenever half of it is obsolete.
  constexpr uint64_t kCommits = 200, kLogs = 1000;
  for (uint64_t commit = 0; commit < kCommits; ++commit) {
    for (uint64_t log = 0; log < kLogs; ++log) grow((commit * kLogs + log) % kFiles, 2 + commit);
    ASSERT_TRUE(state->commit(commit_of(position.encode())).ok());
  }
  const std::vector<uint64_t> bytes = commit_bytes(folder.path() + "/state");
  ASSERT_EQ(bytes.size(), kCommits);
  const uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  const uint64_t entry = whole / kFiles + 4;
  EXPECT_LE(sum, kCommits * kLogs * entry + 2 * whole);
}

}  // namespace
}  // namespace doppel
