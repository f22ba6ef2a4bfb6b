// The compared part of a page, as a user sees it: doppel text, scan --extract, explain and tune on pages, and
// state directories that were made with another extraction.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string article(int number) {
  std::string out;
  for (int i = 0; i < 8; ++i) {
    out += fmt::format(
        "<p>Sheet {0} of exhibition {1}: a monk drew coast {0}{1} and never left valley {1}{0}.</p>", i,
        number);
  }
  return out;
}

std::string page(int number, int site) {
  std::string menu;
  for (int i = 0; i < 60; ++i) menu += fmt::format("<li><a href={0}>Chapter {0} of site {1}</a>", i, site);
  return fmt::format("<html><body><nav><ul>{0}</ul></nav><h1>Maps</h1><article>{1}</article></body></html>",
                     menu, article(number));
}

std::string warc_record(const std::string& type, const std::string& uri, const std::string& html) {
  const std::string http = type == "request" ? "GET / HTTP/1.1\r\n\r\n"
                                             : "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html;
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: {0}\r\nWARC-Record-ID: "
      "<urn:uuid:00000000-0000-0000-0000-{1:012}>\r\nWARC-Target-URI: "
      "{2}\r\nWARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype={0}\r\n"
      "Content-Length: {3}\r\n\r\n{4}\r\n\r\n",
      type, std::hash<std::string>()(type + uri) % 1'000'000, uri, http.size(), http);
}

// The same article on two sites, and another article on the first site.
struct Crawl {
  TempDir dir;
  std::string warc = dir / "crawl.warc";
  Crawl() {
    std::string all;
    for (const auto& [uri, html] : {std::pair{"http://a.example/1", page(1, 1)},
                                    {"http://b.example/1", page(1, 2)},
                                    {"http://a.example/2", page(2, 1)}}) {
      all += warc_record("request", uri, "") + warc_record("response", uri, html);
    }
    write_file(warc, all);
  }
};

TEST(TextCommand, SaysThatARecordHasNoText) {
  const Crawl crawl;
  std::string image = warc_record("response", "http://a.example/image", "pixels");
  image.replace(image.find("text/html"), 9, "image/png");
  write_file(crawl.warc,
             read_file(crawl.warc) + warc_record("request", "http://a.example/image", "") + image);
  const Ran ran = run_doppel("text " + crawl.warc + " http://a.example/image");
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("http://a.example/image is there, and has no text that is compared (type)"));
  EXPECT_THAT(run_doppel("text " + crawl.warc + " http://a.example/3").err,
              HasSubstr("none of 3 documents has the URL"));
}

TEST(TextCommand, SaysWhatIsComparedAndWhatIsLeftOut) {
  const Crawl crawl;
  const Ran text = run_doppel("text '" + crawl.warc + "' http://b.example/1");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("Sheet 0 of exhibition 1")) << text.out;
  EXPECT_THAT(text.out, Not(HasSubstr("Chapter")));

  const Ran left_out = run_doppel("text --left-out --in '" + crawl.warc + "' http://b.example/1");
  EXPECT_THAT(left_out.out, HasSubstr("\n- boilerplate: Chapter 7 of site 2\n"));
  EXPECT_THAT(left_out.out, HasSubstr("\n- outside: Maps\n"));

  const Ran both = run_doppel("text --extract both '" + crawl.warc + "'");
  EXPECT_THAT(both.out, HasSubstr("--- http://a.example/2, visible: "));
  EXPECT_THAT(both.out, HasSubstr("--- http://a.example/2, main: "));

  const Ran json =
      run_doppel("text --json --left-out --extract main '" + crawl.warc + "' http://a.example/2");
  EXPECT_THAT(json.out, HasSubstr(R"("url":"http://a.example/2","extract":"main","text":"Sheet 0)"));
  EXPECT_THAT(json.out, HasSubstr(R"({"why":"outside","text":"Maps"})"));
}

TEST(TextCommand, FilesAsTheyAreCompared) {
  TempDir dir;
  write_file(dir / "p.html", page(1, 1));
  EXPECT_THAT(run_doppel("text '" + (dir / "p.html") + "'").out, Not(HasSubstr("Chapter")));
  const Ran raw = run_doppel("text --format text '" + (dir / "p.html") + "'");
  EXPECT_THAT(raw.out, HasSubstr("<nav>"));
  EXPECT_THAT(raw.err,
              HasSubstr("p.html: compared as it is, markup and all; --format html reads it as a page"));
  EXPECT_THAT(run_doppel("text --format html '" + (dir / "p.html") + "'").out, Not(HasSubstr("Chapter")));
  EXPECT_THAT(run_doppel("text --extract visible '" + (dir / "p.html") + "'").out, HasSubstr("Chapter"));
  write_file(dir / "two.jsonl", R"({"id":"a","text":"x y"})"
                                "\n"
                                R"({"id":"b","text":"z"})"
                                "\n");
  EXPECT_EQ(run_doppel("text '" + (dir / "two.jsonl") + "'").out,
            "--- a, compared: 3 bytes\nx y\n--- b, compared: 1 bytes\nz\n");
  EXPECT_EQ(run_doppel("text --in '" + (dir / "two.jsonl") + "' b").out, "z\n");
  const Ran missing = run_doppel("text --in '" + (dir / "two.jsonl") + "' c");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none of 2 documents has the id c"));
}

TEST(PagesInCommands, MainIsTheDefaultAndVisibleCanBeAskedFor) {
  const Crawl crawl;
  const Ran main = run_doppel("scan -q '" + crawl.warc + "'");
  EXPECT_EQ(main.code, 0) << main.err;
  EXPECT_THAT(main.out, HasSubstr("http://b.example/1"));
  EXPECT_THAT(run_doppel("scan -q --extract visible '" + crawl.warc + "'").out, IsEmpty());
  const Ran why = run_doppel("explain --in '" + crawl.warc + "' http://a.example/1 http://b.example/1");
  EXPECT_EQ(why.code, 0) << why.err;
  EXPECT_THAT(why.out, HasSubstr("exact"));
  const Ran tune = run_doppel("tune --sample '" + crawl.warc + "'");
  EXPECT_THAT(tune.out, HasSubstr("The same pages by input.extract: main (above) and visible"));
  EXPECT_THAT(tune.out, ::testing::ContainsRegex("duplicates at 0.80 +1 +0\n"));
}

TEST(PagesInCommands, AStateDirectoryKeepsToItsExtraction) {
  const Crawl crawl;
  const std::string state = " --state '" + (crawl.dir / "state") + "' -o '" + (crawl.dir / "out") + "' ";
  ASSERT_EQ(run_doppel("scan -q --extract visible" + state + "'" + crawl.warc + "'").code, 0);
  const Ran refused = run_doppel("scan -q" + state + "'" + crawl.warc + "'");
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_THAT(
      refused.err,
      HasSubstr(
          "extract: the index was made with visible, now it is not set; that was input.extract: visible"));

  const std::string other = " --state '" + (crawl.dir / "other") + "' -o '" + (crawl.dir / "out2") + "' ";
  write_file(crawl.dir / "lines.jsonl", R"({"id":"a","text":"x y z and so on and on"})"
                                        "\n");
  ASSERT_EQ(run_doppel("scan -q" + other + "'" + (crawl.dir / "lines.jsonl") + "'").code, 0);
  EXPECT_EQ(run_doppel("scan -q" + other + "'" + crawl.warc + "'").code, 0);

  const std::string third = " --state '" + (crawl.dir / "third") + "' -o '" + (crawl.dir / "out3") + "' ";
  ASSERT_EQ(run_doppel("scan -q" + third + "'" + crawl.warc + "'").code, 0);
  EXPECT_EQ(run_doppel("scan -q" + third + "'" + (crawl.dir / "lines.jsonl") + "'").code, 0);
}

TEST(Text, ARefusedFileIsNamedInTheCommandThatHelps) {
  TempDir dir;
  write_file(dir / "x.csv", "id,text\n1,one\n");
  EXPECT_THAT(
      run_doppel("text " + (dir / "x.csv")).err,
      ::testing::HasSubstr("COPY (FROM '" + (dir / "x.csv") + "') TO '" + (dir / "x.csv.jsonl") + "'"));
}

}  // namespace
}  // namespace doppel::testing
