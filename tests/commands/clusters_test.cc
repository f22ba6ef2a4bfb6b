#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "commands/run_doppel.h"
#include "fmt/format.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// scan's own clusters, and the clusters of its events, also if some events come twice.
TEST(ClustersCommand, AsScanWritesThem) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TempDir dir;
  std::string records;
  for (int i = 0; i < 300; ++i) {
    const int of = static_cast<int>(random() % 60);
    std::string text;
    for (int w = 0; w < 50; ++w) text += "w" + std::to_string(of * 1000 + w) + " ";
    if (random() % 2 == 0) text += "x" + std::to_string(random() % 3);
    records += R"({"id":"d\")" + std::to_string(i) + R"(","text":")" + text + "\"}\n";
  }
  write_file(dir / "in.jsonl", records);
  const Ran expected = run_doppel("scan -q --clusters " + (dir / "in.jsonl"));
  ASSERT_EQ(expected.code, 0) << expected.err;
  EXPECT_THAT(expected.out, HasSubstr("cluster_id"));
  const Ran events = run_doppel("scan -q " + (dir / "in.jsonl"));
  write_file(dir / "events", events.out);
  EXPECT_EQ(run_doppel("clusters --events " + (dir / "events")).out, expected.out);
  EXPECT_EQ(run_doppel("clusters --events - < " + (dir / "events")).out, expected.out);
  const std::string rest = events.out.substr(events.out.find('\n', events.out.size() / 2) + 1);
  write_file(dir / "again", rest);
  EXPECT_EQ(run_doppel("clusters --events " + (dir / "events") + " " + (dir / "again")).out, expected.out);
}

// A story that grows: an early short form, a correction, a longer form, and one without a date.
TEST(ClustersCommand, VersionsAreInTheOrderOfTheirDates) {
  TempDir dir;
  const auto line = [](const std::string& id, const std::string& date, int from, int to) {
    std::string text;
    for (int w = from; w < to; ++w) text += "w" + std::to_string(w) + " ";
    return R"({"id":")" + id + "\"," + (date.empty() ? "" : R"("date":")" + date + "\",") + R"("text":")" +
           text + "\"}\n";
  };
  write_file(dir / "in.jsonl", line("noon", "2026-03-01T12:00:00Z", 0, 400) + line("undated", "", 2, 400) +
                                   line("evening", "2026-03-01T18:00:00+00:00", 0, 900) +
                                   line("morning", "2026-03-01T06:00:00Z", 0, 398) +
                                   line("other", "2026-03-01T07:00:00Z", 5000, 5400));
  const Ran events = run_doppel("scan -q --relations contained,contains " + (dir / "in.jsonl"));
  write_file(dir / "events", events.out);
  const std::string out = run_doppel("clusters --join contained --versions --events " + (dir / "events")).out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  EXPECT_THAT(out, HasSubstr(R"("id":"noon","size":4,"last":")" + (dir / "in.jsonl")));
  const auto evening = read_file(dir / "in.jsonl").find(R"({"id":"evening")");
  EXPECT_THAT(out, HasSubstr(fmt::format(R"(,"longest":"{}/{}","versions":)", dir / "in.jsonl", evening)));
  EXPECT_THAT(out, ::testing::ContainsRegex(
                       R"("versions":\[\{"id":"morning",.*"date":"2026-03-01T06:00:00Z","kind":"near",.*\},)"
                       R"(\{"id":"noon",.*"kind":"original"\},\{"id":"evening",.*"kind":"contains",.*\},)"
                       R"(\{"id":"undated",.*"date":null,"kind":"near",)"));
  const std::string near = run_doppel("clusters --versions --events " + (dir / "events")).out;
  EXPECT_THAT(near, HasSubstr(R"("size":3)"));
  EXPECT_THAT(near, Not(HasSubstr("longest")));
}

// With --join, a story and its excerpts are one cluster, whichever way the events state the relations.
TEST(ClustersCommand, JoinsWhatIsContained) {
  TempDir dir;
  const auto line = [](const std::string& id, int from, int to, int more = 0) {
    std::string text;
    for (int w = from; w < to; ++w) text += "w" + std::to_string(w) + " ";
    for (int w = 0; w < more; ++w) text += id + std::to_string(w) + " ";
    return R"({"id":")" + id + R"(","text":")" + text + "\"}\n";
  };
  write_file(dir / "in.jsonl", line("whole", 0, 600) + line("half", 0, 300) + line("half2", 1, 300) +
                                   line("wrap", 0, 600, 500) + line("quote", 200, 400, 900) +
                                   line("first", 2'000, 2'600) + line("draft", 2'000, 2'450, 150));
  const std::string relations = " --set relations=near,contained,contains,similar --set report_from=.5 ";
  write_file(dir / "events", run_doppel("scan -q" + relations + (dir / "in.jsonl")).out);
  EXPECT_THAT(read_file(dir / "events"), HasSubstr(R"("relation":"similar")"));
  const std::string apart = run_doppel("clusters --events " + (dir / "events")).out;
  EXPECT_THAT(apart, HasSubstr(R"("id":"half","size":2,"duplicates":[{"id":"half2",)"));
  EXPECT_EQ(std::count(apart.begin(), apart.end(), '\n'), 1);
  const std::string joined = run_doppel("clusters --join contained --events " + (dir / "events")).out;
  EXPECT_EQ(std::count(joined.begin(), joined.end(), '\n'), 1) << joined;
  EXPECT_THAT(joined, HasSubstr(R"("id":"whole","size":4,"duplicates":[{"id":"half",)"));
  const std::string members(
      R"("id":"half",.*"kind":"contained","similarity":1\},\{"id":"half2",.*"kind":"near",.*\},)"
      R"(\{"id":"wrap",.*"kind":"contains","similarity":1\}\]\})");
  EXPECT_THAT(joined, ::testing::ContainsRegex(members));
  EXPECT_THAT(run_doppel("clusters --join shares --events -").err, HasSubstr("contained"));
}

TEST(ClustersCommand, SaysWhatIsGoneAndWhatIsWrong) {
  TempDir dir;
  const std::string copy =
      R"({"type":"duplicate-of","event_id":"t/0/2","kind":"near","similarity":0.9,"cluster_id":"t/0/1",)"
      R"("document":{"id":"b"},"original":{"id":"a"}})"
      "\n";
  write_file(
      dir / "events",
      R"({"type":"verdict","version":1})"
      "\n" +
          copy +
          R"({"type":"original-removed","cluster_id":"t/0/1","reason":"expired","original":{"id":"a"}})"
          "\n");
  EXPECT_EQ(run_doppel("clusters --events " + (dir / "events")).out,
            R"({"cluster_id":"t/0/1","id":"a","size":2,"duplicates":[{"id":"b","event_id":"t/0/2",)"
            R"("kind":"near","similarity":0.9}],"removed":"expired"})"
            "\n");
  write_file(dir / "events", copy + "{\"type\":\"duplicate-of\"}\n");
  const Ran wrong = run_doppel("clusters --events " + (dir / "events"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("events:2: "));
  EXPECT_EQ(run_doppel("clusters --events /no/such/file").code, 2);
  const Ran neither = run_doppel("clusters --events doppel-duplicates");
  EXPECT_EQ(neither.code, 2);
  EXPECT_THAT(neither.err, HasSubstr("kafka.brokers"));
  EXPECT_EQ(run_doppel("clusters").code, 2);
}

}  // namespace
}  // namespace doppel::testing
