// Which documents the index recognises as its own, and which are copies.
#include "session/same_document.h"

#include <gtest/gtest.h>

#include "engine/resolved.h"
#include "records/metadata.h"

namespace doppel {
namespace {

std::string encoded(const Metadata& metadata) {
  std::string out;
  encode_metadata(metadata, out);
  return out;
}

bool same(const Metadata& a, const Metadata& b) {
  const bool answer = is_same_document(encoded(a), encoded(b));
  EXPECT_EQ(answer, is_same_document(encoded(b), encoded(a)));
  return answer;
}

TEST(SameDocuments, BySamePlaceInAFile) {
  EXPECT_TRUE(same({.source = "a.jsonl", .offset = 7}, {.source = "a.jsonl", .offset = 7}));
  EXPECT_FALSE(same({.source = "a.jsonl", .offset = 7}, {.source = "a.jsonl", .offset = 8}));
  EXPECT_FALSE(same({.source = "a.jsonl", .offset = 7}, {.source = "b.jsonl", .offset = 7}));
  EXPECT_TRUE(same({.source = "a.txt", .whole_file = true}, {.source = "a.txt", .whole_file = true}));
  // Two rows with one id are two documents; a moved file has the same documents.
  EXPECT_FALSE(
      same({.source = "a.jsonl", .offset = 7, .id = "x"}, {.source = "a.jsonl", .offset = 8, .id = "x"}));
  EXPECT_FALSE(
      same({.source = "a.jsonl", .offset = 7, .id = "x"}, {.source = "b.jsonl", .offset = 7, .id = "x"}));
  EXPECT_TRUE(same({.source = "in/a.jsonl", .offset = 7, .id = "x"},
                   {.source = "/d/a.jsonl", .offset = 7, .id = "x"}));
  EXPECT_FALSE(same({.source = "in/a.jsonl", .offset = 7}, {.source = "/d/a.jsonl", .offset = 7}));
}

TEST(SameDocuments, BySameNameWhereOneHasNoPlace) {
  for (const std::string_view source : {std::string_view("-"), kProgramSource}) {
    EXPECT_TRUE(
        same({.source = source, .offset = 1, .key = "x"}, {.source = "a.jsonl", .offset = 9, .id = "x"}));
    EXPECT_TRUE(
        same({.source = source, .offset = 1, .id = "x"}, {.source = source, .offset = 2, .key = "x"}));
    EXPECT_FALSE(
        same({.source = source, .offset = 1, .id = "x"}, {.source = source, .offset = 1, .id = "y"}));
    // A place without meaning identifies nothing.
    EXPECT_FALSE(same({.source = source, .offset = 1}, {.source = source, .offset = 1}));
    EXPECT_TRUE(
        same({.source = "topic", .partition = 0, .offset = 1, .key = "x"}, {.source = source, .id = "x"}));
  }
}

TEST(SameDocuments, AWholeFileIsNamedByItsPath) {
  const Metadata file{.source = "in/a.txt", .whole_file = true};
  EXPECT_TRUE(same({.source = kProgramSource, .offset = 1, .key = "in/a.txt"}, file));
  EXPECT_FALSE(same({.source = kProgramSource, .offset = 1, .key = "a.txt"}, file));
  EXPECT_FALSE(same(file, {.source = "in/b.txt", .whole_file = true}));
  EXPECT_FALSE(same({.source = "-", .whole_file = true}, {.source = "-", .whole_file = true}));
}

TEST(SameDocuments, RecordsOfKafkaAreKnownByTheirOffsets) {
  const Metadata record{.source = "topic", .partition = 1, .offset = 5, .key = "x"};
  EXPECT_TRUE(same(record, record));
  EXPECT_FALSE(same(record, {.source = "topic", .partition = 2, .offset = 5, .key = "x"}));
  EXPECT_FALSE(same(record, {.source = "topic", .partition = 1, .offset = 6, .key = "x"}));
}

TEST(SameDocuments, AnotherDateIsAnotherCapture) {
  EXPECT_FALSE(same({.source = "-", .id = "x", .date_ms = 1}, {.source = "-", .id = "x", .date_ms = 2}));
  EXPECT_TRUE(same({.source = "-", .id = "x", .date_ms = 1}, {.source = "-", .id = "x", .date_ms = 1}));
  EXPECT_TRUE(same({.source = "-", .id = "x", .date_ms = 1}, {.source = "-", .id = "x"}));
}

TEST(SameDocuments, OnceInARunAndNotWhatTheRunMade) {
  const std::string document = encoded({.source = "a.jsonl", .offset = 7});
  const auto verdict = [&](SameDocuments& known, Kind kind, Seq seq) {
    Outcome outcome{.verdict = Verdict::duplicate, .kind = kind, .seq = seq, .original = document};
    known.correct(outcome, document);
    EXPECT_EQ(outcome.again, outcome.verdict == Verdict::unique);
    return outcome.verdict;
  };
  SameDocuments known(10);
  EXPECT_EQ(verdict(known, Kind::near, 3), Verdict::duplicate);
  EXPECT_EQ(verdict(known, Kind::exact, 3), Verdict::unique);
  EXPECT_EQ(verdict(known, Kind::exact, 3), Verdict::duplicate);
  EXPECT_EQ(verdict(known, Kind::exact, 9), Verdict::unique);
  EXPECT_EQ(verdict(known, Kind::exact, 10), Verdict::duplicate);
  SameDocuments beside_others(10, 5);  // of indexes that are only read: 0 to 4
  EXPECT_EQ(verdict(beside_others, Kind::exact, 4), Verdict::duplicate);
  EXPECT_EQ(verdict(beside_others, Kind::exact, 5), Verdict::unique);
  Outcome damaged{.verdict = Verdict::duplicate, .kind = Kind::exact, .seq = 4, .original = "\xff"};
  known.correct(damaged, document);
  EXPECT_EQ(damaged.verdict, Verdict::duplicate);
}

}  // namespace
}  // namespace doppel
