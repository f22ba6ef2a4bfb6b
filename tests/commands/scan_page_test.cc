// doppel scan --html: the page that shows a person what came how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::numbered_words;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

std::string line(const std::string& id, const std::string& text, const std::string& url = "") {
  return R"({"id":")" + id + R"(","url":")" + url + R"(","text":")" + text + "\"}\n";
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ScanPage, ShowsWhatCameHowOftenAndCopiesBesideTheirOriginal) {
  TempDir dir;
  write_file(dir / "in/a/first.txt", numbered_words(0, 100));
  write_file(dir / "in/b/second.txt", numbered_words(0, 100));
  write_file(dir / "in/b/third.txt", numbered_words(0, 50) + " changed " + numbered_words(51, 100));
  write_file(dir / "in/c/other.txt", numbered_words(500, 600));
  const Ran ran = run_doppel("scan --html " + (dir / "report.html") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of(ran.out, "duplicate-of"), 2u) << "events as ever: " << ran.out;
  const std::string page = read_file(dir / "report.html");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>Copies among 4 documents</h1>"), HasSubstr("1 exact, 1 near")));
  EXPECT_THAT(page, HasSubstr("<h3>" + (dir / "in/a/first.txt") + "</h3>\n<p>2 copies: 1 exact, 1 near; "));
  EXPECT_THAT(page, HasSubstr(R"(<span class="like">exact</span> )" + (dir / "in/b/second.txt")));
  EXPECT_THAT(page, HasSubstr(R"(<span class="like">0.900</span> )" + (dir / "in/b/third.txt")));
  EXPECT_THAT(page, AllOf(HasSubstr("<del>word50</del>"), HasSubstr("<ins>changed</ins>")));
  // One document came once, and one three times.
  EXPECT_THAT(page,
              HasSubstr(R"(once</th><td data-label="originals">1</td><td data-label="documents">1</td>)"));
  EXPECT_THAT(page,
              HasSubstr(R"(3 times</th><td data-label="originals">1</td><td data-label="documents">3</td>)"));
  EXPECT_THAT(page, HasSubstr((dir / "in/b") +
                              R"(</th><td data-label="documents">2</td><td data-label="copies">2<)"));
  EXPECT_THAT(page, Not(HasSubstr("By host")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("src=")), Not(HasSubstr("href="))));
}

TEST(ScanPage, CountsHostsAndOriginalsOfEarlierRuns) {
  TempDir dir;
  write_file(dir / "1.jsonl", line("a", numbered_words(0, 60), "https://one.example/a"));
  write_file(dir / "2.jsonl", line("b", numbered_words(0, 60), "https://two.example:8080/b") +
                                  line("https://three.example/c", numbered_words(0, 60)));
  const std::string state = " --state " + (dir / "index") + " -o " + (dir / "events") + " ";
  ASSERT_EQ(run_doppel("scan" + state + (dir / "1.jsonl")).code, 0);
  const Ran ran = run_doppel("scan --html -" + state + (dir / "1.jsonl") + " " + (dir / "2.jsonl"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("Copies among 2 documents"), HasSubstr("<h3>a</h3>\n<p>2 copies: 2 exact")));
  EXPECT_THAT(ran.out, AllOf(HasSubstr(">two.example</th>"), HasSubstr(">three.example</th>"),
                             Not(HasSubstr("one.example"))));
  EXPECT_THAT(ran.out, Not(HasSubstr("once</th>")));
}

TEST(ScanPage, WhatDocumentsSayIsEscaped) {
  TempDir dir;
  const std::string bad = "<script>alert(1)</script><img src=x onerror=alert(1)>&'";
  write_file(dir / "in.jsonl",
             line("1" + bad, bad + numbered_words(0, 100), "https://a" + bad + ".example/") +
                 line("2" + bad, numbered_words(0, 100) + bad, "https://a" + bad + ".example/") +
                 line("3" + bad, numbered_words(2, 90) + " " + bad));
  const Ran ran = run_doppel("scan --html - --relations contained,shares " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1&lt;script&gt;alert(1)"));
  EXPECT_THAT(ran.out, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<img"))));
  EXPECT_EQ(ran.out.find("duplicate-of"), std::string::npos) << "the page alone is on stdout";
}

TEST(ScanPage, ShowsPassagesOfRelatedDocuments) {
  TempDir dir;
  write_file(dir / "in.jsonl",
             line("whole", numbered_words(0, 400)) + line("part", numbered_words(100, 300)));
  const Ran ran = run_doppel("scan --html - --relations contained " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("<h2>Related documents</h2>"));
  EXPECT_THAT(ran.out,
              HasSubstr(R"(A &nbsp;part <span class="quiet">is a part of</span> B &nbsp;whole</h3>)"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("<mark>word100 "), HasSubstr("word299</mark>")));
}

TEST(ScanPage, APipeHasNoTextsAndThePageSaysWhy) {
  TempDir dir;
  write_file(dir / "in.jsonl", line("a", numbered_words(0, 60)) + line("b", numbered_words(1, 60)));
  const Ran ran = run_doppel("scan --html - -", "cat " + (dir / "in.jsonl") + " |");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("<h3>a</h3>"), HasSubstr("cannot be read again"), Not(HasSubstr("word5"))));
}

TEST(ScanPage, IsWrittenAgainInTheFolderThatIsReadButReplacesNothingElse) {
  TempDir dir;
  write_file(dir / "in/a.txt", numbered_words(0, 60));
  const std::string command =
      "scan -o " + (dir / "events") + " --html " + (dir / "in/report.html") + " " + (dir / "in");
  for (int run = 0; run < 2; ++run) {
    const Ran ran = run_doppel(command);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(read_file(dir / "in/report.html"), HasSubstr("Copies among 1 document<"));
  }
  write_file(dir / "in/report.html", "<!DOCTYPE html><p>" + numbered_words(0, 60));
  const Ran other = run_doppel(command);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--html"));
  const Ran output = run_doppel("scan -o x.html " + (dir / "in"));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--html x.html"));
}

// Hosts and originals that are not among the largest are forgotten on the way, and what is shown is right.
TEST(ScanPage, StaysSmallWithAHundredThousandDocuments) {
  TempDir dir;
  std::string lines;
  const std::string tags(3000, '<');  // of which each byte takes four on the page
  for (int i = 0; i < 100'000; ++i) {
    const int group = i % 200 == 0 ? 1'000'000 : i % 45'000;
    const std::string host = "https://h" + std::to_string(i % 200 == 0 ? 0 : i) + ".example/";
    const bool long_one = i % 200 == 0 || i % 45'000 < 300;
    lines += line("id" + std::to_string(i),
                  (long_one ? numbered_words(group * 100, group * 100 + 200) + tags + std::to_string(i)
                            : numbered_words(group * 100, group * 100 + 12)),
                  host);
  }
  write_file(dir / "in.jsonl", lines);
  const Ran ran = run_doppel("scan -o /dev/null --html " + (dir / "report.html") + " " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string page = read_file(dir / "report.html");
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_GT(page.size(), 1u << 20);
  EXPECT_EQ(page.find("<h3>"), page.find("<h3>id0</h3>\n<p>499 copies: "));
  EXPECT_THAT(page, HasSubstr(R"(<th scope="row">h0.example</th><td data-label="documents">500</td>)"));
  EXPECT_THAT(page, AllOf(HasSubstr("too many to count"), HasSubstr("more originals with ")));
}

}  // namespace
}  // namespace doppel
