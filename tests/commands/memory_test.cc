// The setting `memory`: old originals in segments on disk, and the same verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "commands/segments_of.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

// Documents of which some are copies, near or exact, of earlier ones.
class Stream {
 public:
  explicit Stream(uint64_t seed) : random_(seed) {}

  std::string lines(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += next();
    return out;
  }

 private:
  std::string next() {
    std::vector<uint32_t> words;
    if (!texts_.empty() && random_() % 3 == 0) {
      // Half of the copies repeat one of the last documents, which no limit has removed.
      const size_t recent = std::min<size_t>(texts_.size(), random_() % 2 == 0 ? 500 : texts_.size());
      words = texts_[texts_.size() - 1 - random_() % recent];
      if (words.size() > 20 && random_() % 4 == 0) words.resize(words.size() / 2);  // a part
      for (uint64_t edits = random_() % 8; edits > 0; --edits)
        words[random_() % words.size()] = static_cast<uint32_t>(random_());
    } else {
      words.resize(40 + random_() % 60);
      for (uint32_t& word : words) word = static_cast<uint32_t>(random_());
      // Parts that many share, so that bands are hot.
      if (random_() % 4 == 0) std::fill_n(words.begin(), 30, 7);
    }
    texts_.push_back(words);
    std::string text;
    for (const uint32_t word : words) text += "w" + std::to_string(word) + " ";
    const std::string number = std::to_string(texts_.size());
    const uint64_t minute = texts_.size() / 10;
    char date[32];
    std::snprintf(date, sizeof date, "2026-01-%02dT%02d:%02d:00Z", static_cast<int>(1 + minute / 1440),
                  static_cast<int>(minute / 60 % 24), static_cast<int>(minute % 60));
    return "{\"id\":\"d" + number + "\",\"date\":\"" + date + "\",\"text\":\"" + text + "\"}\n";
  }
  std::mt19937_64 random_;
  std::vector<std::vector<uint32_t>> texts_;
};

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Runs over three files, one after the other, with all originals in memory and with few of them.
void expect_same(const std::string& settings, const std::function<void(const std::string& state)>& between) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  TempDir dir;
  Stream stream(seed);
  const std::string key = "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f";
  for (int run = 0; run < 3; ++run) {
    const std::string input = dir / ("in" + std::to_string(run) + ".jsonl");
    write_file(input, stream.lines(2'000));
    const std::string rest = " --all -q " + settings + " " + input;
    const Ran expected = run_doppel("scan --state " + (dir / "all") + rest, key);
    ASSERT_EQ(expected.code, 0) << expected.err;
    const Ran ran = run_doppel("scan --set memory=150000 --state " + (dir / "few") + rest, key);
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.out == expected.out, true) << "run " << run;
    ASSERT_GT(count_of(expected.out, R"("verdict":"duplicate")"), 50u);
    ASSERT_GT(segments_of(dir / "few").size(), 1u);
    between(dir / "few");
  }
}

TEST(Memory, VerdictsAreThoseOfAnIndexInMemory) {
  expect_same("", [](const std::string&) {});
}

TEST(Memory, AlsoWithSignaturesAloneAndExpiry) {
  expect_same("--set verify=signature --set expire_after=2h", [](const std::string&) {});
}

TEST(Memory, AlsoWithAnOldestOriginalThatMovesOn) {
  expect_same("--set max_documents=1500", [](const std::string&) {});
}

// Each shard has segments of its own.
TEST(Memory, AlsoWithSeveralShards) {
  expect_same("--set shards=3 --set max_documents=3000", [](const std::string&) {});
}

TEST(Memory, AlsoWithRelations) {
  expect_same("--set relations=near,contained,contains,shares --set passage_words=10 --set common_after=40",
              [](const std::string&) {});
}

// With another number of shards, each has other originals.
TEST(Memory, AlsoIfTheNumberOfShardsChanges) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  TempDir dir;
  Stream stream(seed);
  const std::string key = "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f";
  for (const int shards : {2, 4, 1, 3}) {
    write_file(dir / "in.jsonl", stream.lines(1'000));
    const std::string rest = " --all -q " + (dir / "in.jsonl");
    const Ran expected = run_doppel("scan --state " + (dir / "all") + rest, key);
    const Ran ran = run_doppel("scan --set memory=150000 --set shards=" + std::to_string(shards) +
                                   " --state " + (dir / "few") + rest,
                               key);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out == expected.out, true) << shards;
  }
}

// What is lost or damaged is made again from the stored rows.
TEST(Memory, ALostOrDamagedSegmentIsMadeAgain) {
  int run = 0;
  expect_same("", [&](const std::string& state) {
    const std::vector<fs::path> segments = segments_of(state);
    const fs::path& one = segments[segments.size() / 2];
    if (run++ == 0) {
      fs::remove(one);
    } else {
      fs::resize_file(one, fs::file_size(one) - 10);
    }
  });
}

// A page that turns out to be damaged ends the run. The next one makes the segment again and continues.
TEST(Memory, ADamagedPageIsNamedAndItsSegmentMadeAgain) {
  TempDir dir;
  Stream stream(std::random_device{}());
  const std::string key = "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f";
  for (int run = 0; run < 2; ++run) {
    const std::string input = dir / ("in" + std::to_string(run) + ".jsonl");
    write_file(input, stream.lines(2'000));
    const auto scan = [&](const std::string& state, const std::string& settings) {
      return run_doppel("scan --all -q " + settings + " --state " + (dir / state) + " -o " +
                            (dir / (state + ".jsonl")) + " " + input,
                        key);
    };
    ASSERT_EQ(scan("all", "").code, 0);
    if (run == 1) {
      for (const fs::path& segment : segments_of(dir / "few")) {
        std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(2 * 4096 + 1000);  // a page of rows
        file.write("damaged", 7);
      }
      const Ran ran = scan("few", "--set memory=150000");
      ASSERT_EQ(ran.code, 3);
      EXPECT_THAT(ran.err, HasSubstr("the page at offset 8192 has a wrong checksum"));
    }
    for (int again = 0; again < 50; ++again) {
      const int code = scan("few", "--set memory=150000").code;
      if (code == 0) break;
      ASSERT_EQ(code, 3);
    }
  }
  EXPECT_EQ(read_file(dir / "few.jsonl") == read_file(dir / "all.jsonl"), true);
}

// A run without segments may go back to an earlier commit and give numbers again. Nobody would know then that
// the segments are wrong.
TEST(Memory, ARunWithoutItRemovesTheSegments) {
  int run = 0;
  expect_same("", [&](const std::string& state) {
    if (run++ != 0) return;
    TempDir dir;
    write_file(dir / "in.jsonl", "");
    const Ran ran = run_doppel("scan -q --state " + state + " " + (dir / "in.jsonl"),
                               "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(segments_of(state).size(), 0U);
  });
}

TEST(Memory, WithoutAStateDirectorySegmentsAreTemporary) {
  TempDir dir;
  Stream stream(1);
  write_file(dir / "in.jsonl", stream.lines(3'000));
  fs::create_directories(dir / "tmp");
  const Ran expected = run_doppel("scan --all -q " + (dir / "in.jsonl"));
  const Ran ran =
      run_doppel("scan --all -q --set memory=150000 " + (dir / "in.jsonl"), "TMPDIR=" + (dir / "tmp"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out == expected.out, true);
  EXPECT_TRUE(fs::is_empty(dir / "tmp"));
}

// The originals of the other index are in segments, too. They are made again at each start, because their
// numbers depend on that index.
TEST(Memory, GoesWithIndexesThatAreOnlyRead) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  TempDir dir;
  Stream stream(seed);
  const std::string key = "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f";
  const std::string relations = " --set relations=near,contains --set passage_words=10";
  const auto add_to_other = [&] {
    write_file(dir / "in.jsonl", stream.lines(1'500));
    return run_doppel("scan -q" + relations + " --state " + (dir / "other") + " " + (dir / "in.jsonl"), key)
        .code;
  };
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(add_to_other(), 0);
    write_file(dir / "in.jsonl", stream.lines(1'500));
    const std::string rest = relations + " --against " + (dir / "other") + " --all -q " + (dir / "in.jsonl");
    const Ran expected = run_doppel("scan --state " + (dir / "all") + rest, key);
    ASSERT_EQ(expected.code, 0) << expected.err;
    const Ran ran = run_doppel("scan --set memory=150000 --state " + (dir / "few") + rest, key);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out == expected.out, true) << "run " << run;
    EXPECT_GT(segments_of(dir / "few").size(), 1u);
  }
}

}  // namespace
}  // namespace doppel::testing
