#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;  // stdout and stderr as they came
};

class Insight : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "doppel_insight_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }
  std::string read(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }
  // Runs `doppel ARGUMENTS` in the directory.
  Result run(const std::string& arguments, const std::string& environment = "LC_ALL=C") {
    Result result;
    const std::string command = "cd '" + directory_.string() + "' && " + environment +
                                " '" DOPPEL_BINARY "' " + arguments + " 2>&1 </dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, n);
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  std::filesystem::path directory_;
};

using ExplainCommand = Insight;
using TuneCommand = Insight;

// 10 runs of five words in each, with one word of 14 replaced in the middle: 5 runs disappear, 5 are new, 5
// stay.
constexpr char kFirst[] = "a b c d e f g h i j k l m n";
constexpr char kSecond[] = "a b c d e f G, X i j k l m n";

TEST_F(ExplainCommand, WholeAnswerForTwoFiles) {
  write("first.txt", kFirst);
  write("second.txt", kSecond);
  const Result result = run("explain first.txt second.txt --threshold 0.3 --set bands=128 --set rows=1");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              StartsWith("near duplicate\n"
                         "  Similarity 0.333333 reaches the threshold 0.3: 5 of 15 shingles are in both.\n"
                         "  They share "));
  EXPECT_THAT(result.out, HasSubstr("  A  first.txt   27 bytes, 14 words, 10 shingles\n"
                                    "  B  second.txt  28 bytes, 14 words, 10 shingles\n"));
  EXPECT_THAT(result.out, HasSubstr("What differs: 1 word removed, 1 added, 13 equal.\n\n"
                                    "a b c d e f g [-h-]{+X+} i j k l m n\n"));
}

TEST_F(ExplainCommand, IdsOfOneFile) {
  write(
      "c.jsonl",
      "{\"id\":\"p1\",\"text\":\"a b c d e f g h\"}\nnot json\n{\"id\":\"p2\",\"text\":\"a b c d e f g h\"}\n"
      "{\"id\":\"p2\",\"text\":\"now something else stands here\"}\n");
  EXPECT_THAT(run("explain --in c.jsonl p1 p2").out, StartsWith("exact duplicate"));
  EXPECT_THAT(run("explain --in c.jsonl p2 p2").out, StartsWith("not a duplicate"));
  EXPECT_THAT(run("explain --in c.jsonl c.jsonl/0 p2").out, StartsWith("exact duplicate"));
  const Result missing = run("explain --in c.jsonl p1 page2");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.out, HasSubstr("none of 3 documents has the id page2"));
  EXPECT_THAT(missing.out, HasSubstr("1 records could not be read"));
  EXPECT_THAT(run("explain --in c.jsonl p11 p1").out, HasSubstr("(did you mean p1?)"));
  EXPECT_THAT(run("explain --in c.jsonl p1 p1").out, HasSubstr("only one document has the id p1"));
}

TEST_F(ExplainCommand, OddInput) {
  write("empty.txt", "");
  write("words.txt", kFirst);
  write("many.jsonl", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
  write("none.jsonl", "");
  write("broken.jsonl", "{\n");
  std::ofstream(directory_ / "binary.bin") << std::string("\0\1\xff\x1b[2J", 7);
  EXPECT_THAT(run("explain empty.txt words.txt").out,
              StartsWith("not scored: no text\n  The first one is empty"));
  EXPECT_EQ(run("explain empty.txt words.txt").code, 0);
  const Result binary = run("explain words.txt binary.bin");
  EXPECT_EQ(binary.code, 0);
  EXPECT_THAT(binary.out, HasSubstr("binary.bin holds bytes that are not UTF-8"));
  EXPECT_THAT(binary.out, Not(HasSubstr("\x1b")));
  for (const char* wrong : {"nothere.txt words.txt", "many.jsonl words.txt", "none.jsonl words.txt",
                            "broken.jsonl words.txt", "words.txt", "- -"}) {
    const Result result = run(std::string("explain ") + wrong);
    EXPECT_EQ(result.code, 2) << wrong << "\n" << result.out;
    EXPECT_THAT(result.out, StartsWith("doppel explain: ")) << wrong;
  }
  EXPECT_THAT(run("explain many.jsonl words.txt").out, HasSubstr("doppel explain --in many.jsonl ID1 ID2"));
}

TEST_F(ExplainCommand, JsonAndPage) {
  write("first.txt", kFirst);
  write("second.txt", std::string(kSecond) + " <script>alert(1)</script>");
  const Result result = run("explain first.txt second.txt --json --html why.html");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, StartsWith("{\"duplicate\":false,\"finding\":\""));
  EXPECT_THAT(result.out, HasSubstr("\"exact\":{\"similarity\":0.263157,\"inter\":5,\"union\":19}"));
  EXPECT_THAT(result.out, HasSubstr("\"differences\":[{\"removed\":\"h \",\"added\":\"X \"},"));
  EXPECT_THAT(read("why.html"), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(read("why.html"), Not(HasSubstr("<script")));
  EXPECT_THAT(run("explain first.txt second.txt --html -").out, StartsWith("<!DOCTYPE html>"));
}

TEST_F(ExplainCommand, VerdictsDoNotDependOnTheKey) {
  write("first.txt", kFirst);
  write("second.txt", kFirst + std::string(" o"));
  const Result one =
      run("explain first.txt second.txt", "LC_ALL=C DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff");
  const Result other =
      run("explain first.txt second.txt", "LC_ALL=C DOPPEL_HASH_KEY=ffeeddccbbaa99887766554433221100");
  EXPECT_THAT(one.out, StartsWith("near duplicate"));
  EXPECT_THAT(other.out, StartsWith("near duplicate"));
}

TEST_F(TuneCommand, NumbersOfTheDefault) {
  const Result result = run("tune --memory 8GiB --svg curve.svg");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, StartsWith("11 bands of 4 rows, for threshold 0.8 and recall 0.995\n"));
  // 1-(1-.8^4)^11 = .996965, 1-(1-.6^4)^11 = .782777
  EXPECT_THAT(result.out, HasSubstr("0.80  99.70 %  <- threshold"));
  EXPECT_THAT(result.out, HasSubstr("0.60  78.3 %"));
  EXPECT_THAT(result.out, HasSubstr("memory      257 bytes"));
  EXPECT_THAT(result.out, HasSubstr("8.00 GiB of memory hold about 33,500,000 originals"));
  // Half of it for 257 bytes each, half for 12 keys of 11 bits and a directory: 16.6 bytes.
  EXPECT_THAT(result.out,
              HasSubstr("with the setting memory: about 276,000,000 originals, of which 16,700,000 are in "
                        "tables"));
  // Half of it for 393 bytes each, half for 20 bytes more: 13.8 prints of 11 bits, their directory and count.
  EXPECT_THAT(run("tune --memory 8GiB --relations near,contained").out,
              HasSubstr("with the setting memory: about 128,000,000 originals, of which 10,900,000 are in "
                        "tables"));
  EXPECT_THAT(run("tune --memory 8GiB --json").out, HasSubstr("\"with_memory\":{\"originals\":27"));
  EXPECT_THAT(result.out, HasSubstr("assumed: 500 shingles"));
  EXPECT_THAT(result.out, HasSubstr(">       11 x 4"));
  for (char c : result.out) ASSERT_GE(c, 0) << "not ASCII in the C locale";
  EXPECT_THAT(read("curve.svg"), StartsWith("<svg xmlns"));
  EXPECT_THAT(run("tune", "LC_ALL=C.UTF-8").out, HasSubstr("┊"));
  EXPECT_THAT(run("tune --svg -").out, StartsWith("<svg"));
}

TEST_F(TuneCommand, OtherParameters) {
  EXPECT_THAT(run("tune --bands 20 --rows 5").out, StartsWith("20 bands of 5 rows (as given)\n"));
  EXPECT_THAT(run("tune --bands 20 --rows 5").out, HasSubstr(">       20 x 5"));
  EXPECT_THAT(run("tune --num-perm 64 --json").out,
              StartsWith("{\"threshold\":0.8,\"recall\":0.995,\"num_perm\":64,"));
  for (const char* wrong :
       {"--bands 20", "--memory lots", "--threshold 2", "--sample nothere", "--sample-documents 0"}) {
    const Result result = run(std::string("tune ") + wrong);
    EXPECT_EQ(result.code, 2) << wrong << "\n" << result.out;
    EXPECT_THAT(result.out, HasSubstr("doppel tune: ")) << wrong;
  }
}

TEST_F(TuneCommand, SampleOfTheUsersOwn) {
  // Three texts, each twice: once unchanged, once with its last of 104 words replaced: 99 of 101 runs are
  // shared.
  std::string lines;
  for (int text = 0; text < 3; ++text) {
    std::string words;
    for (int w = 0; w < 103; ++w) words.append("t").append(std::to_string(text * 1000 + w)).append(" ");
    for (const char* last : {"end", "fin"})
      lines.append("{\"text\":\"").append(words).append(last).append("\"}\n");
  }
  write("sample.jsonl", lines + "{\"text\":\"\"}\nbroken\n{\"text\":\"too short\"}\n");
  const Result result = run("tune --sample sample.jsonl --json");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              HasSubstr("\"whole\":true,\"documents\":6,\"rejected\":1,\"without_text\":1,\"too_short\":1"));
  EXPECT_THAT(result.out, HasSubstr("\"shingles\":100,"));
  EXPECT_THAT(result.out, HasSubstr("0,0,3,0],\"thresholds\""));  // 99 / 101 = .980
  EXPECT_THAT(result.out, HasSubstr("\"pairs_similar\":3,\"pairs_found\":3,\"originals\":3,"));
  const Result text = run("tune --sample sample.jsonl --sample-documents 4");
  EXPECT_THAT(text.out, HasSubstr("Measured on the first 4 documents of sample.jsonl"));
  EXPECT_THAT(text.out, HasSubstr("found      2 of 2 pairs at or above 0.8 (100.00 %)"));
  write("nothing.jsonl", "{\"text\":\"\"}\n");
  EXPECT_EQ(run("tune --sample nothing.jsonl").code, 2);
}

// Whatever `relations` is set to: the sample shows whether relations are worth it.
TEST_F(TuneCommand, SampleSaysHowManyDocumentsArePartsOfOthers) {
  const auto line = [](const std::string& id, int from, int to) {
    std::string text;
    for (int w = from; w < to; ++w) text += "t" + std::to_string(w) + " ";
    return "{\"id\":\"" + id + "\",\"text\":\"" + text + "\"}\n";
  };
  write("parts.jsonl", line("whole", 0, 600) + line("half", 0, 300) + line("again", 0, 600) +
                           line("more", 0, 1000) + line("other", 2000, 2400));
  const Result text = run("tune --sample parts.jsonl");
  EXPECT_THAT(text.out, HasSubstr("of 5 documents in their order, 1 of them near copies:"));
  EXPECT_THAT(text.out, HasSubstr("contained          1   20.0 %  an earlier one has 0.8 of it or more"));
  EXPECT_THAT(text.out, HasSubstr("half is in whole: 100 % of it, 50 % of the other one"));
  EXPECT_THAT(text.out, HasSubstr("more has whole: 60 % of it, 100 % of the other one"));
  const Result json = run("tune --sample parts.jsonl --relations near,shares --passage-words 60 --json");
  EXPECT_THAT(json.out,
              HasSubstr(R"("parts":{"documents":5,"near":1,"contained":1,"contains":1,"shares":0,)"));
  EXPECT_THAT(json.out, HasSubstr(R"({"relation":"contained","id":"half","original":"whole","shared":296,)"));
}

// Documents of `words` words of a language of 300 words, each twice: as it is, and after `change`.
std::string twice(int documents, int words,
                  const std::function<void(std::vector<std::string>&, std::mt19937&)>& change) {
  std::mt19937 random(1);
  std::vector<std::string> language(300);
  for (std::string& word : language)
    for (int i = 0; i < 7; ++i) word += static_cast<char>('a' + random() % 26);
  std::string lines;
  for (int document = 0; document < documents; ++document) {
    std::vector<std::string> text;
    for (int i = 0; i < words; ++i) text.push_back(language[random() % language.size()]);
    for (int copy = 0; copy < 2; ++copy) {
      if (copy == 1) change(text, random);
      lines += R"({"text":")" + absl::StrJoin(text, " ") + "\"}\n";
    }
  }
  return lines;
}

TEST_F(TuneCommand, AdvisesWhatFindsMoreInTheSample) {
  const auto one_word = [](std::vector<std::string>& text, std::mt19937& random) {
    text[1 + random() % (text.size() - 2)] = "replaced";
  };
  write("titles.jsonl", twice(100, 8, one_word));
  const Result titles = run("tune --sample titles.jsonl");
  EXPECT_THAT(titles.out, HasSubstr("half of them have at most 8 words"));
  EXPECT_THAT(titles.out,
              HasSubstr("    doppel scan --set shingle_words=2 -t 0.5 --html report.html titles.jsonl\n"));
  EXPECT_THAT(run("tune --sample titles.jsonl --json").out,
              HasSubstr(R"("flags":"--set shingle_words=2 -t 0.5","what":"copies","now":0,"advised":100})"));
  EXPECT_THAT(run("tune --sample titles.jsonl --set shingle_words=2").out, Not(HasSubstr("Advice")));
  write("sentences.jsonl", twice(100, 25, one_word));
  EXPECT_THAT(run("tune --sample sentences.jsonl").out,
              HasSubstr("doppel scan --set shingle_words=2 --html"));

  const auto misread = [](std::vector<std::string>& text, std::mt19937& random) {
    for (std::string& word : text)
      if (random() % 100 < 6) word[random() % word.size()] = '1';
  };
  write("scanned.jsonl", twice(100, 300, misread));
  const Result scanned = run("tune --sample scanned.jsonl");
  EXPECT_THAT(scanned.out, HasSubstr("  Scanned texts: "));
  EXPECT_THAT(scanned.out, HasSubstr("    doppel scan -t 0.5 --html report.html scanned.jsonl\n"));
  const auto quote = [](std::vector<std::string>& text, std::mt19937&) {
    std::fill(text.begin() + 80, text.end(), std::string());
    for (size_t i = 80; i < text.size(); ++i)
      text[i] = "other" + std::to_string(i * 7919 % 100'003) + text[i % 80];
  };
  write("news.jsonl", twice(50, 300, quote));
  EXPECT_THAT(run("tune --sample news.jsonl").out,
              HasSubstr("doppel scan --relations contained,contains,shares --set passage_words=60 --html"));
  // What the defaults find needs no advice.
  write("same.jsonl", twice(50, 300, [](std::vector<std::string>&, std::mt19937&) {}));
  EXPECT_THAT(run("tune --sample same.jsonl").out, Not(HasSubstr("Advice")));
}

TEST_F(Insight, HelpTeachesByExample) {
  const std::string relations = "tune --relations near,contained --passage-words 64";
  EXPECT_THAT(run(relations).out, HasSubstr("Relations: passages of 64 words\n"));
  EXPECT_THAT(run(relations).out, HasSubstr("          64  100 %\n"));
  EXPECT_THAT(run(relations + " --json").out,
              HasSubstr(R"("relations":{"passage_words":64,"prints_memory_bytes":)"));
  EXPECT_THAT(run("tune").out, Not(HasSubstr("Relations")));
  EXPECT_THAT(run("tune --help").out, HasSubstr("doppel tune --threshold 0.7 --memory 8GiB"));
  EXPECT_THAT(run("explain --help").out, HasSubstr("doppel explain draft.txt final.txt"));
}

}  // namespace
}  // namespace doppel
