// `doppel batch`: the streaming job finds what `doppel scan` finds, with any number of reducers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "commands/run_doppel.h"
#include "lab/collection.h"
#include "lab/random.h"

namespace doppel {
namespace {

using doppel::testing::Ran;
using doppel::testing::run_doppel;
using doppel::testing::TempDir;
using doppel::testing::write_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kKey[] = "DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff";

// Documents in the order of their ids: originals, exact copies, copies with a few other words, copies of
// copies, short ones.
std::string made_documents(uint64_t seed, size_t count) {
  lab::Random random(seed);
  std::vector<std::vector<std::string>> texts;
  std::string out;
  for (size_t d = 0; d < count; ++d) {
    std::vector<std::string> words;
    if (d > 4 && random.below(2) == 0) {
      words = texts[random.below(texts.size())];
      for (uint64_t changes = random.below(6); changes > 0; --changes)
        words[random.below(words.size())] = lab::made_word(random.below(900));
    } else {
      for (uint64_t n = random.below(20) == 0 ? 3 : random.between(60, 300); n > 0; --n)
        words.push_back(lab::made_word(random.below(20000)));
    }
    texts.push_back(words);
    std::string text;
    for (const std::string& word : words) text += word + " ";
    char id[32];
    std::snprintf(id, sizeof id, "page %05zu%%", d);
    out += std::string(R"({"id":")") + id + R"(","text":")" + text + "\"}\n";
  }
  return out;
}

// "copy original similarity kind" of both outputs, sorted.
std::vector<std::string> found_by(const std::string& lines, bool scan) {
  auto member = [](const std::string& line, const std::string& key, size_t from) {
    const size_t at = line.find("\"" + key + "\":", from) + key.size() + 3;
    const size_t end = line[at] == '"' ? line.find('"', at + 1) + 1 : line.find_first_of(",}", at);
    return line.substr(at, end - at);
  };
  std::vector<std::string> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::string copy = scan ? member(line, "id", line.find("\"document\":")) : member(line, "id", 0);
    const std::string original =
        scan ? member(line, "id", line.find("\"original\":")) : member(line, "duplicate_of", 0);
    out.push_back(
        absl::StrCat(copy, " ", original, " ", member(line, "similarity", 0), " ", member(line, "kind", 0)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Batch, FindsWhatScanFinds) {
  for (uint64_t seed : {1, 2}) {
    TempDir dir;
    write_file(dir / "pages.jsonl", made_documents(seed, 400));
    const Ran scanned = run_doppel("scan " + (dir / "pages.jsonl"), kKey);
    ASSERT_EQ(scanned.code, 0) << scanned.err;
    const std::vector<std::string> wanted = found_by(scanned.out, true);
    EXPECT_GT(wanted.size(), 100u);
    const Ran mapped = run_doppel("batch map < " + (dir / "pages.jsonl"), kKey);
    ASSERT_EQ(mapped.code, 0) << mapped.err;
    for (size_t reducers : {1, 3}) {
      std::vector<std::vector<std::string>> inputs(reducers);
      std::istringstream lines(mapped.out);
      for (std::string line; std::getline(lines, line);) {
        inputs[std::hash<std::string>()(line.substr(0, line.find('\t'))) % reducers].push_back(line);
      }
      std::string pairs;
      for (std::vector<std::string>& input : inputs) {
        std::sort(input.begin(), input.end());
        std::string text;
        for (const std::string& line : input) text += line + "\n";
        write_file(dir / "sorted", text);
        const Ran reduced = run_doppel("batch reduce < " + (dir / "sorted"), kKey);
        ASSERT_EQ(reduced.code, 0) << reduced.err;
        pairs += reduced.out;
      }
      write_file(dir / "pairs", pairs);
      const Ran clusters = run_doppel("batch clusters < " + (dir / "pairs"));
      ASSERT_EQ(clusters.code, 0) << clusters.err;
      EXPECT_EQ(found_by(clusters.out, false), wanted) << "seed " << seed << ", " << reducers << " reducers";
    }
  }
}

TEST(Batch, TimeComesBeforeId) {
  TempDir dir;
  std::string text = "one two three four five six seven eight nine ten eleven twelve";
  write_file(dir / "pages", R"({"id":"a","date":"2024-05-06","text":")" + text + "\"}\n" +
                                R"({"id":"b","date":"2024-05-05","text":")" + text + "\"}\n");
  const Ran ran =
      run_doppel("batch map < " + (dir / "pages") +
                 " | LC_ALL=C sort | '" DOPPEL_BINARY "' batch reduce | '" DOPPEL_BINARY "' batch clusters");
  EXPECT_EQ(ran.out, "{\"id\":\"a\",\"duplicate_of\":\"b\",\"similarity\":1,\"kind\":\"exact\"}\n");
}

TEST(Batch, WhatIsWrong) {
  TempDir dir;
  write_file(dir / "pages",
             "{\"id\":\"a\",\"text\":\"one two three four five six\"}\nnot json\n{\"text\":\"no id at all "
             "here now\"}\n");
  const Ran mapped = run_doppel("batch map < " + (dir / "pages"), kKey);
  EXPECT_EQ(mapped.code, 0);
  EXPECT_THAT(mapped.err, HasSubstr("doppel batch map: stdin:2: not JSON"));
  EXPECT_THAT(mapped.err, HasSubstr("stdin:3: the document has no id"));
  EXPECT_THAT(mapped.err, HasSubstr("reporter:counter:doppel,rejected,2"));
  write_file(dir / "records", mapped.out);
  // Another key, other settings, and damage.
  EXPECT_EQ(run_doppel("batch reduce < " + (dir / "records"), kKey).code, 0);
  const Ran other =
      run_doppel("batch reduce < " + (dir / "records"), "DOPPEL_HASH_KEY=ffeeddccbbaa99887766554433221100");
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, HasSubstr("it was mapped with other settings or another hash key"));
  EXPECT_EQ(run_doppel("batch reduce --threshold 0.5 < " + (dir / "records"), kKey).code, 3);
  std::string damaged = mapped.out;
  damaged[damaged.size() - 3] = damaged[damaged.size() - 3] == '0' ? '1' : '0';
  write_file(dir / "damaged", damaged);
  EXPECT_THAT(run_doppel("batch reduce < " + (dir / "damaged"), kKey).err, HasSubstr("the set of a: "));
  for (const char* line : {"x", "99 0000\t- a", "00 0\t- a zz -", "y 1\t- a", "00 0\t"}) {
    write_file(dir / "line", std::string(line) + "\n");
    const Ran ran = run_doppel("batch reduce < " + (dir / "line"), kKey);
    EXPECT_EQ(ran.code, 3) << line;
    EXPECT_THAT(ran.err, StartsWith("doppel batch reduce: stdin:1: ")) << line;
  }
  for (const char* line :
       {"x", "- a\t- b", "- b\t- a\t1 1 near", "- a\t- b\t1 0 near", "- a\t- b\t1 1 far"}) {
    write_file(dir / "line", std::string(line) + "\n");
    EXPECT_THAT(run_doppel("batch clusters < " + (dir / "line")).err,
                StartsWith("doppel batch clusters: stdin:1: "))
        << line;
  }
  EXPECT_EQ(run_doppel("batch").code, 2);
}

}  // namespace
}  // namespace doppel
