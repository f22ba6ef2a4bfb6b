// doppel scan, run as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "packed.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::numbered_words;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

std::string line(const std::string& id, const std::string& text) {
  return "{\"id\":\"" + id + "\",\"text\":\"" + text + "\"}\n";
}

// Templates with changed words, cut at random: copies of every degree.
std::string corpus(uint64_t seed, int documents) {
  std::mt19937_64 random(seed);
  std::string out;
  for (int i = 0; i < documents; ++i) {
    int from = static_cast<int>(random() % 30) * 100;
    std::string text = numbered_words(from, from + 60 + static_cast<int>(random() % 12));
    if (random() % 3 == 0) text += " " + numbered_words(9000 + static_cast<int>(random() % 50), 9060);
    if (random() % 20 == 0) text = "";
    out += line("d" + std::to_string(i), text);
  }
  return out;
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Scan, EventsVerdictsAndClusters) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("a", numbered_words(0, 100)) + line("b", numbered_words(0, 100)) +
                                   line("c", numbered_words(2, 100)) + line("d", numbered_words(500, 600)) +
                                   line("e", ""));
  Ran events = run_doppel("scan -q " + (dir / "in.jsonl"));
  EXPECT_EQ(events.code, 0) << events.err;
  EXPECT_EQ(lines_of(events.out), 2u);
  EXPECT_THAT(events.out, HasSubstr("\"type\":\"duplicate-of\""));
  EXPECT_THAT(events.out, HasSubstr("\"kind\":\"exact\",\"similarity\":1,"));
  EXPECT_THAT(events.out, HasSubstr("\"similarity\":0.979166,"));  // 94 of 96, rounded down

  Ran all = run_doppel("scan -q --all " + (dir / "in.jsonl"));
  EXPECT_EQ(lines_of(all.out), 5u);
  EXPECT_THAT(all.out,
              HasSubstr("{\"id\":\"a\",\"verdict\":\"unique\",\"duplicate_of\":null,\"similarity\":null,"
                        "\"kind\":null,"));
  EXPECT_THAT(all.out,
              HasSubstr("{\"id\":\"b\",\"verdict\":\"duplicate\",\"duplicate_of\":\"a\",\"similarity\":1,"
                        "\"kind\":\"exact\","));
  EXPECT_THAT(all.out, HasSubstr("{\"id\":\"e\",\"verdict\":\"unscored\""));

  Ran clusters = run_doppel("scan -q --clusters " + (dir / "in.jsonl"));
  EXPECT_EQ(lines_of(clusters.out), 1u);
  EXPECT_THAT(clusters.out, HasSubstr("\"id\":\"a\",\"size\":3,"));
}

TEST(Scan, KeepIsUnchangedBytesAndRejectsToo) {
  TempDir dir;
  const std::string odd = "{ \"text\" : \"" + numbered_words(500, 600) + "\",\t\"id\":1 }\n";
  const std::string broken = "{\"id\":\"x\",\"text\":\"cut o\n";
  const std::string missing = "{\"id\":\"y\"}\n";
  write_file(dir / "in.jsonl",
             line("a", numbered_words(0, 100)) + odd + broken + line("b", numbered_words(0, 100)) + missing);
  Ran ran = run_doppel("scan -o " + (dir / "out") + " --keep " + (dir / "keep") + " --rejects " +
                       (dir / "rejects") + " " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(read_file(dir / "keep"), line("a", numbered_words(0, 100)) + odd);
  EXPECT_EQ(read_file(dir / "rejects"), broken + missing);
  EXPECT_THAT(ran.err, HasSubstr("in.jsonl:3 (byte "));
  EXPECT_THAT(ran.err, HasSubstr("in.jsonl:5 (byte "));
  EXPECT_THAT(ran.err, HasSubstr("text"));
  EXPECT_THAT(ran.err, HasSubstr("2 rejected"));
  EXPECT_THAT(ran.err, Not(HasSubstr("\x1b")));  // no progress line into a file
}

TEST(Scan, FilesAndDirectories) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 100));
  write_file(dir / "in/deep/b.txt", numbered_words(0, 99));
  write_file(dir / "in/c.txt", numbered_words(300, 400));
  Ran ran = run_doppel("scan -q --all --keep-files " + (dir / "kept") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(lines_of(ran.out), 3u);
  EXPECT_THAT(ran.out,
              HasSubstr("deep/b.txt\",\"verdict\":\"duplicate\",\"duplicate_of\":\"" + (dir / "in/a.txt")));
  std::string kept = (dir / "kept") + (dir / "in/");
  EXPECT_EQ(read_file(kept + "a.txt"), numbered_words(0, 100));
  EXPECT_EQ(read_file(kept + "c.txt"), numbered_words(300, 400));
  EXPECT_EQ(read_file(kept + "deep/b.txt"), "");
}

TEST(Scan, StdinAndFields) {
  TempDir dir;
  write_file(dir / "in", "{\"meta\":{\"key\":7},\"story\":\"" + numbered_words(0, 30) +
                             "\"}\n{\"meta\":{\"key\":8},\"story\":\"" + numbered_words(0, 30) + "\"}\n");
  Ran ran = run_doppel("scan -q --id-field /meta/key --text-field story - <" + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"original\":{\"id\":\"7\""));
}

TEST(Scan, NothingButTheRuleChangesAVerdict) {
  TempDir dir;
  write_file(dir / "in.jsonl", corpus(1, 3000));
  const std::string in = dir / "in.jsonl";
  const std::string plain = run_doppel("scan -q --all --threads 1 " + in).out;
  EXPECT_EQ(lines_of(plain), 3000u);
  EXPECT_THAT(plain, HasSubstr("\"kind\":\"near\""));
  for (const char* flags : {"--threads 2", "--threads 5 --set batch_documents=7", "--set batch_documents=1",
                            "--set shards=5", "--set batch_bytes=3000 --threads 3"}) {
    EXPECT_EQ(run_doppel(std::string("scan -q --all ") + flags + " " + in).out, plain) << flags;
  }
  for (const char* simd : {"DOPPEL_SIMD=scalar", "DOPPEL_SIMD=avx2"}) {
    EXPECT_EQ(run_doppel("scan -q --all " + in, simd).out, plain) << simd;
  }
}

TEST(Scan, GoesOnWhereItStopped) {
  TempDir dir;
  const std::string text = corpus(2, 2000);
  const std::string key = "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f";
  write_file(dir / "whole/in.jsonl", text);
  Ran whole =
      run_doppel("scan -q --all -o whole.out whole/in.jsonl", "cd '" + dir.path().string() + "'; " + key);
  ASSERT_EQ(whole.code, 0) << whole.err;

  // The file grows between the runs.
  std::vector<size_t> cuts{text.find('\n', text.size() / 5) + 1, text.find('\n', text.size() / 2) + 1,
                           text.size()};
  write_file(dir / "parts/in.jsonl", "");
  for (size_t cut : cuts) {
    {
      std::ofstream grow(dir / "parts/in.jsonl", std::ios::binary | std::ios::app);
      const auto have = static_cast<size_t>(testing::fs::file_size(dir / "parts/in.jsonl"));
      grow << text.substr(have, cut - have);
    }
    Ran part = run_doppel("scan -q --all --state state -o parts.out parts/in.jsonl --set batch_documents=100",
                          "cd '" + dir.path().string() + "'; " + key);
    ASSERT_EQ(part.code, 0) << part.err;
  }
  std::string expected = read_file(dir / "whole.out");
  for (size_t at = 0; (at = expected.find("whole/", at)) != std::string::npos; ++at)
    expected.replace(at, 5, "parts");
  EXPECT_EQ(read_file(dir / "parts.out"), expected);
}

TEST(Scan, ErrorsSayWhatIsWrong) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("a", numbered_words(0, 10)));
  Ran missing = run_doppel("scan " + (dir / "nowhere.jsonl"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.jsonl"));
  Ran key = run_doppel("scan --set treshold=0.7 " + (dir / "in.jsonl"));
  EXPECT_EQ(key.code, 2);
  EXPECT_THAT(key.err, HasSubstr("threshold"));
  Ran clusters = run_doppel("scan --clusters --state " + (dir / "s") + " " + (dir / "in.jsonl"));
  EXPECT_EQ(clusters.code, 2);
  EXPECT_THAT(clusters.err, HasSubstr("cluster_id"));
  Ran output = run_doppel("scan -o " + (dir / "no/such/place") + " " + (dir / "in.jsonl"));
  EXPECT_NE(output.code, 0);
  EXPECT_THAT(output.err, HasSubstr("no/such/place"));
  run_doppel("scan -q --state " + (dir / "s") + " " + (dir / "in.jsonl"));
  Ran other = run_doppel("scan -q --threshold 0.7 --state " + (dir / "s") + " " + (dir / "in.jsonl"));
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, HasSubstr("threshold"));
}

#ifndef DOPPEL_SANITIZED

// The index reserves address space for its growth. A limit (ulimit -v) leaves less, and if that is not
// enough, nothing is judged.
TEST(Scan, ALimitOfTheAddressSpaceIsKept) {
  TempDir dir;
  std::string lines;
  for (int i = 0; i < 12'000; ++i)
    lines += "{\"text\":\"a" + std::to_string(i) + " b c" + std::to_string(i * 7 % 1000) + " d e f g\"}\n";
  write_file(dir / "in.jsonl", lines);
  const std::string arguments = "scan -q --clusters --set threads=2 " + (dir / "in.jsonl");
  const Ran whole = run_doppel(arguments);
  ASSERT_EQ(whole.code, 0);
  int refused = 0, done = 0;
  for (const int mebibytes : {40, 100, 200, 300, 450, 600, 800, 1200, 2000, 4000, 16000}) {
    const Ran ran = run_doppel(arguments, "ulimit -v " + std::to_string(mebibytes * 1024) + ";");
    if (ran.code == 0) {
      EXPECT_EQ(ran.out, whole.out) << mebibytes;
      ++done;
    } else if (mebibytes > 40) {  // the loader itself needs that much
      EXPECT_EQ(ran.code, 3) << mebibytes << " " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("the limit of the address space (ulimit -v) is"));
      EXPECT_EQ(ran.out, "");
      ++refused;
    }
  }
  EXPECT_GE(done, 4);
  EXPECT_GE(refused, 2);
}

// Returns the limit that is just enough to begin, from the message.
int64_t least_address_space(const std::string& arguments) {
  const Ran ran = run_doppel(arguments, "ulimit -v 150000;");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(ran.out, "");
  constexpr std::string_view kBefore = " KiB, and ";
  const size_t at = ran.err.find(kBefore);
  return at == std::string::npos ? 0 : std::atoll(ran.err.c_str() + at + kBefore.size());
}

// If memory runs out later, the run stops, and the next one continues there.
TEST(Scan, AnIndexThatTheSystemRefusesMemoryStopsTheRun) {
  TempDir dir;
  std::string lines;
  constexpr int kDocuments = 12'000;
  for (int i = 0; i < kDocuments; ++i)
    lines += line(std::to_string(i),
                  "a" + std::to_string(i / 2) + " b c" + std::to_string(i / 2 * 7) + " d e f g");
  write_file(dir / "in.jsonl", lines);
  const std::string input = dir / "in.jsonl";
  const std::string arguments =
      "scan -q --all --threshold 0.2 --set num_perm=1024 --set threads=1 --set batch_bytes=65536 ";
  const Ran whole = run_doppel(arguments + input);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const int64_t least = least_address_space(arguments + input);
  ASSERT_GT(least, 150'000);
  // The limit determines how much the index reserves at once: with some limits, the first batches have room.
  std::string with_state;
  Ran stopped;
  for (int64_t more = 0; more < 400'000 && lines_of(stopped.out) == 0; more += 16'000) {
    with_state = arguments + "--state " + (dir / ("state" + std::to_string(more))) + " " + input;
    stopped = run_doppel(with_state, "ulimit -v " + std::to_string(least + more) + ";");
    EXPECT_EQ(stopped.code, 3);
    EXPECT_THAT(stopped.err, HasSubstr("the limit of the address space"));
  }
  EXPECT_THAT(stopped.err, HasSubstr("the system refuses memory for"));
  EXPECT_GT(lines_of(stopped.out), 0u);
  EXPECT_LT(lines_of(stopped.out), static_cast<size_t>(kDocuments));
  const Ran rest = run_doppel(with_state);
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(stopped.out + rest.out, whole.out);
}

// A line costs only itself, however long it becomes.
TEST(Scan, ALineThatIsTooLargeForTheParserIsLeftOut) {
  TempDir dir;
  const std::string few = "{\"text\":\"one two three four five six\"}\n";
  write_file(dir / "a.jsonl.zst", zst("{\"text\":\"" + std::string(200 << 20, 'a') + "\"}\n" + few));
  const Ran ran = run_doppel("scan --all --set threads=1 " + (dir / "a.jsonl.zst"), "ulimit -v 700000;");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("too large for this machine's memory"));
  EXPECT_THAT(ran.out, HasSubstr("\"verdict\":\"unique\""));
}

TEST(Scan, ALineThatTakesTooMuchMemoryIsLeftOut) {
  TempDir dir;
  const std::string few = "{\"text\":\"one two three four five six\"}\n";
  write_file(dir / "a.jsonl.zst", zst("{\"text\":\"" + std::string(200 << 20, 'a') + "\"}\n" + few));
  write_file(dir / "b.jsonl", few);
  const Ran ran = run_doppel("scan --all --set threads=1 " + (dir / "a.jsonl.zst") + " " + (dir / "b.jsonl"),
                             "ulimit -v 500000; ulimit -t 20;");  // seconds of processor time
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("a.jsonl.zst: "));
  EXPECT_THAT(ran.err, HasSubstr("memory"));
  EXPECT_THAT(ran.out, HasSubstr("b.jsonl"));
}

#endif

TEST(Scan, AFullDiskStopsItCleanly) {
  TempDir dir;
  write_file(dir / "in.jsonl", corpus(3, 500));
  Ran ran = run_doppel("scan -q --all -o /dev/full " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("/dev/full"));
  EXPECT_THAT(ran.err, HasSubstr("No space left"));
}

// Two runs read other documents at the same place of stdin: their events are about different documents.
TEST(Scan, DocumentsOfStdinHaveOtherIdsInEachRun) {
  TempDir dir;
  std::string all;
  for (const std::string text : {"a b c d e f g", "h i j k l m n", "a b c d e f g"}) {
    write_file(dir / "in", R"({"text":")" + text + "\"}\n" + R"({"text":")" + text + "\"}\n");
    const Ran ran = run_doppel("scan -q --state '" + (dir / "state") + "' - < '" + (dir / "in") + "'");
    EXPECT_EQ(ran.code, 0) << ran.err;
    all += ran.out;
  }
  std::vector<std::string> ids;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("\"event_id\":\"") + 12;
    ids.push_back(line.substr(at, line.find('"', at) - at));
  }
  EXPECT_THAT(ids, ::testing::ElementsAre("-/25", "-~2/25", "-~4/0", "-~4/25"));
}

}  // namespace
}  // namespace doppel
