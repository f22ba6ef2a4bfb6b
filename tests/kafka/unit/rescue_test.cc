// Which document a record is about that the broker forgot to mark.

#include "kafka/rescue.h"

#include <gtest/gtest.h>

#include <random>

#include "records/metadata.h"

namespace doppel::kafka {
namespace {

Header header(std::string_view name, std::string_view value) { return {.name = name, .value = value}; }

void expect_place(const std::optional<InputPlace>& found, const InputPlace& expected) {
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->topic, expected.topic);
  EXPECT_EQ(found->partition, expected.partition);
  EXPECT_EQ(found->incarnation, expected.incarnation);
  EXPECT_EQ(found->offset, expected.offset);
}

TEST(DocumentOf, AnEventIsInItsId) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    const InputPlace place{.topic = random() % 2 == 0 ? "docs" : "a.topic-with_all",
                           .partition = static_cast<int32_t>(random() >> (33 + random() % 31)),
                           .incarnation = 1 + static_cast<uint32_t>(random() % 3),
                           .offset = static_cast<int64_t>(random() >> (1 + random() % 63))};
    const std::string id = Metadata{.source = place.topic,
                                    .partition = place.partition,
                                    .incarnation = place.incarnation,
                                    .offset = static_cast<uint64_t>(place.offset)}
                               .event_id();
    SCOPED_TRACE(id);
    const std::string better = id + "/better";
    const Header plain[] = {header("ce_type", "x"), header("ce_id", id)};
    ASSERT_NO_FATAL_FAILURE(expect_place(document_of(plain), place));
    const Header shown[] = {header("ce_id", better), header("ce_source", "y")};
    ASSERT_NO_FATAL_FAILURE(expect_place(document_of(shown), place));
  }
}

TEST(DocumentOf, ADeadLetterIsInItsHeaders) {
  const Header letter[] = {header("own", "docs/1/2"), header("__connect.errors.topic", "docs"),
                           header("__connect.errors.partition", "11"),
                           header("__connect.errors.offset", "120")};
  expect_place(document_of(letter), {.topic = "docs", .partition = 11, .incarnation = 1, .offset = 120});
  const Header again[] = {letter[1], letter[2], letter[3], header(kIncarnationHeader, "3")};
  expect_place(document_of(again), {.topic = "docs", .partition = 11, .incarnation = 3, .offset = 120});
  for (int left_out = 1; left_out <= 3; ++left_out) {
    std::vector<Header> part(std::begin(letter), std::end(letter));
    part.erase(part.begin() + left_out);
    EXPECT_FALSE(document_of(part).has_value()) << left_out;
  }
}

TEST(DocumentOf, OthersNameNone) {
  EXPECT_FALSE(document_of({}).has_value());
  for (const char* id : {"", "docs", "docs/1", "/1/2", "docs//2", "docs/1/", "docs/x/2", "docs/1/2x",
                         "docs/1/2/worse", "docs/99999999999/2"}) {
    const Header headers[] = {header("ce_id", id)};
    EXPECT_FALSE(document_of(headers).has_value()) << id;
  }
}

TEST(Covers, WhatIsBeforeTheProgress) {
  const LogProgress progress{.topic = "docs", .partition = 0, .next = 10, .incarnation = 2};
  const auto at = [&](uint32_t incarnation, int64_t offset) {
    return covers(progress, {.topic = "docs", .partition = 0, .incarnation = incarnation, .offset = offset});
  };
  EXPECT_TRUE(at(2, 9));
  EXPECT_FALSE(at(2, 10));
  EXPECT_TRUE(at(1, 10'000));
  EXPECT_FALSE(at(3, 0));
}

}  // namespace
}  // namespace doppel::kafka
