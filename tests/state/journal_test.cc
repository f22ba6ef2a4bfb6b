// Commits store the changes of the input's position; journals that store whole positions can still be read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "plain_journal.h"
#include "state/journal.h"
#include "support.h"

namespace doppel::state_test {

namespace {

JournalContents contents_of(const std::string& path) {
  absl::StatusOr<JournalContents> out = read_journal(*File::open(path, O_RDONLY));
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *std::move(out) : JournalContents{};
}

// Makes an index of some commits. The journal after its last checkpoint has the plain form.
Writer fill_plainly(const TempDir& dir, uint64_t seed) {
  Writer writer(seed, false);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    EXPECT_TRUE(state.ok());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(writer.commit(**state).ok());
    EXPECT_TRUE((*state)->checkpoint().ok());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(writer.commit(**state).ok());
  }
  const JournalContents now = contents_of(dir.file("journal"));
  EXPECT_EQ(now.version, kJournalVersion);
  EXPECT_EQ(now.entries.size(), 6U);
  write_file(dir.file("journal"), plain_journal(now));
  return writer;
}

TEST(Journal, OfVersion2IsReadAndGoneOnWith) {
  const TempDir dir;
  Writer writer = fill_plainly(dir, 1);
  const JournalContents plain = contents_of(dir.file("journal"));
  EXPECT_EQ(plain.version, 2U);
  for (const JournalEntry& entry : plain.entries) EXPECT_FALSE(entry.position.has_value());
  const std::string before = read_file(dir.file("journal"));
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(difference(**state, writer.seed(), writer.models().back()), "");
    EXPECT_EQ(read_file(dir.file("journal")), before);  // reading changes nothing
    ASSERT_TRUE(writer.commit(**state).ok());
    ASSERT_TRUE(writer.commit(**state).ok());
  }
  // The old journal stays unchanged, so that a start can go back to any of its commits.
  EXPECT_EQ(read_file(dir.file("journal.1")), before);
  const JournalContents now = contents_of(dir.file("journal"));
  EXPECT_EQ(now.version, kJournalVersion);
  EXPECT_EQ(now.entries.size(), 3U);
  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(difference(**state, writer.seed(), writer.models().back()), "");
}

TEST(Journal, OfVersion2CutAtEveryByteIsACommit) {
  const TempDir dir;
  const Writer writer = fill_plainly(dir, 2);
  const JournalContents plain = contents_of(dir.file("journal"));
  std::map<std::string, std::string> files;
  for (const char* name : {"hot", "bodies", "journal", "journal.1"}) files[name] = read_file(dir.file(name));
  for (size_t length = plain.entries.front().end; length <= files["journal"].size(); ++length) {
    for (const auto& [name, bytes] : files) write_file(dir.file(name), bytes);
    write_file(dir.file("journal"), files["journal"].substr(0, length));
    size_t expected = 0;
    for (const JournalEntry& entry : plain.entries) {
      if (entry.end <= length) expected = entry.record.commits;
    }
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status() << " at " << length;
    EXPECT_EQ(difference(**state, writer.seed(), writer.model(expected)), "") << length;
  }
}

TEST(Journal, OfALaterVersionIsRefused) {
  const TempDir dir;
  Writer writer(3);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE(writer.commit(**state).ok());
  }
  // An older program treats today's journal as a program of today treats the next version.
  std::string bytes = read_file(dir.file("journal"));
  EXPECT_EQ(load<uint32_t>(bytes.data() + 8), 4U);
  EXPECT_EQ(load<uint32_t>(read_file(dir.file("hot")).data() + 8), 2U);
  store(bytes.data() + 8, uint32_t{5});
  store(bytes.data() + kFileHeaderBytes - 4, crc32c(std::string_view(bytes).substr(0, kFileHeaderBytes - 4)));
  write_file(dir.file("journal"), bytes);
  const absl::Status status = StateDir::open(options_of(dir.path()), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("written in version 5 of the format, this program reads version 4"));
}

// A delta that fits no position is damage, whatever its checksum.
TEST(Journal, ADeltaThatDoesNotFitIsDamage) {
  const TempDir dir;
  Writer writer(4);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.commit(**state).ok());
  }
  const JournalContents good = contents_of(dir.file("journal"));
  CommitRecord commit = good.entries.back().record;
  ++commit.commits;
  commit.removed.clear();
  commit.hot_crc = commit.bodies_crc = 0;
  const std::string position = good.source_position(good.entries.size() - 1);
  for (const bool fits : {true, false}) {
    commit.source_position = position + std::string(1000, 'x') + "tail";
    const std::string before = fits ? position : commit.source_position + "1";
    auto file = File::open(dir.file("journal"), O_RDWR);
    ASSERT_TRUE(file.ok());
    JournalWriter journal(*std::move(file), good.version, good.entries.front().end, good.entries.back());
    ASSERT_TRUE(journal.append(encode_commit(commit, before)).ok());
    const JournalContents now = contents_of(dir.file("journal"));
    EXPECT_EQ(now.damage.empty(), fits) << now.damage;
    EXPECT_EQ(now.entries.size(), good.entries.size() + (fits ? 1 : 0));
  }
}

std::string applied(const PositionDelta& delta, std::string position) {
  apply(delta, position);
  return position;
}

TEST(PositionDelta, HoldsWhatChanged) {
  const std::string files(1'000'000, 'f');
  const PositionDelta grown = delta_of(files + "abcd", files + "more" + "efgh");
  EXPECT_EQ(grown, (PositionDelta{.front = files.size(), .middle = "more", .back = 0, .tail = "efgh"}));
  // A change in the middle, and another checksum at the end.
  const PositionDelta inside = delta_of(files + "1" + files + "abcd", files + "22" + files + "efgh");
  EXPECT_EQ(inside,
            (PositionDelta{.front = files.size(), .middle = "22", .back = files.size(), .tail = "efgh"}));
  EXPECT_EQ(delta_of("", "").middle, "");
  EXPECT_EQ(applied(delta_of("", "a position"), ""), "a position");
  EXPECT_EQ(applied(delta_of("a position", ""), "a position"), "");
}

RC_GTEST_PROP(PositionDelta, GivesThePositionBack, ()) {
  // Few letters, so that the positions share much.
  const auto text = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  const std::string front = *text;
  const std::string back = *text;
  const std::string before = front + *text + back + *text;
  const std::string after = front + *text + back + *text;
  const PositionDelta delta = delta_of(before, after);
  uint64_t length = before.size();
  RC_ASSERT(fits(delta, length));
  RC_ASSERT(length == after.size());
  RC_ASSERT(applied(delta, before) == after);
  std::string bytes;
  put_delta(bytes, delta);
  ByteReader reader(bytes);
  RC_ASSERT(take_delta(reader) == delta);
  RC_ASSERT(reader.done());
}

TEST(PositionDelta, WhatDoesNotFitIsRefused) {
  const auto refused = [](const PositionDelta& delta, uint64_t length) { return !fits(delta, length); };
  EXPECT_TRUE(refused({.front = 7}, 10));
  EXPECT_TRUE(refused({.back = 7}, 10));
  EXPECT_TRUE(refused({.front = 3, .back = 4}, 10));
  EXPECT_TRUE(refused({.front = 1, .back = UINT64_MAX}, 10));
  EXPECT_TRUE(refused({.front = UINT64_MAX, .back = 1}, 10));
  EXPECT_TRUE(refused({.front = 1}, 3));
  EXPECT_TRUE(refused({.tail = "12345"}, 10));
  EXPECT_FALSE(refused({.front = 3, .back = 3}, 10));
}

}  // namespace

}  // namespace doppel::state_test
