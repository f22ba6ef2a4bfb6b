// doppel decontaminate: searches documents for items of evaluations, as a user would.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string field(const std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  const bool text = line[begin] == '"';
  return line.substr(begin + (text ? 1 : 0),
                     line.find_first_of(text ? "\"" : ",}", begin + 1) - begin - (text ? 1 : 0));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string document(const std::string& id, const std::string& text) {
  return R"({"id":")" + id + R"(","text":")" + text + "\"}\n";
}
std::string item(const std::string& id, const std::string& question, const std::string& answer) {
  return R"({"id":")" + id + R"(","question":")" + question + R"(","answer":")" + answer + "\"}\n";
}

// Words with the frequencies of a language: the n-th has the frequency 1 / n.
class Language {
 public:
  explicit Language(std::mt19937& random) : random_(random) {
    for (int i = 1; i < 20'000; ++i) weights_.push_back(1.0 / i);
    words_ = std::discrete_distribution<>(weights_.begin(), weights_.end());
  }
  std::string word() { return "w" + std::to_string(words_(random_)); }
  std::vector<std::string> words(size_t n) {
    std::vector<std::string> out(n);
    for (std::string& one : out) one = word();
    return out;
  }

 private:
  std::mt19937& random_;
  std::vector<double> weights_;
  std::discrete_distribution<> words_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Words that are inserted, deleted or replaced between `a` and `b`, by the textbook.
size_t edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

TEST(Decontaminate, FindsWhatWasPlantedAndKeepsTheRest) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Language language(random);
  std::vector<std::vector<std::string>> items;
  std::string evals;
  for (int i = 0; i < 300; ++i) {
    items.push_back(language.words(6 + random() % 50));
    evals += item("q" + std::to_string(i), joined(items.back()) + "?", language.word());
  }
  std::string corpus, clean;
  std::vector<std::string> planted(3000);  // the item in each document
  size_t verbatim = 0, edited = 0;
  for (size_t d = 0; d < planted.size(); ++d) {
    std::vector<std::string> text = language.words(20 + random() % 700);
    if (d % 10 < 2) {
      const size_t i = random() % items.size();
      std::vector<std::string> copy = items[i];
      if (d % 10 == 1)
        for (std::string& word : copy)
          if (random() % 10 == 0) word = language.word();
      ++(d % 10 == 1 ? edited : verbatim);
      planted[d] = "q" + std::to_string(i);
      const auto at = text.begin() + static_cast<long>(random() % (text.size() + 1));
      text.insert(at, copy.begin(), copy.end());
    }
    corpus += document("d" + std::to_string(d), joined(text));
  }
  TempDir dir;
  write_file(dir / "evals.jsonl", evals);
  write_file(dir / "corpus.jsonl", corpus);
  const Ran ran = run_doppel("decontaminate --evals " + (dir / "evals.jsonl") + " --keep " +
                             (dir / "clean.jsonl") + " " + (dir / "corpus.jsonl"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<std::string> documents = lines_of(corpus);
  size_t found_verbatim = 0, found_edited = 0;
  std::set<size_t> contaminated;
  for (const std::string& line : lines_of(ran.out)) {
    SCOPED_TRACE(line);
    const size_t d = std::stoul(field(line, "id").substr(1));
    const std::string which = field(line.substr(line.find("\"item\"")), "id");
    contaminated.insert(d);
    // The passage stands in the document and is as near to the item as the line says.
    const auto& words = items[std::stoul(which.substr(1))];
    const std::string passage = field(line, "passage");
    const size_t changed = edits(words, words_of(passage));
    EXPECT_THAT(" " + field(documents[d], "text") + " ", HasSubstr(" " + passage + " "));
    EXPECT_EQ(field(line, "changed"), std::to_string(changed));
    EXPECT_LE(static_cast<double>(changed), .34 * static_cast<double>(words.size()));
    EXPECT_EQ(field(line, "relation"), changed == 0 ? "verbatim" : "edited");
    if (planted[d] != which) continue;  // an item of a few frequent words also stands in documents by chance
    ++(d % 10 == 1 ? found_edited : found_verbatim);
    EXPECT_TRUE(changed == 0 || d % 10 == 1);
  }
  EXPECT_EQ(found_verbatim, verbatim);
  EXPECT_GE(static_cast<double>(found_edited), .93 * static_cast<double>(edited));
  for (size_t d = 0; d < documents.size(); ++d)
    if (!contaminated.contains(d)) clean += documents[d] + "\n";
  EXPECT_EQ(read_file(dir / "clean.jsonl"), clean);
  EXPECT_THAT(ran.err, HasSubstr("3,000 documents"));

  // The same result on any number of threads, and compressed.
  for (const std::string threads : {"1", "3"})
    EXPECT_EQ(run_doppel("decontaminate -q --threads " + threads + " --evals " + (dir / "evals.jsonl") + " " +
                         (dir / "corpus.jsonl"))
                  .out,
              ran.out);
}

TEST(Decontaminate, SaysWhichPassageOfWhichDocument) {
  TempDir dir;
  write_file(dir / "evals.jsonl", item("capital", "Which city is the capital of Australia?", "Canberra") +
                                      item("short", "Who wrote Hamlet?", "William Shakespeare") +
                                      item("hopeless", "Why?", "So") +
                                      item("stock", "Which of the following is NOT true?", "B"));
  write_file(dir / "corpus.jsonl",
             document("a", "Quiz!\\n\\nWHICH CITY — is the capital\\nof Australia? (Canberra.) Next.") +
                 document("b", "Nothing is here. Which of the following is not true? Guess!") +
                 document("c", "Who wrote Hamlet? (William Shakespeare.) Who wrote Faust?") +
                 document("d", "Who wrote Hamlet? Nobody knows for sure.") + "no json\n" +
                 document("e", "Which large city is the capital of Australia"));
  const Ran ran = run_doppel("decontaminate --evals " + (dir / "evals.jsonl") + " --keep " +
                             (dir / "clean.jsonl") + " " + (dir / "corpus.jsonl"));
  EXPECT_EQ(ran.code, 1);
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 3u) << ran.out << ran.err;
  EXPECT_EQ(
      lines[0],
      R"({"document":{"id":"a","file":")" + (dir / "corpus.jsonl") +
          R"(","line":1,"offset":0},"item":{"id":"capital","file":")" + (dir / "evals.jsonl") +
          R"(","question":"Which city is the capital of Australia?"},"relation":"verbatim","share":1,)"
          R"("changed":0,"words":[1,8],"bytes":[7,49],"passage":"WHICH CITY — is the capital\nof Australia",)"
          R"("answer":true})");
  EXPECT_THAT(lines[1], HasSubstr(R"("id":"c")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("relation":"verbatim")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("answer":true)"));
  EXPECT_THAT(lines[2], HasSubstr(R"("share":0.857142,"changed":1)"));
  EXPECT_THAT(lines[2], HasSubstr(R"("answer":false)"));
  EXPECT_THAT(ran.err, HasSubstr("3 have items in them: 2 of 4 items, 3 times, 2 of these word for word"));
  EXPECT_THAT(ran.err, HasSubstr("not looked for: 1 item, too short; the first: Why?\n"));
  EXPECT_THAT(ran.err,
              HasSubstr("not looked for: 1 item of words that many items or most texts have; the first: "
                        "Which of the following is NOT true?\n"));
  EXPECT_THAT(ran.err, HasSubstr("1 document could not be read; not kept"));
  const std::string clean = read_file(dir / "clean.jsonl");
  EXPECT_THAT(clean, HasSubstr(R"("id":"b")"));
  EXPECT_THAT(clean, HasSubstr(R"("id":"d")"));
  EXPECT_EQ(lines_of(clean).size(), 2u);
  const Ran strict = run_doppel("decontaminate -q --changed 0 --evals " + (dir / "evals.jsonl") + " " +
                                (dir / "corpus.jsonl"));
  EXPECT_EQ(lines_of(strict.out).size(), 2u) << strict.out;
}

TEST(Decontaminate, ReadsTheFieldsThatAreNamed) {
  TempDir dir;
  write_file(dir / "e/1.jsonl", R"({"prompt":"one two three four five six","target":"seven"})"
                                "\n"
                                R"({"question":{"stem":"alpha beta gamma delta epsilon"}})"
                                "\n"
                                R"({"answer":"no question"})"
                                "\n");
  write_file(dir / "corpus.jsonl", document("a", "one two three four five six seven") +
                                       document("b", "zeta alpha beta gamma delta epsilon"));
  const std::string end = " --evals " + (dir / "e") + " " + (dir / "corpus.jsonl");
  const Ran plain = run_doppel("decontaminate" + end);
  EXPECT_EQ(lines_of(plain.out).size(), 1u) << plain.out;
  EXPECT_THAT(plain.err, HasSubstr("1.jsonl:3"));
  EXPECT_THAT(plain.err, HasSubstr("2 items could not be read"));
  EXPECT_EQ(plain.code, 1);
  const Ran named =
      run_doppel("decontaminate --question-field /question/stem,prompt --answer-field target" + end);
  EXPECT_EQ(lines_of(named.out).size(), 2u) << named.err;
  EXPECT_THAT(named.out, HasSubstr(R"("answer":true)"));
}

TEST(Decontaminate, RefusesWhatCannotBe) {
  TempDir dir;
  write_file(dir / "evals.jsonl", item("a", "one two three four five six", ""));
  write_file(dir / "corpus.jsonl", document("a", "one two three four five six seven"));
  write_file(dir / "empty.jsonl", "");
  const auto refused = [&](const std::string& flags) { return run_doppel("decontaminate " + flags); };
  const std::string evals = "--evals " + (dir / "evals.jsonl") + " ", corpus = dir / "corpus.jsonl";
  EXPECT_EQ(refused(corpus).code, 2);
  EXPECT_THAT(refused("--evals " + (dir / "none.jsonl") + " " + corpus).err, HasSubstr("none.jsonl"));
  EXPECT_THAT(refused("--evals " + (dir / "empty.jsonl") + " " + corpus).err,
              HasSubstr("there are no items"));
  EXPECT_THAT(refused(evals + "--keep " + corpus + " " + corpus).err, HasSubstr("--keep"));
  EXPECT_THAT(refused(evals + "-o " + (dir / "evals.jsonl") + " " + corpus).err, HasSubstr("--evals"));
  EXPECT_THAT(refused(evals + "--format signed " + corpus).err, HasSubstr("hold no texts"));
  EXPECT_EQ(refused(evals + "--changed 0.9 " + corpus).code, 2);
  EXPECT_THAT(read_file(corpus), HasSubstr("one two"));
}

TEST(Decontaminate, MessagesAboutItemsNameThemAndTheirFlag) {
  TempDir dir;
  write_file(dir / "evals.jsonl",
             item("q7", "", "") + item("q8", "which of these is in none of the files", "x"));
  write_file(dir / "corpus.jsonl", document("a", "one two three four five"));
  write_file(dir / "evals.csv", "id,ask\n1,which of these is in none of the files\n");
  const std::string to = "decontaminate -o /dev/null " + (dir / "corpus.jsonl") + " --evals ";
  EXPECT_THAT(
      run_doppel(to + (dir / "evals.jsonl")).err,
      HasSubstr("too short; the first: q7 of " + (dir / "evals.jsonl") + ", whose question is empty"));
  for (const char* file : {"evals.jsonl", "evals.csv"}) {
    const std::string err = run_doppel(to + (dir / file) + " --question-field bogus").err;
    EXPECT_THAT(err, HasSubstr("--question-field names")) << file;
    EXPECT_THAT(err, ::testing::Not(HasSubstr("text-field"))) << file;
  }
}

}  // namespace
}  // namespace doppel::testing
