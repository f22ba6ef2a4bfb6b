// Which files are read, in which order, the messages about unreadable ones, and which files count as new.

#include <gmock/gmock.h>
#include <grp.h>
#include <sys/wait.h>

#include "files_testing.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FilesSourceOptions of(std::vector<std::string> paths) {
  FilesSourceOptions options;
  options.paths = std::move(paths);
  return options;
}
std::vector<std::string> values(const Taken& taken) {
  std::vector<std::string> out;
  for (const InputLine& line : taken.lines) out.push_back(line.value);
  return out;
}
std::string last_position(const Taken& taken) {
  return taken.positions.empty() ? "" : taken.positions.back();
}

TEST(Files, OfADirectoryInByteOrderOfTheirPaths) {
  TemporaryDirectory d;
  write_file(d / "b/c.txt", "b/c");
  write_file(d / "b.txt", "b.txt");
  write_file(d / "a/z.txt", "a/z");
  write_file(d / "B.txt", "B");
  write_file(d / ".hidden.txt", "no");
  write_file(d / "b/.git/x.txt", "no");
  std::filesystem::create_symlink(d / "b.txt", d / "link.txt");
  std::filesystem::create_directory_symlink(d.path(), d / "b/loop");
  std::filesystem::create_symlink(d / "nowhere", d / "dangling.txt");
  Taken taken = take_all(of({d.path()}));
  EXPECT_THAT(values(taken), ElementsAre("B", "a/z", "b.txt", "b/c"));  // link.txt leads to b.txt
  ASSERT_EQ(taken.problems.size(), 2u);
  std::string both = taken.problems[0].message + taken.problems[1].message;
  EXPECT_THAT(both, HasSubstr("dangling.txt: No such file or directory"));
  EXPECT_THAT(both, HasSubstr("b/loop: a link to a directory"));
}

TEST(Files, ByLayout) {
  TemporaryDirectory d;
  for (std::string name : {"a.JSONL", "b.ndjson", "c.json", "d.txt", "e.md"}) write_file(d / name, "1\n2\n");
  write_file(d / "f.json.gz", gz("1\n2\n"));
  write_file(d / "g.txt.zst", zst("1\n2\n"));
  FilesSourceOptions options = of({d.path()});
  EXPECT_EQ(take_all(options).lines.size(), 4u * 2 + 3);
  options.layout = Layout::lines;
  EXPECT_EQ(take_all(options).lines.size(), 14u);
  options.layout = Layout::whole;
  EXPECT_EQ(take_all(options).lines.size(), 7u);
}

TEST(Files, WholeOnesAreMarkedAndHaveNoLines) {
  TemporaryDirectory d;
  write_file(d / "a.txt", "1\n2\n");
  write_file(d / "b.txt", "");
  auto source = must_open(of({d.path()}));
  Batch batch;
  ASSERT_TRUE(*source->next(batch));
  ASSERT_EQ(batch.records.size(), 2u);
  EXPECT_TRUE(batch.records[0].whole_file);
  EXPECT_EQ(batch.records[0].line, 0u);
  EXPECT_EQ(batch.records[1].value, "");
}

TEST(Files, LargeOnesComeAsPieces) {
  TemporaryDirectory d;
  std::string large;
  for (int i = 0; large.size() < 700'000; ++i) large += std::to_string(i) + " ";
  write_file(d / "a.txt", large);
  write_file(d / "b.txt.gz", gz(large));
  write_file(d / "c.txt.zst", zst(large));
  write_file(d / "d.txt", "small");
  FilesSourceOptions options = of({d.path()});
  options.max_whole_bytes = 300'000;
  Taken taken = take_all(options);
  EXPECT_THAT(values(taken), ElementsAre(large, large, large, "small"));
  EXPECT_THAT(values(take_all(options, last_position(taken))), IsEmpty());
}

TEST(Files, APieceThatCannotBeReadNamesItsFile) {
  TemporaryDirectory d;
  std::string large(700'000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(' ' + (i * i >> 7) % 90);
  std::string bytes = gz(large);
  write_file(d / "a.txt.gz", bytes.substr(0, bytes.size() - 100));
  write_file(d / "b.txt", large);
  FilesSourceOptions options = of({d.path()});
  options.max_whole_bytes = 300'000;
  auto source = must_open(options);
  Batch batch;
  ASSERT_TRUE(*source->next(batch));
  ASSERT_EQ(batch.records.size(), 2u);
  absl::StatusOr<std::string_view> piece("");
  size_t taken = 0;
  do {
    piece = batch.records[0].pieces->next();
    if (piece.ok()) taken += piece->size();
  } while (piece.ok() && !piece->empty());
  EXPECT_GT(taken, 600'000u);
  EXPECT_THAT(piece.status().ToString(), HasSubstr("a.txt.gz: byte " + std::to_string(taken)));
  std::filesystem::remove(d / "b.txt");
  EXPECT_THAT(batch.records[1].pieces->next().status().ToString(), HasSubstr("b.txt: No such file"));
}

TEST(Files, DamagedOnesGiveTheirCompleteLines) {
  TemporaryDirectory d;
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += "{\"n\": " + std::to_string(i * 7919 % 100'003) + "}\n";
  for (bool zstd : {false, true}) {
    std::string whole = zstd ? zst(content) : gz(content);
    std::string path = d / (zstd ? "a.jsonl.zst" : "a.jsonl.gz");
    for (bool cut : {true, false}) {
      std::string bytes = whole;
      if (cut) {
        bytes.resize(bytes.size() - 100);
      } else {
        for (size_t i = bytes.size() * 3 / 4; i < bytes.size() * 3 / 4 + 40; ++i)
          bytes[i] = static_cast<char>(~bytes[i]);
      }
      write_file(path, bytes);
      write_file(d / "b.jsonl", "next\n");
      Taken taken = take_all(of({d.path()}));
      ASSERT_EQ(taken.problems.size(), 1u);
      EXPECT_THAT(taken.problems[0].message, HasSubstr(path + ": line "));
      EXPECT_THAT(taken.problems[0].message, HasSubstr(cut ? "ends too early" : "damaged"));
      ASSERT_GT(taken.lines.size(), 1000u);
      EXPECT_EQ(taken.lines.back().value, "next");
      taken.lines.pop_back();
      if (cut) {
        std::vector<InputLine> all = split_lines(content);
        all.resize(taken.lines.size());
        EXPECT_EQ(taken.lines, all);
        EXPECT_GE(taken.problems[0].offset, taken.lines.back().offset);
      }
      // It is not read again as long as it does not change.
      Taken again = take_all(of({d.path()}), last_position(taken));
      EXPECT_THAT(values(again), IsEmpty());
      EXPECT_THAT(again.problems, IsEmpty());
      std::filesystem::remove(path);
    }
  }
}

TEST(Files, NotPackedAtAllOrFollowedByRubbish) {
  TemporaryDirectory d;
  write_file(d / "a.jsonl.gz", "{\"plain\": 1}\n");
  write_file(d / "b.jsonl.gz", gz("one\n") + std::string(1000, '\0'));
  write_file(d / "c.jsonl.gz", gz("two\n") + "rubbish");
  write_file(d / "d.jsonl.gz", "");
  write_file(d / "e.jsonl.zst", "");
  write_file(d / "f.txt.gz", gz("x").substr(0, 12));
  Taken taken = take_all(of({d.path()}));
  EXPECT_THAT(values(taken), ElementsAre("{\"plain\": 1}", "one", "two"));
  ASSERT_EQ(taken.problems.size(), 2u);
  EXPECT_THAT(taken.problems[0].message, HasSubstr("c.jsonl.gz: line 2, byte 4: something else follows"));
  EXPECT_THAT(taken.problems[1].message, HasSubstr("f.txt.gz: byte "));
}

TEST(Files, ThatVanishOrMayNotBeRead) {
  TemporaryDirectory d;
  for (std::string name : {"a.jsonl", "b.jsonl", "c.jsonl"}) write_file(d / name, name + "\n");
  ::chmod(d.path().c_str(), 0755);
  ::chmod((d / "b.jsonl").c_str(), 0);
  write_file(d / "locked/x.txt", "x");
  ::chmod((d / "locked").c_str(), 0);
  // Root may read everything, so a child looks as another user.
  pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
      ::_exit(9);
    auto source = open_files_source(of({d.path()}), "");
    if (!source.ok()) ::_exit(1);
    Taken taken = take_all(**source);
    if (values(taken) != std::vector<std::string>{"a.jsonl", "c.jsonl"}) ::_exit(2);
    if (taken.problems.size() != 2) ::_exit(3);
    if (taken.problems[0].message != d / "locked" + ": Permission denied") ::_exit(4);
    if (taken.problems[1].message != d / "b.jsonl" + ": Permission denied") ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::chmod((d / "locked").c_str(), 0755);

  auto source = must_open(of({d / "a.jsonl", d / "c.jsonl"}));
  std::filesystem::remove(d / "a.jsonl");
  Taken taken = take_all(*source);
  EXPECT_THAT(values(taken), ElementsAre("c.jsonl"));
  ASSERT_EQ(taken.problems.size(), 1u);
  EXPECT_EQ(taken.problems[0].message, d / "a.jsonl" + ": No such file or directory");
}

TEST(Files, ErrorsAtTheStart) {
  TemporaryDirectory d;
  EXPECT_THAT(open_files_source(of({d / "none"}), "").status().ToString(), HasSubstr("none: No such file"));
  EXPECT_THAT(open_files_source(of({d.path()}), "").status().ToString(),
              HasSubstr("nothing to read in " + d.path()));
  EXPECT_THAT(open_files_source(of({}), "").status().ToString(), HasSubstr("nothing to read"));
}

TEST(Position, DamageIsNoticed) {
  TemporaryDirectory d;
  write_file(d / "a.jsonl", "1\n2\n");
  write_file(d / "b.txt", "whole");
  std::string position = last_position(take_all(of({d.path()})));
  for (size_t i = 0; i < position.size(); ++i) {
    std::string damaged = position;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_FALSE(open_files_source(of({d.path()}), damaged).ok()) << i;
    std::string cut = position.substr(0, i);
    EXPECT_TRUE(i == 0 || !open_files_source(of({d.path()}), cut).ok()) << i;
  }
}

TEST(Position, GrowthIsReadAndNothingElse) {
  TemporaryDirectory d;
  std::string a = d / "a.jsonl";
  write_file(a, "1\n2\n");
  write_file(d / "b.jsonl.gz", gz("3\n"));
  write_file(d / "c.txt", "whole");
  Taken taken = take_all(of({d.path()}));
  EXPECT_EQ(taken.lines.size(), 4u);
  EXPECT_THAT(values(take_all(of({d.path()}), last_position(taken))), IsEmpty());

  write_file(a, "new\n", true);
  write_file(d / "b.jsonl.gz", gz("more\n"), true);
  write_file(d / "aa.jsonl", "between\n");
  write_file(d / "c.txt", "er", true);
  FilesSourceOptions one = of({d.path()});
  one.batch_records = 1;
  Taken more = take_all(one, last_position(taken));
  EXPECT_EQ(more.lines,
            (std::vector<InputLine>{{"new", 4, 3}, {"between", 0, 1}, {"more", 2, 2}, {"wholeer", 0, 0}}));
  for (size_t i = 0; i < more.positions.size(); ++i) {
    EXPECT_EQ(take_all(one, more.positions[i]).lines.size(), more.lines.size() - more.counts[i]) << i;
  }
}

TEST(Position, ALastLineWithoutEnd) {
  TemporaryDirectory d;
  for (bool pack : {false, true}) {
    std::string path = d / (pack ? "a.jsonl.gz" : "a.jsonl");
    auto add = [&](const std::string& bytes) { write_file(path, pack ? gz(bytes) : bytes, true); };
    add("1\n{\"half");
    Taken first = take_all(of({path}));
    EXPECT_THAT(values(first), ElementsAre("1", "{\"half"));
    // Only its end was added: the line is known.
    add("\n");
    Taken second = take_all(of({path}), last_position(first));
    EXPECT_THAT(values(second), IsEmpty());
    add("3\n");
    EXPECT_EQ(take_all(of({path}), last_position(first)).lines, (std::vector<InputLine>{{"3", 9, 3}}));
    std::filesystem::remove(path);
    add("1\n{\"half");
    first = take_all(of({path}));
    add("\r\n3\n");
    EXPECT_EQ(take_all(of({path}), last_position(first)).lines, (std::vector<InputLine>{{"3", 10, 3}}));
    // It became longer: the whole line comes.
    std::filesystem::remove(path);
    add("1\n{\"half");
    first = take_all(of({path}));
    add("\":1}\n3");
    Taken third = take_all(of({path}), last_position(first));
    EXPECT_EQ(third.lines, (std::vector<InputLine>{{"{\"half\":1}", 2, 2}, {"3", 13, 3}}));
    EXPECT_THAT(values(take_all(of({path}), last_position(third))), IsEmpty());
  }
}

TEST(Position, RotationAndReplacement) {
  TemporaryDirectory d;
  std::string log = d / "a.jsonl";
  write_file(log, "1\n2\n");
  std::string position = last_position(take_all(of({d.path()})));
  std::filesystem::rename(log, d / "a.1.jsonl");
  write_file(d / "a.1.jsonl", "3\n", true);
  write_file(log, "4\n");
  Taken taken = take_all(of({d.path()}), position);
  EXPECT_THAT(values(taken), ElementsAre("3", "4"));
  position = last_position(taken);
  // The same inode with other content, and with shorter content.
  write_file(log, "5\n6\n");
  EXPECT_THAT(values(take_all(of({d.path()}), position)), ElementsAre("5", "6"));
  write_file(log, "");
  EXPECT_THAT(values(take_all(of({d.path()}), position)), IsEmpty());
}

TEST(Position, WhatWasInterruptedAndIsGoneIsTold) {
  TemporaryDirectory d;
  write_file(d / "a.jsonl", "1\n2\n3\n");
  write_file(d / "b.jsonl", "4\n");
  FilesSourceOptions options = of({d.path()});
  options.batch_records = 2;
  Taken taken = take_all(options);
  std::filesystem::remove(d / "a.jsonl");
  Taken rest = take_all(options, taken.positions[0]);
  EXPECT_THAT(values(rest), ElementsAre("4"));
  ASSERT_EQ(rest.problems.size(), 1u);
  EXPECT_THAT(rest.problems[0].message,
              HasSubstr("a.jsonl: line 2, byte 4: the last run was interrupted here"));
  EXPECT_THAT(take_all(options, last_position(rest)).problems, IsEmpty());
}

TEST(Position, FilesOfOtherRunsStayKnown) {
  TemporaryDirectory d;
  write_file(d / "a.jsonl", "1\n2\n3\n");
  write_file(d / "b.jsonl", "4\n");
  write_file(d / "c.txt", "5");
  FilesSourceOptions a = of({d / "a.jsonl"});
  a.batch_records = 2;
  Taken first = take_all(a);
  Taken second = take_all(of({d / "b.jsonl", d / "c.txt"}), first.positions[0]);
  EXPECT_THAT(values(second), ElementsAre("4", "5"));
  EXPECT_THAT(second.problems, IsEmpty());
  EXPECT_THAT(values(take_all(of({d.path()}), last_position(second))), ElementsAre("3"));
}

TEST(Position, APathGivenTwiceIsReadOnce) {
  TemporaryDirectory d;
  write_file(d / "a.jsonl", "1\n2\n");
  write_file(d / "b.txt", "3");
  FilesSourceOptions options = of({d / "a.jsonl", d / "b.txt", d / "a.jsonl", d / "b.txt"});
  options.batch_records = 1;
  Taken all = take_all(options);
  EXPECT_THAT(values(all), ElementsAre("1", "2", "3"));
  for (size_t i = 0; i < all.positions.size(); ++i) {
    EXPECT_EQ(take_all(options, all.positions[i]).lines.size(), 2 - i);
  }
}

TEST(Position, StaysCheapWithManyFiles) {
  TemporaryDirectory d;
  for (int i = 0; i < 3000; ++i) write_file(d / (std::to_string(i) + ".txt"), "text " + std::to_string(i));
  FilesSourceOptions options = of({d.path()});
  options.batch_records = 100;
  Taken all = take_all(options);
  ASSERT_EQ(all.lines.size(), 3000u);
  EXPECT_LE(last_position(all).size(), 3000u * 9 + 16);
  Taken rest = take_all(options, all.positions[14]);
  EXPECT_EQ(rest.lines, std::vector<InputLine>(all.lines.begin() + 1500, all.lines.end()));
}

}  // namespace
}  // namespace doppel
