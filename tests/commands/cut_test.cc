// cut: shares, as a user of scan sees it: unique documents are kept without passages of earlier ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "files/parquet_writer.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

using Words = std::vector<int>;

Words range(int from, int to) {
  Words out;
  for (int i = from; i < to; ++i) out.push_back(i);
  return out;
}
Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::string text(const Words& words) {
  std::string out;
  for (const int word : words) out += fmt::format("word{} ", word);
  return out;
}
std::string line(const std::string& id, const Words& words) {
  return fmt::format("{{\"id\": \"{}\", \"text\": \"{}\", \"more\": [1.50]}}\n", id, text(words));
}

const std::string kCut = " --set relations=near,shares --set cut=shares ";

const Words kWhole = range(0, 600), kBefore = range(8'000, 9'000), kAfter = range(9'000, 9'500);
const Words kQuote = kBefore + range(200, 400) + kAfter;

TEST(Cut, LinesAreKeptWithoutPassagesOfEarlierOnes) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("whole", kWhole) + line("quote", kQuote) + line("part", range(50, 350)) +
                                   line("short", range(7'000, 7'100) + range(20, 120)));
  const Ran ran = run_doppel("scan" + kCut + "--keep " + (dir / "kept.jsonl ") + (dir / "in.jsonl"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(dir / "kept.jsonl"), line("whole", kWhole) + line("quote", kBefore + kAfter) +
                                               line("short", range(7'000, 7'100) + range(20, 120)));
  const size_t begin = text(kBefore).size(), end = begin + text(range(200, 400)).size();
  EXPECT_THAT(ran.out, HasSubstr(fmt::format("\"cut\":[[{},{}]]", begin, end)));
  EXPECT_THAT(ran.out, HasSubstr(fmt::format("\"cut\":[[0,{}]]", text(range(50, 350)).size())));
  EXPECT_THAT(ran.err, HasSubstr("passages cut out of 2 unique ones"));
  EXPECT_THAT(ran.err, HasSubstr("nothing is left of 1"));
}

TEST(Cut, TextsAndWholeFilesAreCut) {
  TempDir dir;
  write_file(dir / "lines.txt", text(kWhole) + "\n" + text(kQuote) + "\n");
  const Ran lines =
      run_doppel("scan --format text" + kCut + "--keep " + (dir / "kept ") + "- < " + (dir / "lines.txt"));
  ASSERT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(read_file(dir / "kept"), text(kWhole) + "\n" + text(kBefore + kAfter) + "\n");

  write_file(dir / "files/a.txt", text(kWhole));
  write_file(dir / "files/b.txt", text(kQuote));
  write_file(dir / "files/c.txt", text(range(0, 300)));
  const Ran files = run_doppel("scan" + kCut + "--keep-files " + (dir / "out ") + (dir / "files"));
  ASSERT_EQ(files.code, 0) << files.err;
  const std::string out = dir / "out" + (dir / "files");
  EXPECT_EQ(read_file(out + "/a.txt"), text(kWhole));
  EXPECT_EQ(read_file(out + "/b.txt"), text(kBefore + kAfter));
  EXPECT_FALSE(testing::fs::exists(out + "/c.txt"));
}

TEST(Cut, ColumnsOfParquetFilesAreCut) {
  TempDir dir;
  constexpr uint64_t kRows = 4;
  write_file(dir / "in.parquet",
             parquet_file({text_column("id", {"whole", "quote", "part", "other"}),
                           text_column("text", {text(kWhole), text(kQuote), text(range(0, 300)), "other"})},
                          kRows));
  const Ran ran = run_doppel("scan -q" + kCut + "--keep " + (dir / "kept.parquet ") + (dir / "in.parquet"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran rows = run_doppel("scan -q --keep " + (dir / "rows.jsonl ") + (dir / "kept.parquet"));
  ASSERT_EQ(rows.code, 0) << rows.err;
  const auto row = [](const std::string& id, const std::string& text) {
    return fmt::format("{{\"id\":\"{}\",\"text\":\"{}\"}}\n", id, text);
  };
  EXPECT_EQ(read_file(dir / "rows.jsonl"),
            row("whole", text(kWhole)) + row("quote", text(kBefore + kAfter)) + row("other", "other"));
}

TEST(Cut, NeedsSharesAndAnOutputAndTexts) {
  const auto said = [](const std::string& arguments) { return run_doppel("scan " + arguments).err; };
  EXPECT_THAT(said("--set cut=shares --keep /dev/null /dev/null"), HasSubstr("relations: [near, shares]"));
  EXPECT_THAT(said(kCut + "/dev/null"), HasSubstr("give that, too"));
  EXPECT_THAT(said(kCut + "--keep x --best longest /dev/null"), HasSubstr("not with --best"));
  EXPECT_THAT(said(kCut + "--keep x --format html /dev/null"), HasSubstr("as it is"));
}

// ---- against brute force

constexpr int kPassage = 30, kShingle = 5;

std::set<Words> shingles(const Words& words) {
  std::set<Words> out;
  for (size_t i = 0; i + kShingle <= words.size(); ++i)
    out.insert(Words(words.begin() + static_cast<ptrdiff_t>(i),
                     words.begin() + static_cast<ptrdiff_t>(i) + kShingle));
  return out;
}

// Removes the words of each run that one of the originals has.
Words cut(const Words& words, const std::vector<std::set<Words>>& originals) {
  std::vector<bool> gone(words.size());
  for (const std::set<Words>& original : originals) {
    size_t begin = 0;  // of a run of shingles
    for (size_t i = 0; i + kShingle <= words.size() + 1; ++i) {
      const auto at = words.begin() + static_cast<ptrdiff_t>(i);
      if (i + kShingle <= words.size() && original.contains(Words(at, at + kShingle))) continue;
      const size_t end = i + kShingle - 1;  // of its words
      if (i > begin && end - begin >= kPassage)
        std::fill(gone.begin() + static_cast<ptrdiff_t>(begin), gone.begin() + static_cast<ptrdiff_t>(end),
                  true);
      begin = i + 1;
    }
  }
  Words out;
  for (size_t i = 0; i < words.size(); ++i)
    if (!gone[i]) out.push_back(words[i]);
  return out;
}

class Generated {
 public:
  explicit Generated(uint64_t seed) : random_(seed) {
    while (documents.size() < 60) {
      Words words = one();
      // Shingles that repeat count once, and sharing a passage takes 20 different ones.
      if (shingles(words).size() + kShingle > words.size()) documents.push_back(std::move(words));
    }
  }
  std::vector<Words> documents;  // with less than 256 words, so that their sets are exact

 private:
  int below(size_t n) { return static_cast<int>(random_() % n); }
  Words one() {
    Words out;
    for (int part = 1 + below(5); part > 0; --part) {
      if (documents.empty() || below(3) == 0) {
        next_ += 100;
        out = out + range(next_, next_ + 10 + below(30));
      } else {
        const Words& from = documents[static_cast<size_t>(below(documents.size()))];
        const int begin = below(from.size()),
                  count = std::min(1 + below(44), static_cast<int>(from.size()) - begin);
        out = out + Words(from.begin() + begin, from.begin() + begin + count);
      }
    }
    return out;
  }
  std::mt19937_64 random_;
  int next_ = 0;
};

TEST(Cut, IsWhatBruteForceCutsWhateverTheThreadsBatchesAndRestarts) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Generated corpus(seed);
  std::string first, second;
  for (size_t i = 0; i < corpus.documents.size(); ++i)
    (i < 30 ? first : second) += line(fmt::format("d{}", i), corpus.documents[i]);
  TempDir dir;
  write_file(dir / "first.jsonl", first);
  write_file(dir / "second.jsonl", second);
  write_file(dir / "in.jsonl", first + second);
  const std::string environment = "DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff";
  const std::string common = "scan -q --all --set passage_words=30" + kCut;
  const Ran whole = run_doppel(common + "--keep " + (dir / "kept ") + (dir / "in.jsonl"), environment);
  ASSERT_EQ(whole.code, 0) << whole.err;
  std::vector<std::set<Words>> originals;
  std::string expected;
  size_t shorter = 0;
  for (size_t i = 0; i < corpus.documents.size(); ++i) {
    const std::string id = fmt::format("d{}", i);
    if (whole.out.find(fmt::format("\"id\":\"{}\",\"verdict\":\"unique\"", id)) == std::string::npos)
      continue;
    const Words left = cut(corpus.documents[i], originals);
    shorter += left != corpus.documents[i] ? 1 : 0;
    if (!left.empty()) expected += line(id, left);
    originals.push_back(shingles(corpus.documents[i]));
  }
  EXPECT_GT(shorter, 0u);
  EXPECT_EQ(read_file(dir / "kept"), expected);
  for (const char* how : {"--threads 2 --set batch_documents=7", "--threads 1 --set batch_documents=1"}) {
    const Ran ran = run_doppel(
        fmt::format("{} {} --keep {} {}", common, how, dir / "other", dir / "in.jsonl"), environment);
    EXPECT_EQ(read_file(dir / "other"), expected) << how;
    EXPECT_EQ(ran.out, whole.out) << how;
  }
  for (const char* part : {"first.jsonl", "second.jsonl"})
    EXPECT_EQ(run_doppel(
                  fmt::format("{} --state {} --keep {} {}", common, dir / "state", dir / "parts", dir / part),
                  environment)
                  .code,
              0);
  EXPECT_EQ(read_file(dir / "parts"), expected);
}

}  // namespace
}  // namespace doppel
