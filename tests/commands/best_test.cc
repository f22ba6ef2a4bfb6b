// doppel scan --best: which record of a cluster is kept.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string text(int topic, int words) {
  std::string out;
  for (int i = 0; i < words; ++i) out += "w" + std::to_string(topic) + "x" + std::to_string(i) + " ";
  return out;
}

struct Line {
  std::string id, line;
  int topic = 0, words = 0;
  int score = -1;  // none
};

// Some clusters of near copies: texts of one topic differ at their ends.
std::vector<Line> documents(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Line> out;
  for (int i = 0; i < 120; ++i) {
    Line line{.id = "d" + std::to_string(i),
              .topic = static_cast<int>(random() % 30),
              .words = 100 + static_cast<int>(random() % 9)};
    if (random() % 4 != 0) line.score = static_cast<int>(random() % 50);
    line.line = R"({"id":")" + line.id + R"(","text":")" + text(line.topic, line.words) + "\"";
    if (line.score >= 0) {
      line.line += R"(,"score":)" + std::to_string(line.score) + R"(,"date":"2024-01-)" +
                   std::string(line.score < 9 ? "0" : "") + std::to_string(1 + line.score % 28) + "\"";
    }
    line.line += "}";
    out.push_back(line);
  }
  return out;
}

TEST(ScanBest, KeepsTheBestOfEachCluster) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Line> lines = documents(seed);
  TempDir dir;
  std::string all;
  for (const Line& line : lines) all += line.line + "\n";
  write_file(dir / "in/a.jsonl", all.substr(0, all.find("{\"id\":\"d60\"")));
  write_file(dir / "in/b.jsonl", all.substr(all.find("{\"id\":\"d60\"")));
  const auto value = [](const std::string& best, const Line& line) -> int {
    if (best == "longest" || best == "shortest") return (best == "longest" ? 1 : -1) * line.words;
    return (best == "score:max" ? 1 : -1) * line.score;
  };
  for (const std::string best : {"longest", "shortest", "score:max", "score:min"}) {
    std::map<int, const Line*> wanted;  // by topic
    for (const Line& line : lines) {
      const Line*& so_far = wanted[line.topic];
      const bool valued = best.starts_with("score") ? line.score >= 0 : true;
      const bool so_far_valued = so_far != nullptr && (!best.starts_with("score") || so_far->score >= 0);
      if (so_far == nullptr || (valued && (!so_far_valued || value(best, line) > value(best, *so_far))))
        so_far = &line;
    }
    std::string expected;
    for (const Line& line : lines)
      if (wanted[line.topic] == &line) expected += line.line + "\n";
    const Ran ran = run_doppel("scan -q --best " + best + " --keep " + (dir / "kept.jsonl") + " -o " +
                               (dir / "out.jsonl") + " " + (dir / "in"));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(read_file(dir / "kept.jsonl"), expected) << best;
    // It does not change which document is a copy of which.
    run_doppel("scan -q -o " + (dir / "plain.jsonl") + " " + (dir / "in"));
    EXPECT_EQ(read_file(dir / "out.jsonl"), read_file(dir / "plain.jsonl"));
    fs::remove(dir / "kept.jsonl");
  }
}

TEST(ScanBest, RefusesWhatCannotBe) {
  TempDir dir;
  write_file(dir / "in.jsonl", "{\"id\":\"a\",\"text\":\"one two three four five\"}\n");
  const auto refused = [&](const std::string& flags) {
    const Ran ran = run_doppel("scan -q " + flags);
    EXPECT_EQ(ran.code, 2) << flags << ran.err;
    return ran.err;
  };
  const std::string in = " " + (dir / "in.jsonl"), keep = " --keep " + (dir / "k.jsonl");
  EXPECT_THAT(refused("--best tallest" + keep + in),
              HasSubstr("\"tallest\" is not one of longest, shortest"));
  EXPECT_THAT(refused("--best longest" + in), HasSubstr("give that, too"));
  EXPECT_THAT(refused("--best longest --state " + (dir / "s") + keep + in), HasSubstr("not with --state"));
  EXPECT_THAT(refused("--best longest" + keep + " - <" + (dir / "in.jsonl")), HasSubstr("read twice"));
}

TEST(ScanBest, AFieldThatNoDocumentHasIsNamed) {
  TempDir dir;
  write_file(dir / "in.jsonl",
             "{\"id\":\"a\",\"text\":\"one two three four five\",\"score\":1}\n"
             "{\"id\":\"b\",\"text\":\"one two three four five\",\"score\":2}\n");
  const auto warned = [&](const std::string& best) {
    return run_doppel("scan -q -o /dev/null --best " + best + " --keep " + (dir / "kept ") +
                      (dir / "in.jsonl"))
        .err;
  };
  EXPECT_THAT(
      warned("scroe:max"),
      ::testing::HasSubstr("no document has a number or a time in the field scroe (did you mean score?)"));
  EXPECT_THAT(warned("x:max"), ::testing::HasSubstr("; the fields are id, text, score"));
  EXPECT_THAT(warned("text:max"), ::testing::HasSubstr("in the field text"));
  EXPECT_EQ(warned("score:max"), "");
}

}  // namespace
}  // namespace doppel::testing
