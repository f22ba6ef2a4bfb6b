// What is compared of a file, at each way in: texts in any charset, pages by their main text, each file once.
#include <gmock/gmock.h>

#include "commands/daemon.h"
#include "commands/replaced.h"
#include "doppel/index.h"
#include "http/raw_client.h"
#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string charset_file(const std::string& name) {
  return read_file(std::string(DOPPEL_SOURCE_DIR) + "/tests/formats/data/charsets/" + name);
}

std::string words(int from, int count = 60) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "word" + std::to_string(from * 1000 + i) + " ";
  return out;
}

// A page with a menu and a script that are much longer than the article.
std::string page(int article) {
  std::string menu = "<ul>";
  for (int i = 0; i < 60; ++i) menu += "<li><a href=/s>Section number " + std::to_string(i) + "</a></li>";
  std::string script = "<script>";
  for (int i = 0; i < 200; ++i) script += "window.push({\"key" + std::to_string(i) + "\": true});";
  return "<!DOCTYPE html><html><head><title>News</title>" + script + "</script></head><body><nav>" + menu +
         "</ul></nav><article><p>" + words(article) + ". And then, " + words(article + 100) +
         ".</p></article></body></html>";
}

TEST(Reading, TextsInAnyCharsetMeetTheirCopiesInUtf8) {
  TempDir dir;
  const std::vector<std::string> charsets{"windows-1251", "koi8_r", "shift_jis", "euc_jp",    "gb18030",
                                          "big5",         "euc_kr", "utf-16-le", "utf-16-be", "iso2022_jp"};
  for (const std::string& charset : charsets) {
    write_file(dir / ("in/" + charset + ".a.txt"), charset_file(charset + ".utf8"));
    write_file(dir / ("in/" + charset + ".b.txt"), charset_file(charset + ".bytes"));
  }
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const std::string& charset : charsets) {
    EXPECT_THAT(ran.out, HasSubstr(charset + ".b.txt\",\"verdict\":\"duplicate\"")) << charset;
  }
  EXPECT_THAT(ran.err, AllOf(HasSubstr("10 texts in a charset that was guessed: "),
                             HasSubstr("windows-1251 1"), HasSubstr("shift_jis 1")));
}

TEST(Reading, TextsWithOneEnglishLineAreNotTheSame) {
  TempDir dir;
  const std::string english = "This line is the same in both of the two texts, and it is in English.\n";
  const std::string russian = charset_file("windows-1251.bytes");
  std::string other = russian;
  std::reverse(other.begin(), other.end());
  write_file(dir / "in/a.txt", english + russian);
  write_file(dir / "in/b.txt", english + other);
  const Ran ran = run_doppel("scan " + (dir / "in"));
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("2 unique, 0 duplicates"));
}

TEST(Reading, ACharsetThatCannotBeRecognisedIsRefusedByName) {
  TempDir dir;
  std::string noise;
  for (int i = 0; i < 300; ++i) noise += static_cast<char>(0x80 + (i * 37) % 0x80);
  write_file(dir / "in/noise.txt", noise);
  write_file(dir / "in/good.txt", words(1));
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("noise.txt: charset: "), HasSubstr("iconv"), HasSubstr("1 rejected")));
}

// Different sites ask for JavaScript in the same words.
TEST(Reading, PagesThatNeedJavaScriptAreNoCopies) {
  TempDir dir;
  const std::string hint = "You need to enable JavaScript to run this app.";
  const std::string help = " Here are the instructions how to enable it in your browser, step by step.";
  const auto app = [](const std::string& title, const std::string& body) {
    return "<!DOCTYPE html><html><head><title>" + title + "</title><script src=/" + title +
           ".js></script></head><body>" + body + "</body></html>";
  };
  for (const std::string name : {"maps", "mail"}) {
    write_file(dir / ("in/noscript-" + name + ".html"),
               app(name, "<noscript>" + hint + "</noscript><div id=root></div>"));
    write_file(dir / ("in/long-" + name + ".html"),
               app(name, "<div id=root></div><noscript><h1>JavaScript is off</h1><p>" + hint + help + hint +
                             help + "</p></noscript>"));
    write_file(dir / ("in/text-" + name + ".html"), app(name, "<div id=root><p>" + hint + "</p></div>"));
    write_file(dir / ("in/root-" + name + ".html"), app(name, "<div id=app></div><p>Loading...</p>"));
  }
  write_file(dir / "in/menu.html",
             "<!DOCTYPE html><nav><a href=/>Home</a> <a href=/a>News of the day</a></nav>"
             "<footer>We are the paper of the valley.</footer>");
  write_file(dir / "in/nothing.html", "<!DOCTYPE html><img src=a.png>");
  for (const std::string options :
       {"--extract main", "--extract visible", "--set input.fallback_text=near"}) {
    const Ran ran = run_doppel("scan --all " + options + " " + (dir / "in"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, Not(HasSubstr("\"duplicate\""))) << options;
    for (const std::string kind : {"noscript", "long", "text", "root"}) {
      EXPECT_THAT(ran.out, ContainsRegex(kind + "-maps.html\",\"verdict\":\"unscored\".*needs_javascript"))
          << options << kind;
    }
    EXPECT_THAT(ran.err, HasSubstr("8 needs_javascript")) << options;
  }
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_THAT(ran.err, HasSubstr("  10 without a text of their own (unscored): 1 empty, 1 fallback, 8 "
                                 "needs_javascript\n"));
  EXPECT_THAT(ran.out, ContainsRegex("menu.html.*\"reason\":\"fallback\""));
  EXPECT_THAT(ran.out, ContainsRegex("nothing.html.*\"reason\":\"empty\""));
}

// Such a page would be compared by its few ASCII words, or by characters that nobody wrote.
TEST(Reading, APageInAnUnknownCharsetIsUnscored) {
  TempDir dir;
  std::string noise;
  for (int i = 0; i < 3000; ++i) noise += static_cast<char>(0x80 + (i * 37) % 0x80);
  write_file(dir / "in/noise.html", "<!DOCTYPE html><meta charset=x-unheard-of><p>" + noise + "</p>");
  // One damaged letter costs that letter.
  write_file(dir / "in/damaged.html", "<!DOCTYPE html><meta charset=euc-kr><p>" +
                                          charset_file("euc_kr.bytes") + "\xff" +
                                          charset_file("euc_kr.bytes") + "</p>");
  write_file(dir / "in/whole.html", "<!DOCTYPE html><meta charset=utf-8><p>" + charset_file("euc_kr.utf8") +
                                        charset_file("euc_kr.utf8") + "</p>");
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("noise.html\",\"verdict\":\"unscored\".*\"reason\":\"charset\""));
  EXPECT_THAT(ran.err, HasSubstr("1 charset"));
  EXPECT_THAT(ran.err, HasSubstr("1 unique, 1 duplicate"));
}

TEST(Reading, ALargeTextIsDecodedInPieces) {
  TempDir dir;
  std::string utf8, bytes;
  while (bytes.size() < (17 << 20)) {
    utf8 += charset_file("windows-1251.utf8");
    bytes += charset_file("windows-1251.bytes");
  }
  write_file(dir / "in/a.txt", utf8);
  write_file(dir / "in/b.txt", bytes);
  EXPECT_THAT(run_doppel("scan " + (dir / "in")).out, HasSubstr("\"kind\":\"exact\""));
}

TEST(Reading, SavedPagesAreComparedByTheirMainText) {
  TempDir dir;
  write_file(dir / "in/a.html", page(1));
  write_file(dir / "in/b.html", page(2));
  write_file(dir / "in/c", page(1) + "<!-- saved again -->");
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("b.html\",\"verdict\":\"unique\""),
                             HasSubstr("c\",\"verdict\":\"duplicate\"")));
  EXPECT_THAT(ran.err, HasSubstr("3 pages compared by their main text"));
  EXPECT_THAT(run_doppel("text " + (dir / "in/a.html")).out, Not(HasSubstr("Section")));
  EXPECT_THAT(run_doppel("scan --extract visible " + (dir / "in")).err, HasSubstr("by their visible text"));
  EXPECT_THAT(run_doppel("scan --format text " + (dir / "in")).err, Not(HasSubstr("pages")));
  // An index remembers how its pages were read.
  const std::string scan = "scan -q --state " + (dir / "state") + " ";
  EXPECT_EQ(run_doppel(scan + (dir / "in/a.html")).code, 0);
  EXPECT_THAT(run_doppel("inspect " + (dir / "state")).out, HasSubstr("pages=main"));
}

TEST(Reading, EachFileIsReadOnce) {
  TempDir dir;
  write_file(dir / "in/b.txt", words(1));
  write_file(dir / "in/other.txt", words(2));
  fs::create_symlink("b.txt", dir / "in/a.txt");
  fs::create_hard_link(dir / "in/other.txt", dir / "in/z.txt");
  const Ran ran = run_doppel("scan --all " + (dir / "in") + " " + (dir / "in/b.txt"));
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("2 documents"), HasSubstr("2 unique, 0 duplicates"),
                    HasSubstr("3 paths are left out"), HasSubstr("a.txt is "), HasSubstr("in/b.txt")));
  // The name is that of the file, not that of the link to it.
  EXPECT_THAT(ran.out, AllOf(HasSubstr("in/b.txt\""), Not(HasSubstr("in/a.txt\""))));
}

TEST(Reading, AFileThatAProgramInsertedIsNoCopyOfItself) {
  TempDir dir;
  const std::string file = dir / "in/a.txt";
  write_file(file, words(1));
  {
    const auto index = Index::open(dir / "state", {});
    ASSERT_TRUE(index.ok()) << index.status().ToString();
    ASSERT_TRUE((*index)->insert({.id = file, .text = words(1)}).ok());
  }
  const Ran ran = run_doppel("scan --all --state " + (dir / "state") + " " + file);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"verdict\":\"unique\""), HasSubstr("\"again\":true"))) << ran.err;
}

// A row of a CSV file is the document that its object in JSON lines is, in whatever charset the file is.
TEST(Reading, RowsOfCsvAreDocuments) {
  TempDir dir;
  write_file(dir / "a.csv", "id,text,url\n1,\"" + words(1) + "\",http://a/\n2,\"" + words(2) + "\n" +
                                words(3) + "\",\n3,\"" + words(1) + "\",http://c/\n");
  write_file(dir / "a.jsonl", R"({"id":"1","text":")" + words(1) + R"(","url":"http://a/"})" + "\n" +
                                  R"({"id":"2","text":")" + words(2) + "\\n" + words(3) + R"(","url":""})" +
                                  "\n" + R"({"id":"3","text":")" + words(1) + R"(","url":"http://c/"})" +
                                  "\n");
  const auto verdicts = [](const Ran& ran) {
    return testing::replaced(ran.out,
                             R"re("(event_id|cluster_id|file)":"[^"]*"|"(offset|line|row)":[0-9a-z]+)re", "");
  };
  const Ran rows = run_doppel("scan --all --keep " + (dir / "kept.jsonl") + " " + (dir / "a.csv"));
  EXPECT_EQ(verdicts(rows), verdicts(run_doppel("scan --all " + (dir / "a.jsonl")))) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr("\"exact\""));
  const std::string kept = testing::read_file(dir / "kept.jsonl");
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 2) << kept;

  write_file(dir / "r.csv", "text\n\"" + charset_file("windows-1251.bytes") + "\"\n");
  write_file(dir / "r.txt", charset_file("windows-1251.utf8"));
  EXPECT_THAT(run_doppel("scan " + (dir / "r.csv") + " " + (dir / "r.txt")).out, HasSubstr("\"exact\""));
  EXPECT_THAT(run_doppel("scan --text-field story " + (dir / "a.csv")).err,
              AllOf(HasSubstr("no column \"story\""), HasSubstr("url")));
}

// POST /v1/check reads as the stream does.
TEST(Reading, ACheckReadsAsTheStream) {
  TempDir dir;
  write_file(dir / "in/page.html", page(1));
  write_file(dir / "in/russian.txt", charset_file("windows-1251.bytes"));
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page(3);
  const auto warc = [](const std::string& type, const std::string& block) {
    return "WARC/1.0\r\nWARC-Type: " + type +
           "\r\nWARC-Target-URI: http://x/\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
           "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
           "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
           "Content-Type: application/http; msgtype=response\r\nContent-Length: " +
           std::to_string(block.size()) + "\r\n\r\n" + block + "\r\n\r\n";
  };
  write_file(dir / "in/a.warc", warc("response", http));
  Daemon daemon({"serve", "--state", dir / "state", "--set", "output.verdicts=all", "--set",
                 "http.listen=127.0.0.1:0", dir / "in"});
  const std::string line = daemon.log("listening");
  const int port = std::stoi(line.substr(line.rfind(':') + 1));
  for (int i = 0; i < 3; ++i) ASSERT_NE(daemon.line(), "");
  const auto check = [&](const std::string& type, const std::string& body) {
    return body_of(post(port, "/v1/check", body, "Content-Type: " + type + "\r\n"));
  };
  const auto exact = HasSubstr(R"("verdict":"duplicate","kind":"exact")");
  EXPECT_THAT(check("text/html", page(1) + "<!-- again -->"), exact);
  EXPECT_THAT(check("text/html; charset=utf-8", page(2)), HasSubstr("\"unique\""));
  EXPECT_THAT(check("text/html", page(3)), exact);
  EXPECT_THAT(check("text/plain; charset=windows-1251", charset_file("windows-1251.bytes")), exact);
  EXPECT_THAT(check("text/plain", charset_file("windows-1251.utf8")), exact);
  EXPECT_THAT(check("application/warc", warc("response", http)), HasSubstr("\"again\":true"));
  EXPECT_THAT(check("application/warc", warc("revisit", "")), HasSubstr("a.warc"));
  for (const char* digest : {"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
                             "da39a3ee5e6b4b0d3255bfef95601890afd80709"})
    EXPECT_THAT(
        body_of(get(port, std::string("/v1/digests/") + digest)),
        AllOf(HasSubstr("\"digest\":\"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\""), HasSubstr("http://x/"),
              HasSubstr("2026-01-02T03:04:05Z"), HasSubstr("00000000-0000-0000-0000-000000000001")));
  EXPECT_EQ(status_of(get(port, "/v1/digests/3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYK")), 404);
  for (const char* digest : {"sha256:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "3I42", "sha1:"})
    EXPECT_EQ(status_of(get(port, std::string("/v1/digests/") + digest)), 400) << digest;
  EXPECT_THAT(check("application/json", R"({"text": ")" + words(1) + ". And then, " + words(101) + ".\"}"),
              exact);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

}  // namespace
}  // namespace doppel::testing
