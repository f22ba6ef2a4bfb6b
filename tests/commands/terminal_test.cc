// What doppel shows a person at a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::numbered_words;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

// Runs a shell command whose standard streams are a terminal. What it shows is in `out`, with line feeds
// only.
Ran on_terminal(const std::string& command, unsigned short rows = 24, unsigned short columns = 80) {
  winsize size = {};
  size.ws_row = rows;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  Ran ran;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)
    ran.out.append(buffer, static_cast<size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::erase(ran.out, '\r');
  return ran;
}

Ran doppel_on_terminal(const std::string& arguments, unsigned short rows = 24) {
  return on_terminal("'" DOPPEL_BINARY "' " + arguments, rows);
}

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Terminal, ShowsOriginalsAndTheirCopies) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  write_file(dir / "in/b.txt", numbered_words(0, 100));
  write_file(dir / "in/c.txt", numbered_words(2, 100));
  write_file(dir / "in/d.txt", numbered_words(500, 600));
  const Ran shown = doppel_on_terminal("scan " + (dir / "in"));
  EXPECT_EQ(shown.code, 0) << shown.out;
  // 690 bytes of b.txt and 678 of c.txt.
  EXPECT_THAT(shown.out,
              HasSubstr(dir / "in/a.txt" + "  (1.3 KiB could go)\n" + "  exact  " + (dir / "in/b.txt") +
                        "\n  0.979  " + (dir / "in/c.txt") + "\n4 documents, "));
  EXPECT_THAT(shown.out, AllOf(HasSubstr("-o FILE writes"), Not(HasSubstr("duplicate-of"))));

  // A pipe and -o get events as ever.
  const Ran piped = on_terminal("'" DOPPEL_BINARY "' scan " + (dir / "in") + " | cat");
  EXPECT_THAT(piped.out, AllOf(HasSubstr("duplicate-of"), Not(HasSubstr("could go"))));
  const Ran lines = doppel_on_terminal("scan -q -o - " + (dir / "in"));
  EXPECT_EQ(lines_of(lines.out), 2) << lines.out;
  EXPECT_THAT(lines.out, HasSubstr("duplicate-of"));
  const Ran written = doppel_on_terminal("scan -o " + (dir / "events") + " " + (dir / "in"));
  EXPECT_THAT(written.out, Not(HasSubstr("could go")));
  EXPECT_EQ(lines_of(read_file(dir / "events")), 2);
}

TEST(Terminal, GroupsFillAtMostAScreen) {
  TempDir dir;
  std::string lines;
  for (int group = 0; group < 40; ++group) {
    for (int copy = 0; copy <= group % 7; ++copy) {
      const std::string id = "g" + std::to_string(group) + "-" + std::to_string(copy);
      lines +=
          R"({"id":")" + id + R"(","text":")" + numbered_words(group * 1000, group * 1000 + 60) + "\"}\n";
    }
  }
  write_file(dir / "in.jsonl", lines);
  for (const unsigned short rows : {10, 24, 40, 60}) {
    const Ran shown = doppel_on_terminal("scan " + (dir / "in.jsonl"), rows);
    const size_t last = shown.out.find("more originals with ");
    ASSERT_NE(last, std::string::npos) << shown.out;
    EXPECT_LT(lines_of(shown.out), std::max<int64_t>(rows, 14)) << shown.out;
    EXPECT_THAT(shown.out, HasSubstr("g13-0  ("));  // six copies
    EXPECT_THAT(shown.out, HasSubstr("  and 3 more\n"));
  }
  const Ran all = doppel_on_terminal("scan " + (dir / "in.jsonl"), 400);
  EXPECT_THAT(all.out, AllOf(HasSubstr("g1-0  ("), HasSubstr("g39-0  ("), Not(HasSubstr("more originals"))));
}

TEST(Terminal, ANameWithControlsIsHarmlessAndALongOneFits) {
  TempDir dir;
  const std::string folder = dir / ("in/" + std::string(100, 'x'));
  write_file(folder + "/a\x1b[2J.txt", numbered_words(0, 100));
  write_file(folder + "/b.txt", numbered_words(0, 100));
  const Ran shown = doppel_on_terminal("scan -q " + (dir / "in"));
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("\n  exact  ..."), HasSubstr("xxx/b.txt\n"), Not(HasSubstr("\x1b[2J"))));
  for (size_t at = 0; at < shown.out.size();) {
    const size_t end = std::min(shown.out.find('\n', at), shown.out.size());
    EXPECT_LE(end - at, 84u) << shown.out;  // U+FFFD takes three bytes
    at = end + 1;
  }
}

TEST(Terminal, OneDuplicateIsOne) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  write_file(dir / "in/b.txt", numbered_words(0, 100));
  EXPECT_THAT(run_doppel("scan " + (dir / "in")).err, HasSubstr("1 unique, 1 duplicate (1 exact, 0 near)"));
}

TEST(Terminal, ScanAloneExplainsItself) {
  const Ran alone = doppel_on_terminal("scan");  // a scan that waits for the terminal would never end
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.out, AllOf(HasSubstr("doppel scan FOLDER"), HasSubstr("--help")));
}

TEST(Terminal, APathIsScanned) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  write_file(dir / "in/b.txt", numbered_words(0, 100));
  write_file(dir / "c.txt", numbered_words(0, 99));
  EXPECT_EQ(run_doppel(dir / "in").out, run_doppel("scan " + (dir / "in")).out);
  const Ran all = run_doppel((dir / "in") + " " + (dir / "c.txt") + " --all -q");
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(lines_of(all.out), 3);
  const Ran none = run_doppel(dir / "none");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no such file or folder"));
}

TEST(Terminal, WhatOtherProgramsHaveNamesTheCommand) {
  for (const auto& [tried, meant] :
       {std::pair("dedup x", "doppel scan PATH"), std::pair("find x", "doppel scan PATH"),
        std::pair("diff a b", "doppel explain"), std::pair("compare a b", "doppel explain"),
        std::pair("version", "doppel --version"), std::pair("-V", "doppel --version"),
        std::pair("-r x", "doppel scan FOLDER"), std::pair("--keep x y", "doppel scan"),
        std::pair("scan -r /usr/share/doc", "leave -r out")}) {
    const Ran ran = run_doppel(tried);
    EXPECT_EQ(ran.code, 2) << tried;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(meant)) << tried;
  }
}

TEST(Terminal, OutputsWithTheNameOfAnotherFormatAreRefused) {
  TempDir dir;
  write_file(dir / "in.jsonl", R"({"text":"a"})");
  for (const auto& [flag, meant] :
       {std::pair("-o x.html", "doppel explain"), std::pair("-o x.csv", "duckdb -c"),
        std::pair("--keep x.csv", "duckdb -c"), std::pair("--keep x.tsv", "duckdb -c"),
        std::pair("--keep x.html", "doppel explain"), std::pair("--keep x.xlsx", "duckdb -c")}) {
    const Ran ran = run_doppel("scan " + std::string(flag) + " " + (dir / "in.jsonl"));
    EXPECT_EQ(ran.code, 2) << flag;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("JSON lines"), HasSubstr(meant))) << flag;
    EXPECT_FALSE(testing::fs::exists("x.html") || testing::fs::exists("x.csv"));
  }
}

}  // namespace
}  // namespace doppel
