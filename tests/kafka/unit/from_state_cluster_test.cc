// An index moves to another cluster, by its state directory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kafka/unit/from_state_in_memory.h"

namespace doppel::kafka_test {
namespace {

using ::testing::HasSubstr;

TEST_F(FromState, AnotherClusterIsRefusedBeforeAnythingIsCreated) {
  make_index(many(3));
  move();
  const std::string expected = options.state_directory +
                               " belongs to the cluster simulated, and this one is another: choose where the "
                               "input continues. --offsets keep: at the same offsets";
  EXPECT_THAT(std::string(publish().message()), HasSubstr(expected));
  EXPECT_FALSE(kafka.world.broker.topics.contains("again"));
  const absl::Status unreadable = publish("again", dir / "missing");
  EXPECT_THAT(std::string(unreadable.message()), HasSubstr("missing: cannot be read"));
  EXPECT_FALSE(kafka.world.broker.topics.contains("again"));
}

TEST_F(FromState, AnIndexThatHasReadNothingMovesWithoutOffsets) {
  ASSERT_TRUE(open("writer").ok());
  move();
  EXPECT_EQ(publish(), absl::OkStatus());
  EXPECT_EQ(last_position().cluster, "another");
}

TEST_F(FromState, KeepsTheOffsetsInAMirror) {
  const std::vector<std::string> before = make_index(many(40));
  const kafka::KafkaPosition stored = last_position();
  move();
  ASSERT_EQ(publish("again", "keep"), absl::OkStatus());
  EXPECT_EQ(last_position().cluster, "another");
  EXPECT_EQ(records_of<LogEpoch>("again").back().cluster, "another");
  const auto copy = read_again("again");
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(content(**copy), before);
}

TEST_F(FromState, TakesTheOffsetsOfAFile) {
  kafka.world.broker.topics["pages"].partitions.resize(3);
  std::vector<Input> inputs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(page(fmt::format("{}", i), text(i)));
    inputs.back().partition = i % 2;
    inputs.back().incarnation = i % 2 == 0 ? 1 : 3;
    inputs.back().timestamp_ms += 100 * i;
  }
  make_index({inputs});
  const kafka::KafkaPosition stored = last_position();
  ASSERT_EQ(stored.progress.size(), 2u);
  move();
  for (int i = 0; i < 9; ++i) kafka.world.broker.append({"pages", 0}, {.headers = {}});

  const std::string wrong = offsets_file("pages/0=9\n");
  EXPECT_EQ(publish("again", wrong),
            absl::InvalidArgumentError(
                wrong + ": there is no line for pages/1, which the index has read up to offset 3"));
  EXPECT_TRUE(kafka.committed("again").empty());
  EXPECT_THAT(std::string(publish("again", offsets_file("pages/0=10\n")).message()),
              HasSubstr("pages/0 has the offsets 0 to 9 (its end), not 10"));

  ASSERT_EQ(publish("again", offsets_file("pages/0=7\npages/1=beginning\npages/2=end\n")), absl::OkStatus());
  const auto copy = read_again("again");
  ASSERT_TRUE(copy.ok()) << copy.status();
  for (const kafka::KafkaPosition& at : {(*copy)->position, last_position()}) {
    ASSERT_EQ(at.progress.size(), 3u);
    const LogProgress &first = at.progress.at({"pages", 0}), &second = at.progress.at({"pages", 1}),
                      &third = at.progress.at({"pages", 2});
    EXPECT_EQ(first.next, 7);
    for (const LogProgress* p : {&first, &second, &third}) {
      EXPECT_EQ(p->incarnation, 4u);  // these offsets may be other records than before
      EXPECT_EQ(p->moved, 1u);
      EXPECT_EQ(p->written_ms, 0);
      EXPECT_TRUE(p->samples.empty());
    }
    EXPECT_EQ(first.last_ms, -1);
    EXPECT_EQ(first.highest_ms, stored.progress.at({"pages", 0}).highest_ms);
    EXPECT_EQ(second.next, 0);
    EXPECT_EQ(second.highest_ms, stored.progress.at({"pages", 1}).highest_ms);
    EXPECT_EQ(third.next, 0);
    EXPECT_EQ(third.highest_ms, -1);
  }
}

}  // namespace
}  // namespace doppel::kafka_test
