#include <gmock/gmock.h>

#include <random>

#include "commands/run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

// What scan says itself, and what comes out of its events, also where some come twice.
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
