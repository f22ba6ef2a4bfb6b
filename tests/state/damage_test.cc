// Whatever happens to the files, a reopened directory shows exactly one of the committed states, or refuses
// with an error that names the file.

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <optional>

#include "state/file.h"
#include "state/journal.h"
#include "support.h"

namespace doppel::state_test {
namespace {

constexpr std::array<const char*, 3> kNames = {"hot", "bodies", "journal"};
constexpr size_t kBefore = 4;  // commits before the checkpoint
constexpr size_t kCommits = 12;

using Files = std::map<std::string, std::string>;

struct Made {
  Writer writer;
  Files files;
  JournalContents journal;
  Files at_checkpoint;
};

Made make(uint64_t seed) {
  const TempDir dir;
  Made made{.writer = Writer(seed), .files = {}, .journal = {}, .at_checkpoint = {}};
  const auto take = [&](Files& files) {
    for (const char* name : kNames) files[name] = read_file(dir.file(name));
  };
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    EXPECT_TRUE(state.ok());
    for (size_t i = 0; i < kCommits; ++i) {
      EXPECT_TRUE(made.writer.commit(**state).ok());
      if (i + 1 == kBefore) {
        EXPECT_TRUE((*state)->checkpoint().ok());
        take(made.at_checkpoint);
      }
    }
  }
  take(made.files);
  made.journal = *read_journal(*File::open(dir.file("journal"), O_RDONLY));
  EXPECT_EQ(made.journal.entries.size(), kCommits - kBefore + 1);
  return made;
}

void put(const TempDir& dir, const Files& files) {
  for (const std::string& path : journal_paths(dir.path())) std::filesystem::remove(path);
  std::filesystem::remove_all(dir.file("damaged"));
  for (const auto& [name, bytes] : files) write_file(dir.file(name), bytes);
}

// The last commit for which these columns are long enough; -1: none.
int reached(const Made& made, uint64_t hot_bytes, uint64_t bodies_bytes) {
  constexpr uint64_t kRowBytes = 48 + 4 * kMaskWords + (kNumPerm + 3) / 4 * 4;
  int reached = -1;
  for (const JournalEntry& entry : made.journal.entries) {
    if (kFileHeaderBytes + entry.record.next_seq * kRowBytes <= hot_bytes &&
        entry.record.bodies_end <= bodies_bytes) {
      reached = static_cast<int>(entry.record.commits);
    }
  }
  return reached;
}

// Opens the directory. Returns the commit that it shows, or -1 for an error (which must name a file of the
// directory). With `must_say`, open() must report the loss of a commit.
int reopen(const TempDir& dir, const Writer& writer, bool may_be_damaged, bool must_say = false) {
  auto state = StateDir::open(options_of(dir.path()), {});
  if (!state.ok()) {
    EXPECT_THAT(std::string(state.status().message()), testing::StartsWith(dir.path() + "/"));
    return -1;
  }
  const Recovered& r = (*state)->recovered();
  for (size_t i = 0; i < writer.models().size(); ++i) {
    if (writer.model(i).documents != r.documents) continue;
    const std::string wrong = difference(**state, writer.seed(), writer.model(i));
    if (may_be_damaged && wrong.starts_with("damaged: " + dir.path())) return -1;
    EXPECT_EQ(wrong, "") << "commit " << i << ", seed " << writer.seed();
    if (must_say) {
      EXPECT_TRUE(r.cut_bytes > 0 && !r.notes.empty());
    }
    return static_cast<int>(i);
  }
  ADD_FAILURE() << "no commit judged " << r.documents << " documents, seed " << writer.seed();
  return -1;
}

// After a recovery the directory must continue to work, and the cut must hold.
void go_on(const TempDir& dir, Writer writer, int commits) {
  writer.back_to(static_cast<size_t>(commits));
  for (int round = 0; round < 2; ++round) {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ((*state)->recovered().cut_bytes, 0u);
    EXPECT_EQ(matching(**state, writer), static_cast<int>(writer.models().size()) - 1);
    ASSERT_TRUE(writer.commit(**state).ok());
  }
}

TEST(Damage, JournalCutAtEveryByte) {
  const Made made = make(1);
  const TempDir dir;
  for (size_t length = 0; length < made.files.at("journal").size(); ++length) {
    SCOPED_TRACE(length);
    Files files = made.files;
    files["journal"].resize(length);
    put(dir, files);
    int expected = -1;
    for (const JournalEntry& entry : made.journal.entries) {
      if (entry.end <= length) expected = static_cast<int>(entry.record.commits);
    }
    const int shown = reopen(dir, made.writer, false);
    EXPECT_EQ(shown, expected);
    if (shown >= 0 && length % 7 == 0) go_on(dir, made.writer, shown);
  }
}

TEST(Damage, ColumnsCutAtEveryByte) {
  const Made made = make(2);
  const TempDir dir;
  for (const std::string name : {"hot", "bodies"}) {
    for (size_t length = 0; length < made.files.at(name).size(); ++length) {
      SCOPED_TRACE(name + " " + std::to_string(length));
      Files files = made.files;
      files[name].resize(length);
      put(dir, files);
      const int expected = reached(made, files["hot"].size(), files["bodies"].size());
      const int shown = reopen(dir, made.writer, false);
      EXPECT_EQ(shown, expected);
      if (shown >= 0 && length % 13 == 0) go_on(dir, made.writer, shown);
    }
  }
}

// Power loss: a range of a column after the checkpoint was never written and reads as zeros.
TEST(Damage, UnwrittenRangesBehindTheCheckpoint) {
  const Made made = make(3);
  const TempDir dir;
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Files files = made.files;
    const std::string name = kNames[random() % kNames.size()];
    std::string& bytes = files[name];
    const size_t start = made.at_checkpoint.at(name).size();
    const size_t from = start + random() % (bytes.size() - start);
    const size_t n = std::min<size_t>(1 + random() % 200, bytes.size() - from);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), n, '\0');
    put(dir, files);
    SCOPED_TRACE(name + " " + std::to_string(from) + " " + std::to_string(n));
    const int shown = reopen(dir, made.writer, false);
    EXPECT_GE(shown, static_cast<int>(kBefore));
    if (shown >= 0 && bytes != made.files.at(name)) {
      EXPECT_LT(shown, static_cast<int>(kCommits));
    }
    if (shown >= 0 && round % 5 == 0) go_on(dir, made.writer, shown);
  }
}

TEST(Damage, AFlippedBitAnywhere) {
  for (uint64_t seed = 4; seed < 8; ++seed) {
    const Made made = make(seed);
    const TempDir dir;
    for (const std::string name : kNames) {
      const size_t stable = made.at_checkpoint.at(name).size();  // of the journal: header and checkpoint
      std::mt19937_64 random(seed);
      for (size_t at = random() % 3; at < made.files.at(name).size(); at += 1 + random() % 4) {
        SCOPED_TRACE(name + " " + std::to_string(at) + " seed " + std::to_string(seed));
        Files files = made.files;
        files[name][at] = static_cast<char>(files[name][at] ^ (1 << random() % 8));
        put(dir, files);
        const int shown = reopen(dir, made.writer, at < stable, at >= stable);
        if (at >= stable) {  // after the checkpoint nothing is lost for good
          EXPECT_GE(shown, static_cast<int>(kBefore));
          EXPECT_LT(shown, static_cast<int>(kCommits));
        }
        if (name == "journal" && at < stable) {
          EXPECT_EQ(shown, -1);
        }
      }
    }
  }
}

// Several kinds of damage at once.
TEST(Damage, Anything) {
  const Made made = make(9);
  const TempDir dir;
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    Files files = made.files;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      std::string& bytes = files[kNames[random() % kNames.size()]];
      if (bytes.empty()) continue;
      const size_t at = random() % bytes.size();
      switch (random() % 5) {
        case 0:
          bytes.resize(at);
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.erase(at, 1 + random() % 70);
          break;
        case 3:
          bytes.insert(at, std::string(1 + random() % 70, static_cast<char>(random())));
          break;
        default:
          bytes += bytes.substr(at);
          break;
      }
    }
    put(dir, files);
    const int shown = reopen(dir, made.writer, true);
    if (shown >= 0 && round % 8 == 0) go_on(dir, made.writer, shown);
  }
}

// ---- with older checkpoints

// The files of a directory with three checkpoints, at commits 4, 8 and 12, and commits up to 15.
Made make_kept(uint64_t seed) {
  const TempDir dir;
  Made made{.writer = Writer(seed), .files = {}, .journal = {}, .at_checkpoint = {}};
  StateOptions options = options_of(dir.path());
  options.snapshots = 3;
  {
    auto state = StateDir::open(options, {});
    EXPECT_TRUE(state.ok());
    for (size_t i = 1; i <= 15; ++i) {
      EXPECT_TRUE(made.writer.commit(**state).ok());
      if (i % 4 == 0) {
        EXPECT_TRUE((*state)->checkpoint().ok());
      }
    }
  }
  for (const std::string name : {"hot", "bodies", "journal", "journal.1", "journal.2"})
    made.files[name] = read_file(dir.file(name));
  EXPECT_FALSE(std::filesystem::exists(dir.file("journal.3")));
  return made;
}

// Whatever happens to the newest journal, the previous one reaches its checkpoint.
TEST(Damage, AnOlderCheckpointTakesTheJournalsPlace) {
  const Made made = make_kept(20);
  const TempDir dir;
  const std::string& journal = made.files.at("journal");
  std::mt19937_64 random(20);
  for (size_t at = 0; at <= journal.size(); at += 1 + random() % 5) {
    SCOPED_TRACE(at);
    Files files = made.files;
    std::string& bytes = files["journal"];
    switch (random() % 3) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      default:
        bytes.insert(at, "x");
        break;
    }
    if (at < 8 && random() % 2 == 0) files.erase("journal");
    put(dir, files);
    const int shown = reopen(dir, made.writer, false);
    EXPECT_GE(shown, 12);
    if (shown == 12 && random() % 3 == 0) go_on(dir, made.writer, shown);
  }
  // And the one before.
  Files files = made.files;
  files["journal"] = "what is this, longer than any header could ever be, foreign";
  files["journal.1"].resize(60);
  put(dir, files);
  EXPECT_EQ(reopen(dir, made.writer, false), 8);
  go_on(dir, made.writer, 8);
}

TEST(Damage, NotesNameTheJournalsThatWereNotUsed) {
  const Made made = make_kept(24);
  const TempDir dir;
  const auto notes_of = [&](const Files& files) {
    put(dir, files);
    auto state = StateDir::open(options_of(dir.path()), {});
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? (*state)->recovered().notes : std::vector<std::string>();
  };
  Files files = made.files;
  files["journal"] = "what is this, longer than any header could ever be, foreign";
  files.erase("journal.1");
  EXPECT_THAT(
      notes_of(files),
      testing::ElementsAre(testing::HasSubstr(dir.file("journal") + ": this is not a state file of doppel"),
                           testing::HasSubstr("continuing from commit 8 of " + dir.file("journal.2"))));
  files = made.files;
  files.erase("journal");
  EXPECT_THAT(notes_of(files), testing::ElementsAre(dir.file("journal") + ": is missing",
                                                    testing::HasSubstr("continuing from commit 12 of " +
                                                                       dir.file("journal.1"))));
}

// Damage after the oldest checkpoint costs only the later commits. Damage before it is an error, or remains
// unnoticed.
TEST(Damage, AnOlderCheckpointOutlivesDamagedColumns) {
  const Made made = make_kept(21);
  const TempDir dir;
  constexpr uint64_t kRowBytes = 48 + 4 * kMaskWords + (kNumPerm + 3) / 4 * 4;
  std::mt19937_64 random(21);
  int went_back = 0;
  for (size_t at = 0; at < made.files.at("hot").size(); at += 1 + random() % 20) {
    SCOPED_TRACE(at);
    Files files = made.files;
    if (random() % 4 == 0) {
      files["hot"].resize(at);
    } else {
      files["hot"][at] = static_cast<char>(files["hot"][at] ^ (1 << random() % 8));
    }
    put(dir, files);
    const int shown = reopen(dir, made.writer, true);
    const Seq seq = at < kFileHeaderBytes ? 0 : (at - kFileHeaderBytes) / kRowBytes;
    if (seq >= made.writer.model(4).next_seq && seq >= made.writer.model(15).lowest_live) {
      EXPECT_GE(shown, 4);
      EXPECT_LE(made.writer.model(static_cast<size_t>(shown)).next_seq, seq);
      went_back += shown < 12 ? 1 : 0;
    }
  }
  EXPECT_GT(went_back, 3);
}

// The rows of dead originals may be damaged, and their space may have been given back.
TEST(Damage, InTheRowsOfDeadOriginalsCostsNothing) {
  uint64_t seed = 30;
  std::optional<Made> made;
  do made.emplace(make_kept(seed++));
  while (made->writer.model(15).lowest_live < made->writer.model(4).next_seq + 3);
  const TempDir dir;
  constexpr uint64_t kRowBytes = 48 + 4 * kMaskWords + (kNumPerm + 3) / 4 * 4;
  Files files = made->files;
  for (Seq seq = made->writer.model(4).next_seq; seq < made->writer.model(15).lowest_live; ++seq)
    files["hot"].replace(kFileHeaderBytes + seq * kRowBytes, kRowBytes, kRowBytes, '\0');
  put(dir, files);
  EXPECT_EQ(reopen(dir, made->writer, false), 15);
}

// A body turns out to be damaged at run time: the next start goes back to a commit before it.
TEST(Damage, WhatWasMarkedIsVerifiedAndCutOff) {
  const Made made = make_kept(22);
  const TempDir dir;
  std::mt19937_64 random(22);
  for (size_t at = kFileHeaderBytes; at < made.files.at("bodies").size(); at += 1 + random() % 60) {
    SCOPED_TRACE(at);
    Files files = made.files;
    files["bodies"][at] = static_cast<char>(files["bodies"][at] ^ (1 << random() % 8));
    put(dir, files);
    mark_damaged(dir.path(), "some body is damaged");
    auto state = StateDir::open(options_of(dir.path()), {});
    if (!state.ok()) {
      EXPECT_EQ(state.status().code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(state.status().message()), testing::HasSubstr("some body is damaged"));
      EXPECT_THAT(std::string(state.status().message()), testing::HasSubstr(dir.file("bodies")));
      std::filesystem::remove(dir.file("DAMAGED"));
      continue;
    }
    EXPECT_FALSE(std::filesystem::exists(dir.file("DAMAGED")));
    const uint64_t documents = (*state)->recovered().documents;
    size_t shown = 0;
    while (made.writer.model(shown).documents != documents) ++shown;
    EXPECT_EQ(difference(**state, made.writer.seed(), made.writer.model(shown)), "");
    EXPECT_GE(shown, 4u);
  }
}

TEST(Damage, OutputsThatAreTooShortForTheNewestCheckpoint) {
  const Made made = make_kept(23);
  for (int reach = 3; reach <= 15; ++reach) {
    const TempDir dir;
    put(dir, made.files);
    auto state = StateDir::open(options_of(dir.path()),
                                [&](std::string_view sink) { return std::stoi(std::string(sink)) <= reach; });
    if (reach < 4) {
      EXPECT_EQ(state.status().code(), absl::StatusCode::kFailedPrecondition);
      continue;
    }
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(matching(**state, made.writer), reach);
  }
}

// An old journal with newer columns: an older state. A new journal with older columns: refused.
TEST(Damage, FilesOfDifferentMoments) {
  const Made made = make(10);
  const TempDir dir;
  Files files = made.files;
  files["journal"] = made.at_checkpoint.at("journal");
  put(dir, files);
  EXPECT_EQ(reopen(dir, made.writer, false), static_cast<int>(kBefore));
  files = made.at_checkpoint;
  files["journal"] = made.files.at("journal");
  put(dir, files);
  EXPECT_EQ(reopen(dir, made.writer, false), reached(made, files["hot"].size(), files["bodies"].size()));
  files["hot"].pop_back();
  put(dir, files);
  EXPECT_EQ(reopen(dir, made.writer, false), -1);
}

}  // namespace
}  // namespace doppel::state_test
