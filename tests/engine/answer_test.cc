// Answers as records: reading returns what was written, and refuses everything else.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/answer.h"

namespace doppel {
namespace {

void add_relatives(std::mt19937_64& random, Answer& out) {
  const auto number = [&] { return static_cast<uint32_t>(random() >> (32 + random() % 32)); };
  for (size_t i = 1 + random() % 4; i > 0; --i) out.print_counts.push_back({number(), number()});
  for (size_t i = random() % 5; i > 0; --i) {
    Relative& relative = out.relatives.emplace_back();
    relative.seq = random() >> (random() % 64);
    relative.prints = number();
    for (size_t n = random() % 9; n > 0; --n) relative.hits.push_back(number());
    relative.compared = random() % 2 == 0;
    if (!relative.compared) continue;
    relative.size = number();
    for (size_t n = random() % 4; n > 0; --n) relative.cells.push_back({number(), number()});
    for (size_t n = random() % 4; n > 0; --n) {
      const uint32_t begin = number() / 2;
      relative.runs.push_back({begin, begin + number() / 2});
    }
  }
}

Answer random_answer(std::mt19937_64& random) {
  const auto number = [&] { return random() >> (random() % 64); };
  Answer out;
  if (random() % 4 == 0) out.same_payload = {number(), {random(), random()}};
  if (random() % 4 == 0) out.exact = number();
  for (size_t i = random() % 5; i > 0; --i) {
    Verified& c = out.candidates.emplace_back();
    c.seq = number();
    c.equal = static_cast<int>(random() % 129);
    c.checked = random() % 2 == 0;
    c.estimated = random() % 2 == 0;
    if (c.checked) c.overlap = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
  }
  out.candidates_more = static_cast<uint32_t>(random() % 3);
  for (size_t i = random() % 4; i > 0; --i)
    out.counts.push_back({static_cast<uint16_t>(random() % 20), static_cast<uint16_t>(random())});
  for (size_t i = random() % 3; i > 0; --i) out.same_id.push_back({number(), {random(), random()}});
  for (size_t i = random() % 3; i > 0; --i) out.describe(number(), std::string(random() % 50, 'm'));
  out.relatives_left_out = random() % 4 == 0;
  if (random() % 2 == 0) add_relatives(random, out);
  return out;
}

AnswerRecord random_record(std::mt19937_64& random) {
  AnswerRecord out{
      .generation = std::string(random() % 20, 'g'), .shards = "0-15/64", .as_of = random() % 1000};
  out.begin = random() >> (1 + random() % 40);
  out.end = out.begin + 1 + random() % 500;
  for (uint64_t offset = out.begin + random() % 9; offset < out.end; offset += 1 + random() % 60) {
    out.answers.emplace_back(offset, random_answer(random));
    out.answers.back().second.as_of = out.as_of;
  }
  return out;
}

std::string bytes_of(const AnswerRecord& record, size_t checked = 100) {
  std::string out;
  encode_answers(record, checked, out);
  return out;
}

void expect_same(const Answer& got, const Answer& expected) {
  ASSERT_EQ(got.candidates.size(), expected.candidates.size());
  for (size_t i = 0; i < got.candidates.size(); ++i) {
    const Verified &a = got.candidates[i], &b = expected.candidates[i];
    EXPECT_EQ(a.seq, b.seq);
    EXPECT_EQ(a.equal, b.equal);
    EXPECT_EQ(a.checked, b.checked);
    EXPECT_EQ(a.estimated, b.estimated);
    EXPECT_EQ(a.overlap.inter, b.overlap.inter);
    EXPECT_EQ(a.overlap.uni, b.overlap.uni);
  }
  EXPECT_EQ(got.as_of, expected.as_of);
  EXPECT_EQ(got.exact, expected.exact);
  ASSERT_EQ(got.same_payload.has_value(), expected.same_payload.has_value());
  if (got.same_payload) {
    EXPECT_EQ(got.same_payload->seq, expected.same_payload->seq);
    EXPECT_EQ(got.same_payload->digest, expected.same_payload->digest);
  }
  EXPECT_EQ(got.relatives_left_out, expected.relatives_left_out);
  EXPECT_EQ(got.print_counts, expected.print_counts);
  EXPECT_EQ(got.relatives, expected.relatives);
  EXPECT_EQ(got.candidates_more, expected.candidates_more);
  ASSERT_EQ(got.counts.size(), expected.counts.size());
  for (size_t i = 0; i < got.counts.size(); ++i) {
    EXPECT_EQ(got.counts[i].band, expected.counts[i].band);
    EXPECT_EQ(got.counts[i].listed, expected.counts[i].listed);
  }
  ASSERT_EQ(got.same_id.size(), expected.same_id.size());
  for (size_t i = 0; i < got.same_id.size(); ++i) {
    EXPECT_EQ(got.same_id[i].seq, expected.same_id[i].seq);
    EXPECT_EQ(got.same_id[i].digest, expected.same_id[i].digest);
  }
  EXPECT_EQ(got.describes_any(), expected.describes_any());
}

TEST(AnswerRecord, WhatIsWrittenIsWhatIsRead) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const AnswerRecord record = random_record(random);
    const std::string bytes = bytes_of(record);
    AnswerRecord got;
    ASSERT_TRUE(decode_answers(bytes, got).ok());
    EXPECT_EQ(got.generation, record.generation);
    EXPECT_EQ(got.shards, record.shards);
    EXPECT_EQ(got.begin, record.begin);
    EXPECT_EQ(got.end, record.end);
    ASSERT_EQ(got.answers.size(), record.answers.size());
    for (size_t i = 0; i < got.answers.size(); ++i) {
      EXPECT_EQ(got.answers[i].first, record.answers[i].first);
      expect_same(got.answers[i].second, record.answers[i].second);
    }
    EXPECT_EQ(bytes_of(got), bytes);
  }
}

TEST(AnswerRecord, CandidatesBehindThoseThatAreCheckedAreCounted) {
  Answer answer;
  for (Seq seq = 0; seq < 9; ++seq) answer.candidates.push_back({.seq = seq, .equal = 50});
  answer.candidates_more = 2;
  AnswerRecord got;
  ASSERT_TRUE(decode_answers(bytes_of({.end = 1, .answers = {{0, answer}}}, 4), got).ok());
  EXPECT_EQ(got.answers[0].second.candidates.size(), 4U);
  EXPECT_EQ(got.answers[0].second.candidates_more, 7U);
}

TEST(AnswerRecord, DamageIsRefused) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string bytes = bytes_of(random_record(random));
  AnswerRecord got;
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(decode_answers(bytes.substr(0, cut), got).ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    EXPECT_FALSE(decode_answers(damaged, got).ok()) << at;
  }
}

TEST(Shards, AreReadAndWritten) {
  for (const char* text : {"0-15/64", "0,4-7/8", "3/4", "0/1", "0-4095/4096"})
    EXPECT_EQ(parse_shards(text).value().text(), text);
  EXPECT_EQ(parse_shards("1,0,2-3/8").value().text(), "0-3/8");
}

TEST(Shards, AreRefusedByWhatIsWrong) {
  const std::string numbers = "numbers and ranges of numbers are expected";
  const std::string all = "the number of all shards is from 1 to 4096";
  const std::string missing = "the number of all shards is missing";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", missing},
      {"5", missing},
      {"0-15", missing},
      {"0,1", missing},
      // The number of shards.
      {"0/", all},
      {"0/0", all},
      {"0/-4", all},
      {"0/+4", all},
      {"0/4 ", all},
      {"0/4097", all},
      {"0/4294967297", all},  // 1 in 32 bits
      {"0/4/4", "the number of all shards comes once, at the end"},
      {"0/4,1/8", "the number of all shards comes once, at the end"},
      // The list of shards.
      {"/8", numbers},
      {" 0/8", numbers},
      {"-1/8", numbers},
      {"0-/8", numbers},
      {"0-1-2/8", numbers},
      {"0--1/8", numbers},
      {"a/8", numbers},
      {"0x1/8", numbers},
      {"0,/8", numbers},
      {",0/8", numbers},
      {"0,,1/8", numbers},
      {"$(POD_INDEX)/8", numbers},
      {"3-1/8", "the range 3-1 ends before it begins"},
      {"8/8", "there are only shards 0 to 7"},
      {"0-8/8", "there are only shards 0 to 7"},
      {"0,4294967295/8", "there are only shards 0 to 7"},
      {"4294967296/8", numbers},  // 0 in 32 bits
      {"0,0/8", "shard 0 is named twice"},
      {"0-15,15-31/64", "shard 15 is named twice"},
      {"4-7,0-5/8", "shard 4 is named twice"},
  };
  for (const auto& [text, why] : wrong) {
    const auto shards = parse_shards(text);
    ASSERT_FALSE(shards.ok()) << text;
    const std::string says = "shards \"" + text + "\": ";
    const std::string message(shards.status().message());
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
}

}  // namespace

}  // namespace doppel
