// doppel overwrites nothing of the user's: outputs that are inputs, or equal outputs, under any name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "commands/daemon.h"
#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using testing::Daemon;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;
namespace fs = std::filesystem;

const std::string kText = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
const std::string kLines =
    R"({"id":"a","text":")" + kText + "\"}\n" + R"({"id":"b","text":")" + kText + "\"}\n";

class WrittenOver : public ::testing::TestWithParam<std::string> {};

// Each command line names in.jsonl as an output, by its name or through a link. Afterwards every file is
// unchanged.
TEST_P(WrittenOver, IsRefusedBeforeAnythingIsOpened) {
  TempDir dir;
  write_file(dir / "in.jsonl", kLines);
  write_file(dir / "a.txt", kText);
  write_file(dir / "docs/x.jsonl", kLines);
  write_file(dir / "c.yaml", "threshold: 0.8\n");
  fs::create_symlink("in.jsonl", dir / "soft");
  fs::create_symlink("missing", dir / "dangling");
  fs::create_hard_link(dir / "in.jsonl", dir / "hard");
  fs::create_hard_link(dir / "docs/x.jsonl", dir / "hard_x");
  fs::create_directory_symlink(".", dir / "here");
  const Ran ran = run_doppel(GetParam(), "cd " + dir.path().string() + " && timeout 20");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_THAT(ran.err, ::testing::AnyOf(HasSubstr("written over"), HasSubstr("overwrite"),
                                        HasSubstr("one file"), HasSubstr("is in"), HasSubstr("is below")));
  EXPECT_EQ(read_file(dir / "in.jsonl"), kLines);
  EXPECT_EQ(read_file(dir / "docs/x.jsonl"), kLines);
  EXPECT_EQ(read_file(dir / "a.txt"), kText);
  EXPECT_FALSE(fs::exists(dir / "missing"));
  EXPECT_FALSE(fs::exists(dir / "out"));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, WrittenOver,
    ::testing::ValuesIn(testing::with_lab({"scan -o in.jsonl in.jsonl",
                                           "scan -o docs/../here/in.jsonl in.jsonl",
                                           "scan -o soft in.jsonl",
                                           "scan -o hard in.jsonl",
                                           "scan -o in.jsonl soft",
                                           "scan --keep in.jsonl in.jsonl",
                                           "scan --rejects hard in.jsonl",
                                           "scan --state idx -o in.jsonl in.jsonl",
                                           "scan --state idx --keep soft in.jsonl",
                                           "scan -o out --keep out in.jsonl",
                                           "scan -o dangling --keep missing in.jsonl",
                                           "scan -o out --rejects here/out in.jsonl",
                                           "scan -o - --keep - in.jsonl",
                                           "scan -o in.jsonl - < in.jsonl",
                                           "scan -o docs/x.jsonl docs",
                                           "scan --keep hard_x docs",
                                           "scan --state idx -o hard_x docs",
                                           "scan --state idx -o idx/out in.jsonl",
                                           "scan --state docs docs",
                                           "scan --keep-files . in.jsonl",
                                           "scan --config c.yaml -o here/c.yaml in.jsonl",
                                           "serve --state idx -o in.jsonl in.jsonl",
                                           "serve --state idx -o hard in.jsonl",
                                           "serve --state idx -o out --keep here/out in.jsonl",
                                           "serve --state idx --keep docs/out docs",
                                           "serve --state docs/idx -o out docs",
                                           "serve --state idx -o idx/out in.jsonl",
                                           "revisits in.jsonl -o in.jsonl",
                                           "revisits hard -o soft",
                                           "revisits -o in.jsonl < in.jsonl",
                                           "tune --sample in.jsonl --svg in.jsonl",
                                           "tune --sample docs --svg docs/x.jsonl",
                                           "explain a.txt in.jsonl --html a.txt",
                                           "explain --in in.jsonl a b --html hard",
                                           "explain --in docs a b --html hard_x"},
                                          {"lab finder --data in.jsonl --html in.jsonl",
                                           "lab finder --quick --html out --markdown out",
                                           "lab finder --data docs --csv docs/csv"})));

// The shell has already opened stdout.
TEST(WrittenOver, StdoutTooWhereItIsAppendedToAnInput) {
  for (const std::string command :
       {"scan in.jsonl", "scan -", "clusters --events in.jsonl", "revisits in.jsonl"}) {
    TempDir dir;
    write_file(dir / "in.jsonl", kLines);
    const std::string shell =
        "cd " + dir.path().string() + " && '" DOPPEL_BINARY "' " + command + " < in.jsonl >> in.jsonl 2> err";
    const int status = std::system(shell.c_str());  // NOLINT(cert-env33-c)
    EXPECT_EQ(WEXITSTATUS(status), 2) << command;
    EXPECT_EQ(read_file(dir / "in.jsonl"), kLines) << command;
    EXPECT_THAT(read_file(dir / "err"), HasSubstr("stdout")) << command;
  }
}

TEST(Places, AnOutputInADirectoryThatIsReadIsNeverAnInput) {
  TempDir dir;
  write_file(dir / "docs/x.jsonl", kLines);
  const std::string docs = dir / "docs";
  // Each run prints how many documents it read: two, whatever other files exist by then.
  const std::string outputs = " --state " + docs + "/idx -o " + docs + "/out.jsonl --keep " + docs +
                              "/keep.jsonl --rejects " + docs + "/rejects.jsonl --keep-files " + docs +
                              "/kept ";
  Ran ran = run_doppel("scan" + outputs + docs);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2 documents, "));
  const std::string events = read_file(dir / "docs/out.jsonl");
  EXPECT_THAT(events, HasSubstr("duplicate-of"));
  ran = run_doppel("scan" + outputs + docs);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("\n0 documents, "));
  EXPECT_EQ(read_file(dir / "docs/out.jsonl"), events);
}

TEST(Places, WhatIsNotThereYetOrEmptyMayLieAmongTheInputs) {
  TempDir dir;
  write_file(dir / "docs/x.jsonl", kLines);
  write_file(dir / "docs/empty.jsonl", "");
  const Ran ran = run_doppel("scan -o " + (dir / "docs/new.jsonl") + " --keep " + (dir / "docs/empty.jsonl") +
                             " " + (dir / "docs"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2 documents, "));
  EXPECT_THAT(read_file(dir / "docs/new.jsonl"), HasSubstr("duplicate-of"));
}

// A link below a followed directory leads to the daemon's output.
TEST(Places, ServeNeverReadsItsOutputsThroughLinks) {
  TempDir dir;
  write_file(dir / "docs/x.jsonl", kLines);
  write_file(dir / "written/out.jsonl", "");
  fs::create_directory_symlink(dir / "written", dir / "docs/link");
  Daemon daemon({"serve", "--state", dir / "written/idx", "-o", dir / "written/out.jsonl", "--set",
                 "output.verdicts=all", dir / "docs"});
  ASSERT_THAT(daemon.log("ready"), HasSubstr("epoch="));
  // Its first events are there when it reads the next documents, and it would have found them.
  for (int i = 0; i < 3; ++i) {
    const std::string id = "later" + std::to_string(i);
    write_file(dir / fmt::format("docs/{}.jsonl", id),
               fmt::format("{{\"id\":\"{}\",\"text\":\"{}\"}}\n", id, kText));
    while (read_file(dir / "written/out.jsonl").find(id) == std::string::npos) std::this_thread::yield();
  }
  daemon.signal(SIGTERM);
  EXPECT_THAT(daemon.log("stopped"), HasSubstr("documents=5 "));
  EXPECT_EQ(daemon.wait(), 0);
}

// dry_run changes nothing, or is refused by name.
TEST(Places, ADryRunWritesNothing) {
  for (const std::string arguments :
       {"scan --state idx in.jsonl", "scan -o out in.jsonl", "scan --keep out in.jsonl",
        "scan --rejects out in.jsonl", "scan --keep-files out in.jsonl", "serve --state idx -o out in.jsonl",
        "rebuild --from log --set state.directory=idx", "forget --state . --id x"}) {
    TempDir dir;
    write_file(dir / "in.jsonl", kLines);
    const Ran ran = run_doppel(arguments, "cd " + dir.path().string() + " && DOPPEL_DRY_RUN=true timeout 20");
    EXPECT_EQ(ran.code, 2) << arguments << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("dry_run: not with ")) << arguments;
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1) << arguments;
  }
  TempDir dir;
  write_file(dir / "in.jsonl", kLines);
  const Ran ran = run_doppel("scan " + (dir / "in.jsonl"), "DOPPEL_DRY_RUN=true");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("duplicate-of"));
}

TEST(Places, AnOutputThatIsGoneIsSaid) {
  TempDir dir;
  write_file(dir / "in.jsonl", kLines);
  const std::string state = " --state " + (dir / "idx") + " ";
  const std::string scan =
      "scan" + state + "--keep " + (dir / "keep") + " -o " + (dir / "out") + " " + (dir / "in.jsonl");
  ASSERT_EQ(run_doppel(scan).code, 0);
  for (const std::string gone : {"out", "keep"}) {
    fs::rename(dir / gone, dir / "away");
    for (const std::string& command : {scan, "serve --set http.listen=" + scan.substr(4)}) {
      const Ran ran = run_doppel(command, "timeout 20");
      EXPECT_EQ(ran.code, 2) << ran.err;
      EXPECT_THAT(ran.err, AllOf(HasSubstr(dir / gone), HasSubstr("is gone"), HasSubstr("put it back")));
      EXPECT_FALSE(fs::exists(dir / gone)) << "an empty file takes its place";
    }
    fs::rename(dir / "away", dir / gone);
  }
  // A run with another name for the output continues.
  write_file(dir / "in.jsonl", kLines + R"({"id":"c","text":")" + kText + "\"}\n");
  fs::remove(dir / "out");
  const Ran ran = run_doppel("scan" + state + "--keep " + (dir / "keep") + " -o " + (dir / "other") + " " +
                             (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(dir / "other"), HasSubstr("\"id\":\"c\""));
}

// If a file is written as a whole, the old one stays until the new one is complete.
TEST(Places, WholeFilesAreReplacedAtOnce) {
  TempDir dir;
  write_file(dir / "real.svg", "old");
  fs::permissions(dir / "real.svg", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.svg", dir / "plot.svg");
  fs::create_hard_link(dir / "real.svg", dir / "witness.svg");
  const Ran ran = run_doppel("tune --svg " + (dir / "plot.svg"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(dir / "plot.svg"), HasSubstr("<svg"));
  EXPECT_TRUE(fs::is_symlink(dir / "plot.svg"));
  EXPECT_EQ(fs::status(dir / "real.svg").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_file(dir / "witness.svg"), "old") << "written in place";
  // No other file is left.
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(dir.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 3u);
  EXPECT_THAT(run_doppel("tune --svg " + (dir / "none/plot.svg")).err,
              AllOf(HasSubstr("none/plot.svg"), HasSubstr("does not exist"), Not(HasSubstr("<svg"))));
}

}  // namespace
}  // namespace doppel
