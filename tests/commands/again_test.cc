// doppel scan over documents that its index already has: they are not copies of themselves.
#include <gmock/gmock.h>

#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string lines(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) {
    const std::string n = std::to_string(i);
    out += R"({"id":"d)" + n + R"(","text":"alpha)" + n + " beta" + n + " gamma" + n + " delta" + n +
           " epsilon" + n + " zeta" + n + "\"}\n";
  }
  return out;
}

TEST(ScanAgain, WhatAPipeGivesAgainIsNoCopy) {
  TempDir dir;
  write_file(dir / "in.jsonl", lines(0, 5));
  const std::string scan = "scan --all --state " + (dir / "state") + " - <" + (dir / "in.jsonl");
  EXPECT_THAT(run_doppel(scan).out, Not(HasSubstr("again")));
  const Ran again = run_doppel(scan);
  EXPECT_THAT(again.out, Not(HasSubstr("duplicate\"")));
  EXPECT_THAT(again.out,
              HasSubstr(R"({"id":"d0","verdict":"unique","duplicate_of":null,"similarity":null,"kind":null,)"
                        R"("event_id":"-~5/0","again":true,"cluster_id":"-/0"})"));
  EXPECT_THAT(again.err, HasSubstr("5 unique, 0 duplicates"));
  EXPECT_THAT(again.err, HasSubstr("5 of them were in the index already"));
  EXPECT_THAT(again.err, HasSubstr("index: 5 originals"));
  // No event says that a document repeats itself.
  EXPECT_EQ(run_doppel("scan -q --state " + (dir / "state") + " - <" + (dir / "in.jsonl")).out, "");
}

TEST(ScanAgain, AFileThatWasWrittenAgain) {
  TempDir dir;
  write_file(dir / "in.jsonl", lines(0, 5));
  run_doppel("scan -q --state " + (dir / "state") + " " + (dir / "in.jsonl"));
  write_file(dir / "next", lines(0, 6));  // another inode, as both are there
  fs::rename(dir / "next", dir / "in.jsonl");
  const std::string keep = " --keep " + (dir / "keep.jsonl");
  const Ran again = run_doppel("scan --state " + (dir / "state") + keep + " " + (dir / "in.jsonl"));
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, HasSubstr("6 unique, 0 duplicates"));
  EXPECT_EQ(read_file(dir / "keep.jsonl"), lines(0, 6));
  // Lines that an earlier run kept in the same file are not kept twice.
  write_file(dir / "next", lines(0, 7));
  fs::rename(dir / "next", dir / "in.jsonl");
  run_doppel("scan -q --state " + (dir / "state") + keep + " " + (dir / "in.jsonl"));
  EXPECT_EQ(read_file(dir / "keep.jsonl"), lines(0, 7));
}

TEST(ScanAgain, AnotherRowIsACopyWhateverItsId) {
  TempDir dir;
  write_file(dir / "a.jsonl", lines(0, 3) + lines(0, 1));
  write_file(dir / "b.jsonl", lines(5, 6) + lines(1, 2));
  const std::string scan = "scan -q --state " + (dir / "state") + " ";
  EXPECT_THAT(run_doppel(scan + (dir / "a.jsonl")).out, HasSubstr(R"("same_id":true)"));
  EXPECT_THAT(run_doppel(scan + (dir / "b.jsonl")).out, HasSubstr(R"("same_id":true)"));
}

}  // namespace
}  // namespace doppel::testing
