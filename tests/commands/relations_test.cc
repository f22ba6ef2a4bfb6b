// Copies of a part, as a user of scan sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "commands/replaced.h"
#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

// Words that no other range contains.
std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}
std::string line(const std::string& id, const std::string& text) {
  return R"({"id": ")" + id + R"(", "text": ")" + text + "\"}\n";
}

const std::string kAll = " --set relations=near,contained,contains,shares ";

TEST(Relations, AreInTheVerdictsOfUniqueDocuments) {
  TempDir dir;
  write_file(dir / "in.jsonl",
             line("whole", words(0, 600)) + line("half", words(0, 300)) +
                 line("wrap", words(5'000, 5'900) + words(0, 600)) +
                 line("quote", words(8'000, 9'000) + words(200, 400) + words(9'000, 9'500)) +
                 line("near", words(3, 600)));
  const Ran ran = run_doppel("scan --all" + kAll + (dir / "in.jsonl"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(R"("id":"half","verdict":"unique")"));
  EXPECT_THAT(ran.out, HasSubstr(R"("relations":[{"relation":"contained","id":"whole",)"));
  EXPECT_THAT(ran.out, HasSubstr(R"("passages":[[0,300]],"bytes":[[0,)" +
                                 std::to_string(words(0, 300).size() - 1) + "]]"));
  EXPECT_THAT(ran.out, HasSubstr(R"({"relation":"contains","id":"whole",)"));
  EXPECT_THAT(ran.out, HasSubstr(R"({"relation":"shares","id":"whole",)"));
  const size_t before = words(8'000, 9'000).size();
  EXPECT_THAT(ran.out, HasSubstr(R"("passages":[[1000,1200]],"bytes":[[)" + std::to_string(before) + "," +
                                 std::to_string(before + words(200, 400).size() - 1) + "]]"));
  EXPECT_THAT(ran.out, HasSubstr(R"("id":"near","verdict":"duplicate","duplicate_of":"whole")"));
  EXPECT_THAT(
      ran.err,
      HasSubstr("of the unique ones, 1 are parts of others; 1 have others in them; 1 share a passage"));
}

TEST(Relations, AreAFlagWhichNeedsNotNameNear) {
  TempDir dir;
  write_file(dir / "in.jsonl",
             line("whole", words(0, 600)) + line("half", words(0, 300)) + line("near", words(3, 600)));
  for (const char* flag : {"--relations contained,contains ", "--relations near,contained,contains "}) {
    const Ran ran = run_doppel("scan --all " + std::string(flag) + (dir / "in.jsonl"));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(R"("relations":[{"relation":"contained","id":"whole",)"));
    EXPECT_THAT(ran.out, HasSubstr(R"("id":"near","verdict":"duplicate")"));
    EXPECT_THAT(ran.err, HasSubstr("of the unique ones, 1 are parts of others\n"));
  }
  EXPECT_THAT(run_doppel("scan --relations contaned " + (dir / "in.jsonl")).err, HasSubstr("contained"));
}

TEST(Relations, AreOffUnlessTheyAreAskedFor) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("whole", words(0, 600)) + line("half", words(0, 300)));
  const Ran ran = run_doppel("scan --all " + (dir / "in.jsonl"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("relations")));
}

TEST(Relations, AreEventsAndMayMakeDuplicates) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("whole", words(0, 600)) + line("half", words(0, 300)));
  const Ran events = run_doppel("scan" + kAll + (dir / "in.jsonl"));
  ASSERT_EQ(events.code, 0) << events.err;
  EXPECT_THAT(events.out, HasSubstr(R"({"type":"partial-copy-of","version":1,)"));
  const Ran kept = run_doppel("scan --all --set partial=duplicate" + kAll + "--keep " +
                              (dir / "kept.jsonl ") + (dir / "in.jsonl"));
  ASSERT_EQ(kept.code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr(R"("id":"half","verdict":"duplicate","duplicate_of":"whole")"));
  EXPECT_THAT(kept.out, HasSubstr(R"("kind":"contained")"));
  EXPECT_EQ(testing::read_file(dir / "kept.jsonl"), line("whole", words(0, 600)));
}

TEST(Relations, OutliveARestart) {
  TempDir dir;
  write_file(dir / "one.jsonl", line("whole", words(0, 600)));
  write_file(dir / "two.jsonl", line("half", words(0, 300)));
  const std::string state = "--state " + (dir / "state ");
  ASSERT_EQ(run_doppel("scan" + kAll + state + (dir / "one.jsonl")).code, 0);
  const Ran ran = run_doppel("scan --all" + kAll + state + (dir / "two.jsonl"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(R"("relations":[{"relation":"contained","id":"whole",)"));
}

TEST(Relations, AnIndexKeepsThoseThatItWasMadeWith) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("whole", words(0, 600)));
  const std::string without = "--state " + (dir / "without ") + (dir / "in.jsonl");
  const std::string with = "--state " + (dir / "with ") + (dir / "in.jsonl");
  ASSERT_EQ(run_doppel("scan " + without).code, 0);
  ASSERT_EQ(run_doppel("scan" + kAll + with).code, 0);
  // One line says what differs, and it names the setting.
  const auto refused = [](const Ran& ran) {
    EXPECT_NE(ran.code, 0);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 2) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(
      refused(run_doppel("scan -q" + kAll + without)),
      HasSubstr("relations: the index was made with [near], now [near, contained, contains, shares]"));
  EXPECT_THAT(refused(run_doppel("scan -q --relations contained " + with)),
              HasSubstr("relations: the index was made with [near, contained, contains, shares], now"));
  const std::string longer = " --set passage_words=200 ";
  EXPECT_THAT(refused(run_doppel("scan -q" + kAll + longer + with)),
              HasSubstr("passage_words: the index was made with 154, now 200"));
  // What is left out is the index's own.
  write_file(dir / "half.jsonl", line("half", words(0, 300)));
  const Ran own = run_doppel("scan -q --state " + (dir / "with ") + (dir / "half.jsonl"));
  EXPECT_THAT(own.out, HasSubstr(R"("relations":[{"relation":"contained",)"));
}

// Originals that are nearly similar enough are named, so that a person can look at them.
TEST(Relations, SimilarOnesAreReportedAndNeverDuplicates) {
  TempDir dir;
  // 496 of the 696 shingles of the two texts are in both: .712644.
  write_file(dir / "in.jsonl", line("whole", words(0, 600)) +
                                   line("other", words(0, 500) + words(900, 1'000)) +
                                   line("far", words(0, 300) + words(2'000, 2'300)));
  const std::string in = " --keep " + (dir / "kept.jsonl ") + (dir / "in.jsonl");
  const Ran events = run_doppel("scan --relations similar" + in);
  ASSERT_EQ(events.code, 0) << events.err;
  EXPECT_THAT(events.out, HasSubstr(R"("type":"partial-copy-of")"));
  EXPECT_THAT(events.out, HasSubstr(R"("relations":[{"relation":"similar",)"));
  EXPECT_THAT(events.out,
              HasSubstr(R"("of_document":0.712643,"of_original":0.712643,"shared":496,"passages":[])"));
  EXPECT_EQ(std::count(events.out.begin(), events.out.end(), '\n'), 1) << events.out;
  EXPECT_THAT(events.err,
              HasSubstr("of the unique ones, 1 are less similar to an original than the threshold"));
  const std::string kept = read_file(dir / "kept.jsonl");
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 3) << kept;
  EXPECT_EQ(run_doppel("scan --relations similar --set report_from=.72" + in).out, "");
  // What reaches the threshold is a duplicate, and what is contained is not named twice.
  EXPECT_THAT(run_doppel("scan -t .7 --relations similar" + in).out, HasSubstr(R"("similarity":0.712643)"));
  const Ran both = run_doppel("scan --relations contained,similar --set containment=.7 " + in);
  EXPECT_THAT(both.out, HasSubstr(R"("relations":[{"relation":"contained",)"));
  EXPECT_THAT(both.out, Not(HasSubstr(R"("relation":"similar")"))) << both.out;
  EXPECT_THAT(run_doppel("scan --relations similar --set report_from=.8" + in).err,
              HasSubstr("report_from is 0.8, not below the threshold 0.8"));
}

TEST(Relations, HaveNamesAndNeedSets) {
  const Ran name = run_doppel("scan --set relations=near,quotes /dev/null");
  EXPECT_THAT(name.err, HasSubstr("\"quotes\" is not one of near, contained, contains, shares, similar"));
  const Ran sets = run_doppel("scan --set relations=near,shares --set verify=signature /dev/null");
  EXPECT_THAT(sets.err, HasSubstr("verify: exact"));
}

// Documents that were signed elsewhere have the same relations, although nobody has their texts.
TEST(Relations, OfSignedRecordsAreThoseOfTheirDocuments) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("whole", words(0, 600)) + line("half", words(0, 300)) +
                                   line("wrap", words(5'000, 5'900) + words(0, 600)) +
                                   line("quote", words(8'000, 9'000) + words(200, 400) + words(0, 40)));
  const std::string key = "DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff";
  const Ran sign = run_doppel("sign -q" + kAll + (dir / "in.jsonl") + " -o " + (dir / "in.signed"), key);
  ASSERT_EQ(sign.code, 0) << sign.err;
  const Ran texts = run_doppel("scan -q --all" + kAll + (dir / "in.jsonl"), key);
  const Ran records = run_doppel("scan -q --all --format signed" + kAll + (dir / "in.signed"), key);
  ASSERT_EQ(records.code, 0) << records.err;
  EXPECT_THAT(texts.out, HasSubstr(R"("relation":"shares")"));
  EXPECT_EQ(records.out, testing::replaced(texts.out, R"(,"bytes":\[\[[][0-9,]*\]\])", ""));
}

}  // namespace
}  // namespace doppel
