// The table that decides whether a topic is the one that was read, row by row as docs/kafka.md shows it.
#include "kafka/same_topic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace doppel::kafka {
namespace {

constexpr Note kNotes[] = {Note::kept, Note::gone, Note::unclear, Note::never};
constexpr Found kAll[] = {Found::same, Found::removed, Found::another,
                          Found::hole, Found::ended,   Found::gone};

constexpr Left kLeft[] = {Left::some, Left::perhaps, Left::none};

// One answer for each note, in their order; the same whatever is left, unless the test says so.
void expect(IdIs id, Found found, std::vector<SameTopic> answers,
            std::vector<Left> all_left = {std::begin(kLeft), std::end(kLeft)}) {
  if (answers.size() == 1) answers.resize(std::size(kNotes), answers[0]);
  for (size_t n = 0; n < std::size(kNotes); ++n) {
    for (const Left left : all_left) {
      EXPECT_EQ(is_same_topic(id, found, left, kNotes[n]), answers[n])
          << fmt::format("id {}, found {}, note {}, left {}", static_cast<int>(id), static_cast<int>(found),
                         static_cast<int>(kNotes[n]), static_cast<int>(left));
    }
  }
  const bool depends = answers != std::vector(std::size(kNotes), answers[0]);
  EXPECT_TRUE(!depends || needs_note(id, found));
}

TEST(SameTopic, AnIdDecides) {
  for (const Found found : kAll) {
    expect(IdIs::other, found, {SameTopic::read_again});
    expect(IdIs::former, found, {SameTopic::wait});
  }
  expect(IdIs::same, Found::same, {SameTopic::go_on});
  expect(IdIs::same, Found::removed, {SameTopic::go_on});
  for (const Found found : {Found::another, Found::hole, Found::ended})
    expect(IdIs::same, found, {SameTopic::lost});
  expect(IdIs::same, Found::gone, {SameTopic::wait});
}

TEST(SameTopic, WithoutAnIdTheOffsetsOfTheGroupDecide) {
  constexpr auto kGoOn = SameTopic::go_on, kUnclear = SameTopic::unclear, kLost = SameTopic::lost,
                 kAgain = SameTopic::read_again;
  expect(IdIs::unknown, Found::same, {kGoOn});
  expect(IdIs::unknown, Found::removed, {kGoOn, kUnclear, kUnclear, kGoOn}, {Left::perhaps, Left::none});
  expect(IdIs::unknown, Found::removed, {kGoOn}, {Left::some});
  for (const Found found : {Found::another, Found::hole, Found::ended}) {
    expect(IdIs::unknown, found, {kLost, kUnclear, kUnclear, kUnclear}, {Left::some});
    expect(IdIs::unknown, found, {kLost, kAgain, kUnclear, kUnclear}, {Left::perhaps});
    expect(IdIs::unknown, found, {SameTopic::read_all, kAgain, kUnclear, kUnclear}, {Left::none});
  }
  expect(IdIs::unknown, Found::gone, {kAgain}, {Left::perhaps, Left::none});
  expect(IdIs::unknown, Found::gone, {SameTopic::wait}, {Left::some});
}

}  // namespace
}  // namespace doppel::kafka
