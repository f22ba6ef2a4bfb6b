#include "state/state_dir.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>

#include "base/checksums.h"
#include "state/columns.h"
#include "state/journal.h"
#include "state/scheme.h"
#include "support.h"

namespace doppel::state_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(StateDir, ANewDirectoryIsFresh) {
  const TempDir dir;
  const std::string path = dir.file("a/b");
  std::string epoch;
  {
    auto state = StateDir::open(options_of(path), {});
    ASSERT_TRUE(state.ok()) << state.status();
    const Recovered& r = (*state)->recovered();
    EXPECT_TRUE(r.fresh);
    EXPECT_EQ(r.next_seq, 0u);
    EXPECT_EQ(r.sink_position, "");
    EXPECT_EQ(r.epoch.size(), 36u);
    EXPECT_THAT(r.notes, IsEmpty());
    epoch = r.epoch;
  }
  auto again = StateDir::open(options_of(path), [](std::string_view) { return false; });
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->recovered().fresh);
  EXPECT_EQ((*again)->recovered().epoch, epoch);
}

// Random commits, reopened at random, with checkpoints at random: always the last commit.
TEST(StateDir, RoundTrip) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const TempDir dir;
    std::mt19937_64 random(seed);
    Writer writer(seed);
    for (int open = 0; open < 6; ++open) {
      const Fsync fsync = open % 3 == 0 ? Fsync::commit : open % 3 == 1 ? Fsync::checkpoint : Fsync::none;
      auto state = StateDir::open(options_of(dir.path(), fsync, 1 + random() % 40), {});
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_EQ(matching(**state, writer), static_cast<int>(writer.models().size()) - 1);
      EXPECT_EQ((*state)->recovered().cut_bytes, 0u);
      EXPECT_THAT((*state)->recovered().notes, IsEmpty());
      for (auto n = random() % 8; n > 0; --n) ASSERT_TRUE(writer.commit(**state).ok());
      if (random() % 2 == 0) {
        ASSERT_TRUE((*state)->checkpoint().ok());
      }
    }
  }
}

// Bodies without a commit are cut.
TEST(StateDir, UncommittedBodiesAreCut) {
  const TempDir dir;
  Writer writer(3);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.commit(**state).ok());
    ASSERT_TRUE((*state)->bodies().append({"meta", "set"}).ok());
    ASSERT_TRUE((*state)->bodies().flush().ok());
  }
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  EXPECT_EQ((*state)->recovered().cut_bytes, 4u + 1 + 4 + 3);
  EXPECT_EQ(matching(**state, writer), 5);
}

TEST(StateDir, GoesBackToWhatTheOutputsSupport) {
  for (int reach = -1; reach <= 9; ++reach) {
    const TempDir dir;
    Writer writer(11);
    {
      StateOptions options = options_of(dir.path());
      options.snapshots = 1;
      auto state = StateDir::open(options, {});
      ASSERT_TRUE(state.ok());
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(writer.commit(**state).ok());
      ASSERT_TRUE((*state)->checkpoint().ok());
      for (int i = 4; i < 9; ++i) ASSERT_TRUE(writer.commit(**state).ok());
    }
    const auto supports = [&](std::string_view sink) { return std::stoi(std::string(sink)) <= reach; };
    auto state = StateDir::open(options_of(dir.path()), supports);
    if (reach < 4) {
      ASSERT_FALSE(state.ok());
      EXPECT_THAT(std::string(state.status().message()), HasSubstr("outputs are shorter than commit 4"));
      continue;
    }
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(matching(**state, writer), reach);
    EXPECT_EQ((*state)->recovered().notes.size(), reach < 9 ? 1u : 0u);
    // Continues from there, as if the later commits had never existed.
    writer.back_to(static_cast<size_t>(reach));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.commit(**state).ok());
    state->reset();
    state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(matching(**state, writer), reach + 3);
  }
}

TEST(StateDir, OutputsAreSyncedBeforeACheckpoint) {
  const TempDir dir;
  StateOptions options = options_of(dir.path(), Fsync::checkpoint, 1);
  int synced = 0;
  bool fails = false;
  options.sync_outputs = [&] {
    ++synced;
    return fails ? absl::DataLossError("the output is gone") : absl::OkStatus();
  };
  auto state = StateDir::open(options, {});
  ASSERT_TRUE(state.ok());
  const int at_start = synced;
  ASSERT_TRUE((*state)->checkpoint().ok());
  EXPECT_EQ(synced, at_start + 1);
  fails = true;
  EXPECT_THAT(std::string((*state)->checkpoint().message()), HasSubstr("the output is gone"));
  EXPECT_THAT(std::string((*state)->commit({}).message()), HasSubstr("an earlier write failed"));
}

TEST(StateDir, NamesEverySettingThatDiffers) {
  const TempDir dir;
  ASSERT_TRUE(StateDir::open(options_of(dir.path()), {}).ok());
  StateOptions other = options_of(dir.path());
  other.num_perm = 64;
  other.data_scheme = "hash_key=0badcafe\nnormaliser=2\n";
  other.rule = "threshold=0.9\n";
  const auto state = StateDir::open(other, {});
  ASSERT_EQ(state.status().code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(state.status().message());
  EXPECT_THAT(message, HasSubstr("num_perm: the index was made with 18, now 64"));
  EXPECT_THAT(message, HasSubstr("shingle_words: the index was made with 5, now it is not set"));
  EXPECT_THAT(message, HasSubstr("normaliser: the index was made without it, now 2"));
  EXPECT_THAT(message, HasSubstr("threshold: the index was made with 0.8, now 0.9"));
  EXPECT_THAT(message, testing::Not(HasSubstr("hash_key")));
  EXPECT_TRUE(StateDir::open(options_of(dir.path()), {}).ok());
  EXPECT_THAT(scheme_differences("hash_key_fingerprint=0badcafe\n", "hash_key_fingerprint=01020304\n"),
              testing::ElementsAre(HasSubstr("its key belongs in hash.key")));
  EXPECT_THAT(
      scheme_differences("extract=visible\nhtml=1\n", "extract=main\nhtml=2\n"),
      testing::ElementsAre(
          HasSubstr("now main; that was input.extract: visible"),
          HasSubstr("html: the index was made with 1, now 2; this version reads pages in another way")));
  EXPECT_THAT(scheme_differences("pages=main 1\n", "pages=main 2\n"),
              testing::ElementsAre(HasSubstr("this version reads pages in another way")));
  EXPECT_THAT(scheme_differences("pages=main 2\n", ""), testing::IsEmpty());
}

// A line that was added to the scheme stays in every later journal, and in the older journals that a start
// may go back to.
TEST(StateDir, WhatIsAddedToTheSchemeStays) {
  const TempDir dir;
  Writer writer(5);
  const auto open = [&] { return StateDir::open(options_of(dir.path()), {}); };
  {
    auto state = open();
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE(writer.commit(**state).ok());
    EXPECT_TRUE((*state)->add_to_scheme("pages=main 3\n").ok());
    EXPECT_TRUE((*state)->add_to_scheme("pages=main 3\n").ok());
    ASSERT_TRUE(writer.commit(**state).ok());  // not followed by a checkpoint
  }
  for (int run = 0; run < 3; ++run) {
    auto state = open();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(matching(**state, writer), static_cast<int>(writer.models().size()) - 1);
    const absl::Status refused = (*state)->add_to_scheme("pages=none 3\n");
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("pages: the index was made with main 3, now none 3"));
    EXPECT_TRUE((*state)->add_to_scheme("pages=main 3\n").ok());
    ASSERT_TRUE(writer.commit(**state).ok());
    ASSERT_TRUE((*state)->checkpoint().ok());
  }
}

TEST(StateDir, OneProcessAtATime) {
  const TempDir dir;
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto state = StateDir::open(options_of(dir.path()), {});
    char c = state.ok() ? 'y' : 'n';
    (void)!::write(ready[1], &c, 1);
    (void)!::read(done[0], &c, 1);
    ::_exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_EQ(c, 'y');
  const auto second = StateDir::open(options_of(dir.path()), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("in use by process " + std::to_string(child)));
  ASSERT_EQ(::write(done[1], &c, 1), 1);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
  EXPECT_TRUE(StateDir::open(options_of(dir.path()), {}).ok());
}

// ---- foreign and damaged directories

std::string open_error(const std::string& path) {
  const auto state = StateDir::open(options_of(path), {});
  return state.ok() ? "" : std::string(state.status().message());
}

void fill(const std::string& path, uint64_t seed) {
  Writer writer(seed);
  auto state = StateDir::open(options_of(path), {});
  ASSERT_TRUE(state.ok()) << state.status();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(writer.commit(**state).ok());
}

TEST(StateDir, ForeignFilesAreRefused) {
  for (const char* name : {"hot", "bodies", "journal"}) {
    const TempDir dir;
    fill(dir.path(), 1);
    write_file(dir.file(name), "# my shopping list, which is longer than forty-eight bytes\n");
    EXPECT_THAT(open_error(dir.path()), HasSubstr(dir.file(name) + ": this is not a state file of doppel"));
    write_file(dir.file(name), "");
    EXPECT_THAT(open_error(dir.path()), HasSubstr(dir.file(name)));
  }
  for (const char* name : {"hot", "bodies"}) {
    const TempDir dir;
    const std::string mine(100, 'x');
    write_file(dir.file("hot"), encode_header({.kind = FileKind::hot}));
    write_file(dir.file(name), mine);
    EXPECT_THAT(open_error(dir.path()), HasSubstr("journal is missing"));
    EXPECT_EQ(read_file(dir.file(name)), mine);
  }
}

TEST(StateDir, OtherVersionsAreRefused) {
  for (const char* name : {"hot", "bodies", "journal"}) {
    for (const uint32_t version : {0u, 1u, 900u}) {
      const TempDir dir;
      fill(dir.path(), 1);
      std::string bytes = read_file(dir.file(name));
      std::memcpy(bytes.data() + 8, &version, 4);
      write_file(dir.file(name), bytes);
      EXPECT_THAT(open_error(dir.path()),
                  HasSubstr(dir.file(name) + ": written in version " + std::to_string(version)));
    }
  }
}

TEST(StateDir, FilesOfTwoIndexesAreNotMixed) {
  for (const char* name : {"hot", "bodies", "journal"}) {
    const TempDir one, two;
    fill(one.path(), 1);
    fill(two.path(), 1);
    write_file(one.file(name), read_file(two.file(name)));
    EXPECT_THAT(open_error(one.path()), HasSubstr("belongs to index"));
  }
}

TEST(StateDir, ALostFileIsNamed) {
  for (const char* name : {"hot", "bodies", "journal"}) {
    const TempDir dir;
    fill(dir.path(), 1);
    std::filesystem::remove(dir.file(name));
    EXPECT_THAT(open_error(dir.path()), HasSubstr(dir.file(name)));
    EXPECT_FALSE(std::filesystem::exists(dir.file(name)));
  }
}

TEST(StateDir, DamageIsToldFromDifference) {
  const auto code = [](const std::function<void(const TempDir&)>& change) {
    const TempDir dir;
    fill(dir.path(), 1);
    change(dir);
    return StateDir::open(options_of(dir.path()), {}).status().code();
  };
  const auto damaged = absl::StatusCode::kDataLoss;
  const auto differs = absl::StatusCode::kFailedPrecondition;
  for (const std::string name : {"hot", "bodies", "journal"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(code([&](const TempDir& dir) { std::filesystem::remove(dir.file(name)); }), damaged);
    EXPECT_EQ(code([&](const TempDir& dir) { write_file(dir.file(name), "xx"); }), damaged);
    EXPECT_EQ(code([&](const TempDir& dir) { write_file(dir.file(name), std::string(900, 'x')); }), damaged);
    const auto version = [&](bool with_checksum) {
      return code([&](const TempDir& dir) {
        std::string bytes = read_file(dir.file(name));
        bytes[8] = 77;
        const uint32_t crc = crc32c(std::string_view(bytes).substr(0, kFileHeaderBytes - 4));
        if (with_checksum) std::memcpy(bytes.data() + kFileHeaderBytes - 4, &crc, 4);
        write_file(dir.file(name), bytes);
      });
    };
    EXPECT_EQ(version(false), damaged);
    EXPECT_EQ(version(true), differs);
  }
}

TEST(StateDir, AnEpochFromOutside) {
  const TempDir dir;
  StateOptions options = options_of(dir.path());
  options.epoch = *make_epoch();
  {
    auto state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ((*state)->epoch(), *options.epoch);
    EXPECT_EQ((*state)->recovered().epoch, epoch_string(*options.epoch));
  }
  EXPECT_TRUE(StateDir::open(options, {}).ok());
  const Epoch first = *options.epoch;
  options.epoch = *make_epoch();
  const auto other = StateDir::open(options, {});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.status().message()),
              testing::AllOf(HasSubstr(epoch_string(first)), HasSubstr(epoch_string(*options.epoch))));
}

// The head of a log was compacted away: numbering begins late, even if the first attempt died.
TEST(StateDir, StartsAtAnyNumber) {
  const TempDir dir;
  constexpr Seq kStart = 1'000'000'000;
  Model before, after;
  for (const Seq start : {Seq{17}, kStart}) {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE((*state)->recovered().fresh);
    ASSERT_TRUE((*state)->start_at(start).ok());
    EXPECT_EQ((*state)->recovered().next_seq, start);
    if (start != kStart) continue;
    before.next_seq = before.lowest_live = start;
    after = before;
    after.next_seq += 5;
    after.documents = 9;
    after.source = "s";
    ASSERT_TRUE(write_commit(**state, 1, before, after, {}, {}).ok());
  }
  for (int open = 0; open < 2; ++open) {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(difference(**state, 1, after), "");
    ASSERT_TRUE((*state)->checkpoint().ok());
  }
  struct stat info{};
  ASSERT_EQ(::stat(dir.file("hot").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 100'000);
}

TEST(StateDir, RowsCanBeReadAgain) {
  const TempDir dir;
  Writer writer(21);
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(writer.commit(**state).ok());
  const Model& model = writer.models().back();
  for (Seq seq = 0; seq < model.next_seq; ++seq) {
    const auto row = (*state)->read_row(seq);
    ASSERT_TRUE(row.ok()) << row.status();
    const Content c = content_of(21, seq);
    EXPECT_EQ(row->seq, seq);
    EXPECT_EQ(row->row.digest, c.digest);
    EXPECT_EQ(row->trusted_ms, c.timestamp_ms);
    if (seq >= model.lowest_live) {
      EXPECT_EQ(row->removed, model.removed.contains(seq));
    }
  }
  EXPECT_EQ((*state)->read_row(model.next_seq).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(StateDir, WhatIsSetAsideLeavesANewDirectory) {
  const TempDir dir;
  ASSERT_TRUE(hash_key_of(dir.path(), nullptr).ok());
  const std::string key = read_file(dir.file("hash.key"));
  for (uint64_t round = 0; round < 3; ++round) {
    fill(dir.path(), 1);
    const std::string hot = read_file(dir.file("hot"));
    if (round == 1) mark_damaged(dir.path(), "the body at offset 77");
    std::string note;
    ASSERT_TRUE(discard_state(dir.path(), &note).ok());
    uint64_t files = 0, bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir.file("damaged"))) {
      ++files;
      bytes += file.file_size();
    }
    EXPECT_EQ(note, fmt::format("{} files with {} bytes are in {} now; they can be deleted", files, bytes,
                                dir.file("damaged")));
    EXPECT_EQ(read_file(dir.file("damaged/hot")), hot);
    EXPECT_EQ(read_file(dir.file("hash.key")), key);
    EXPECT_FALSE(std::filesystem::exists(dir.file("journal")));
    EXPECT_FALSE(std::filesystem::exists(dir.file("DAMAGED")));
  }
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE((*state)->recovered().fresh);
}

TEST(StateDir, KeepsAsManyCheckpointsAsAreSet) {
  for (int snapshots = 1; snapshots <= 4; ++snapshots) {
    const TempDir dir;
    StateOptions options = options_of(dir.path());
    options.snapshots = snapshots;
    Writer writer(31);
    auto state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok());
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(writer.commit(**state).ok());
      for (int again = 0; again < 3; ++again)
        ASSERT_TRUE((*state)->checkpoint().ok());  // nothing new: no new one
    }
    EXPECT_EQ(journal_paths(dir.path()).size(), static_cast<size_t>(snapshots));
    state->reset();
    for (int n = 0; n < snapshots; ++n) {
      const std::string name = n == 0 ? "journal" : "journal." + std::to_string(n);
      const auto journal = read_journal(*File::open(dir.file(name), O_RDONLY));
      ASSERT_TRUE(journal.ok());
      EXPECT_EQ(journal->entries.front().record.commits, static_cast<uint64_t>(6 - n));
      EXPECT_EQ(journal->entries.back().record.commits, static_cast<uint64_t>(n == 0 ? 6 : 7 - n));
    }
    // Fewer from now on.
    options.snapshots = 1;
    state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE(writer.commit(**state).ok());
    ASSERT_TRUE((*state)->checkpoint().ok());
    EXPECT_EQ(journal_paths(dir.path()).size(), 1u);
  }
}

// The columns are synced in parallel to the stream. The new journal also contains commits that come
// meanwhile.
// A start that is stopped before its first commit keeps the older checkpoints, however often this happens.
TEST(StateDir, ACheckpointWithoutNewsDisplacesNone) {
  const TempDir dir;
  Writer writer(8);
  StateOptions options = options_of(dir.path());
  options.snapshots = 2;
  for (int i = 0; i < 2; ++i) {
    auto state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE(writer.commit(**state).ok());
    ASSERT_TRUE((*state)->checkpoint().ok());
  }
  const std::string older = read_file(dir.file("journal.1"));
  for (int i = 0; i < 3; ++i) {
    auto state = StateDir::open(options, {});
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE((*state)->checkpoint().ok());
  }
  EXPECT_EQ(read_file(dir.file("journal.1")), older);
}

TEST(StateDir, ACheckpointIsMadeBesideTheStream) {
  const TempDir dir;
  Writer writer(32);
  int commits = 0;
  {
    auto state = StateDir::open(options_of(dir.path(), Fsync::checkpoint, 5), {});
    ASSERT_TRUE(state.ok());
    // The disk decides when the columns are synced.
    for (; journal_paths(dir.path()).size() < 2; ++commits) ASSERT_TRUE(writer.commit(**state).ok());
  }
  EXPECT_EQ(journal_paths(dir.path()).size(), 2u);
  const auto journal = read_journal(*File::open(dir.file("journal"), O_RDONLY));
  ASSERT_TRUE(journal.ok());
  EXPECT_GT(journal->entries.front().record.commits, 1u);
  EXPECT_EQ(journal->entries.back().record.commits, static_cast<uint64_t>(commits));
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(matching(**state, writer), commits);
  EXPECT_THAT((*state)->recovered().notes, IsEmpty());
}

// A checkpoint that was begun before counts, and also contains the commits since.
TEST(StateDir, ACheckpointThatWasBegunIsFinished) {
  for (const int since : {0, 3}) {
    const TempDir dir;
    Writer writer(34);
    {
      auto state = StateDir::open(options_of(dir.path(), Fsync::checkpoint, 1'000'000), {});
      ASSERT_TRUE(state.ok());
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(writer.commit(**state).ok());
      const uint64_t before = (*state)->checkpoint_stats().made;
      const auto start = std::chrono::steady_clock::now();
      (*state)->begin_checkpoint();
      (*state)->begin_checkpoint();  // is already running
      EXPECT_EQ((*state)->checkpoint_stats().made, before);
      for (int i = 0; i < since; ++i) ASSERT_TRUE(writer.commit(**state).ok());
      ASSERT_TRUE((*state)->checkpoint().ok());
      EXPECT_EQ((*state)->checkpoint_stats().made, before + (since == 0 ? 1 : 2));
      EXPECT_EQ((*state)->checkpoint_stats().commits_since, 0u);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      EXPECT_GT((*state)->checkpoint_stats().last_s, 0);
      EXPECT_LT((*state)->checkpoint_stats().last_s, passed.count());
    }
    const auto journal = read_journal(*File::open(dir.file("journal"), O_RDONLY));
    ASSERT_TRUE(journal.ok());
    EXPECT_EQ(journal->entries.front().record.commits, static_cast<uint64_t>(4 + since));
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(matching(**state, writer), 4 + since);
  }
}

TEST(StateDir, ACheckpointIsDueAfterSomeTime) {
  const TempDir dir;
  StateOptions options = options_of(dir.path());
  options.checkpoint_interval_ms = 1;
  options.snapshots = 100;
  Writer writer(33);
  auto state = StateDir::open(options, {});
  ASSERT_TRUE(state.ok());
  while (journal_paths(dir.path()).size() < 4) ASSERT_TRUE(writer.commit(**state).ok());
  state->reset();
  state = StateDir::open(options, {});
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(matching(**state, writer), static_cast<int>(writer.models().size()) - 1);
}

// Dead originals are kept until their ends are announced.
TEST(StateDir, SpaceIsGivenBackBelowWhatIsKept) {
  const TempDir dir;
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  Model before, after;
  after.next_seq = 2000;
  ASSERT_TRUE(write_commit(**state, 3, before, after, {}, {}).ok());
  const auto readable = [&](Seq seq) {
    std::string buffer;
    const auto row = (*state)->read_row(seq);
    return row.ok() && row->row.body.size != 0 && (*state)->bodies().read(row->row.body, buffer).ok();
  };
  Commit commit{.lowest_live = 1900, .keep_from = 900};
  state->reset();
  state = StateDir::open(options_of(dir.path()), {});
  for (const Seq keep : {Seq{900}, Seq{1900}}) {
    commit.keep_from = keep;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*state)->commit(commit).ok());
      ASSERT_TRUE((*state)->checkpoint().ok());
    }
    EXPECT_EQ(readable(100), false);
    EXPECT_EQ(readable(1000), keep == 900);
    EXPECT_TRUE(readable(1999));
  }
}

// A start that was killed before its first checkpoint.
TEST(StateDir, HeadersWithoutAJournalAreANewDirectory) {
  const TempDir dir;
  write_file(dir.file("hot"), encode_header({.kind = FileKind::hot}));
  write_file(dir.file("bodies"), "dopp");
  write_file(dir.file("journal.new"), "doppelJ");
  EXPECT_EQ(open_error(dir.path()), "");
  EXPECT_FALSE(std::filesystem::exists(dir.file("journal.new")));
}

TEST(StateDir, ExpiredRowsGiveTheirSpaceBack) {
  const TempDir dir;
  constexpr Seq kRows = 20'000;
  const auto blocks = [&](const char* name) {
    struct stat info{};
    EXPECT_EQ(::stat(dir.file(name).c_str(), &info), 0);
    return info.st_blocks * 512;
  };
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    Commit commit;
    const std::vector<uint8_t> slices(kNumPerm, 7);
    const std::vector<uint32_t> mask(kMaskWords, 1);
    for (Seq seq = 0; seq < kRows; ++seq) {
      StoredRow stored;
      stored.seq = seq;
      stored.row.slices = slices.data();
      stored.row.mask = mask.data();
      stored.row.body = *(*state)->bodies().append({"metadata", "set"});
      commit.rows.push_back(stored);
    }
    ASSERT_TRUE((*state)->commit(commit).ok());
    commit.rows.clear();
    commit.lowest_live = kRows - 100;
    for (int snapshots = 0; snapshots < 2; ++snapshots) {
      ASSERT_TRUE((*state)->commit(commit).ok());
      ASSERT_TRUE((*state)->checkpoint().ok());
    }
  }
  EXPECT_LT(blocks("hot"), 40'000);
  EXPECT_LT(blocks("bodies"), 40'000);
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  Seq seen = 0;
  std::string buffer;
  ASSERT_TRUE((*state)
                  ->load_rows([&](const StoredRow& stored) {
                    ++seen;
                    EXPECT_TRUE((*state)->bodies().read(stored.row.body, buffer).ok());
                  })
                  .ok());
  EXPECT_EQ(seen, 100u);
}

// ---- the key

TEST(HashKeyFile, IsMadeOnceAndKept) {
  const TempDir dir;
  const std::string path = dir.file("new");
  bool made = false;
  const auto key = hash_key_of(path, &made);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_TRUE(made);
  EXPECT_EQ(*hash_key_of(path, &made), *key);
  EXPECT_FALSE(made);
  EXPECT_FALSE(*hash_key_of(dir.file("other"), nullptr) == *key);

  struct stat info{};
  ASSERT_EQ(::stat((path + "/hash.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_size, 33);
  EXPECT_EQ(*parse_hash_key(read_file(path + "/hash.key")), *key);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 1);  // nothing else is left
}

TEST(HashKeyFile, OthersMayNotReadIt) {
  const TempDir dir;
  ASSERT_TRUE(hash_key_of(dir.path(), nullptr).ok());
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    EXPECT_THAT((*state)->recovered().notes, IsEmpty());
  }
  ASSERT_EQ(::chmod(dir.file("hash.key").c_str(), 0640), 0);
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok());
  EXPECT_THAT((*state)->recovered().notes, testing::ElementsAre(HasSubstr("chmod 600")));
}

TEST(HashKeyFile, ALostKeyIsNotReplaced) {
  const TempDir dir;
  ASSERT_TRUE(hash_key_of(dir.path(), nullptr).ok());
  fill(dir.path(), 1);
  std::filesystem::remove(dir.file("hash.key"));
  const auto key = hash_key_of(dir.path(), nullptr);
  EXPECT_EQ(key.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(dir.file("hash.key")));
}

TEST(HashKeyFile, Parse) {
  const auto key = parse_hash_key("00112233445566778899aAbBcCdDeEfF\n");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->high, 0x0011223344556677u);
  EXPECT_EQ(key->low, 0x8899aabbccddeeffu);
  for (const std::string bad : {"", "12", "00112233445566778899aabbccddeef",
                                "00112233445566778899aabbccddeeffa", "00112233445566778899aabbccddeefg"}) {
    const auto refused = parse_hash_key(bad);
    EXPECT_FALSE(refused.ok()) << bad;
    if (bad.size() > 2) {
      EXPECT_THAT(std::string(refused.status().message()), testing::Not(HasSubstr("0011")));
    }
  }
  EXPECT_THAT(std::string(parse_hash_key("00112233x45566778899aabbccddeeff").status().message()),
              HasSubstr("character 9 of this one"));
}

}  // namespace
}  // namespace doppel::state_test
