// The content decides what a file is: a readable file is read whatever its name, also from stdin, and an
// unreadable one is refused once, with a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "commands/daemon.h"
#include "commands/run_doppel.h"
#include "packed.h"
#include "zipped.h"

namespace doppel {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using testing::Daemon;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::numbered_words;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

const std::string kText =
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
std::string line(const std::string& id) { return R"({"id":")" + id + R"(","text":")" + kText + "\"}\n"; }
const std::string kLines = line("a") + line("b");

std::string warc_record(const std::string& url) {
  return "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: " + url +
         "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(kText.size()) + "\r\n\r\n" +
         kText + "\r\n\r\n";
}
const std::string kWarc = warc_record("http://x/a") + warc_record("http://x/b");

struct Readable {
  std::string name, bytes;
};
class ContentOfFiles : public ::testing::TestWithParam<Readable> {};

TEST_P(ContentOfFiles, IsReadWhateverItsName) {
  const auto& [name, bytes] = GetParam();
  TempDir dir;
  write_file(dir / name, bytes);
  for (const Ran& ran :
       {run_doppel("scan --all " + (dir / name)), run_doppel("scan --all - <" + (dir / name)),
        run_doppel("scan --all -", "cat " + (dir / name) + " |")}) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("2 documents, "));
    EXPECT_THAT(ran.err, HasSubstr("1 unique, 1 duplicate (1 exact"));
  }
  // A second run reads nothing again, and nothing as another kind.
  for (const char* documents : {"2 documents, ", "0 documents, "}) {
    EXPECT_THAT(run_doppel("scan --state " + (dir / "state") + " " + (dir / name)).err, HasSubstr(documents));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ContentOfFiles,
                         ::testing::Values(Readable{"a.jsonl.gz", gz(kLines)}, Readable{"a.txt", gz(kLines)},
                                           Readable{"a", zst(kLines)}, Readable{"a.jsonl", gz(kLines)},
                                           Readable{"a.jsonl.gz", kLines},
                                           Readable{"a.jsonl.zst", gz(kLines)}, Readable{"a.dump", kLines},
                                           Readable{"a.warc.gz.open", gz(kWarc)}, Readable{"a.data", kWarc},
                                           Readable{"a.gz", gz(kWarc)}, Readable{"a.warc", zst(kWarc)},
                                           Readable{"a.jsonl", kWarc},
                                           Readable{"a.json", "\xef\xbb\xbf" + kLines}));

struct Refused {
  std::string name, bytes, what, to_do;
};
class Unreadable : public ::testing::TestWithParam<Refused> {};

TEST_P(Unreadable, IsRefusedOnceWithWhatToDo) {
  const auto& [name, bytes, what, to_do] = GetParam();
  TempDir dir;
  write_file(dir / "in/good.jsonl", kLines);
  write_file(dir / "in/" + name, bytes);
  const Ran ran = run_doppel("scan --all " + (dir / "in"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << ran.out;
  EXPECT_THAT(ran.err, AllOf(HasSubstr(name + ": "), HasSubstr(what), HasSubstr(to_do)));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("2 documents, "), HasSubstr("1 input could not be read"),
                             Not(HasSubstr("rejected"))));
  // Compressed, without a name, and through a pipe.
  for (const std::string& packed : {bytes, gz(bytes), zst(bytes)}) {
    if (what == "WACZ") break;  // recognised only by their names
    write_file(dir / "packed", packed);
    const Ran piped = run_doppel("scan --all - <" + (dir / "packed"));
    if (what == "control characters") break;  // a stream consists of lines, each of which gets a message
    EXPECT_EQ(piped.code, 1) << piped.err;
    EXPECT_EQ(piped.out, "");
    // A pipe has no name that the command could name.
    const std::string advice = to_do.ends_with('/') ? to_do.substr(0, to_do.size() - 1) + "FILE" : to_do;
    EXPECT_THAT(piped.err, AllOf(HasSubstr(what), HasSubstr(advice), Not(HasSubstr("rejected"))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Unreadable,
    ::testing::Values(Refused{"a.feather", "FEA1"s + std::string(64, 'x'), "Feather", "pyarrow"},
                      Refused{"a.bz2", "BZh91AY&SY" + std::string(30, '\x80'), "bzip2", "bzcat"},
                      Refused{"a.jsonl.xz",
                              "\xfd"
                              "7zXZ\0\0"s +
                                  std::string(30, '\x80'),
                              "xz", "xzcat"},
                      Refused{"a.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "an image", "leave it out"},
                      Refused{"a.txt", "\xff\xd8\xff\xe0\0\x10JFIF\0"s, "an image", "leave it out"},
                      Refused{"a.pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF", "pdftotext /"},
                      Refused{"a",
                              "\x7f"
                              "ELF\x02\x01\x01\0"s +
                                  std::string(40, '\0'),
                              "a program", "leave it out"},
                      Refused{"a.zip", "PK\x03\x04\x14\0\x06\0"s, "ZIP", "unpack"},
                      Refused{"b.zip", "PK\x03\x04\x14\0\0\0\0\0"s + "words/a.txt", "ZIP", "unpack"},
                      Refused{"a.wacz", "PK\x03\x04\x14\0"s, "WACZ", "archive/"},
                      Refused{"a.tar", "dir/" + std::string(253, '\0') + "ustar\0"s, "tar archive", "unpack"},
                      Refused{"b.jsonl", "\xff\xfeo\0n\0e\0 \0t\0w\0o\0"s, "UTF-16", "iconv"},
                      Refused{"c.jsonl", "o\0n\0e\0 \0t\0w\0o\0 \0"s, "UTF-16", "iconv"},
                      Refused{"a.sqlite", "SQLite format 3\0\x10\0"s, "SQLite", "JSON lines"},
                      Refused{"a.bin", "ab\0\x01\x02\x03"s + std::string(20, '\x04') + "text",
                              "control characters", "leave it out"}));

TEST(ContentOf, MessagesInAvroAreNotFiles) {
  TempDir dir;
  write_file(dir / "a.jsonl", kLines);
  write_file(dir / "a.avsc", R"({"type":"record","name":"R","fields":[{"name":"text","type":"string"}]})");
  const std::string avro = " --set input.format=avro --set input.schema_file=" + (dir / "a.avsc") + " ";
  for (const std::string& command : {"scan "s, "sign --output " + (dir / "a.signed "), "tune --sample "s}) {
    const Ran ran = run_doppel(command + (dir / "a.jsonl") + avro);
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, HasSubstr("input.format: avro is for messages of Kafka")) << command;
  }
}

// JSON as programs print it for people, and arrays: which parts are documents, and the lines in outputs.
TEST(ContentOf, JsonOverLinesAndInArrays) {
  TempDir dir;
  const std::string words = "one two three four five six seven eight nine ten";
  write_file(dir / "in/a.json", "{\n  \"id\": \"a\",\n  \"text\": \"" + words +
                                    "\"\n}\n{\n  \"id\": \"b\",\n  \"text\": \"" + words + "\"\n}\n");
  write_file(dir / "in/b.jsonl",
             "[{\"id\": \"c\", \"text\": \"" + words + "\"},\n {\"id\": \"d\", \"text\":\n\"other\"},\n7]");
  write_file(dir / "in/c.json.gz", gz("[\n{\"id\": \"e\", \"text\": \"" + words + "\"}\n]\n"));
  const Ran ran = run_doppel("scan --all --keep " + (dir / "kept.jsonl") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 1);  // 7 is no document
  EXPECT_THAT(ran.err, AllOf(HasSubstr("6 documents, "), HasSubstr("1 rejected")));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"id\":\"b\",\"verdict\":\"duplicate\",\"duplicate_of\":\"a\""),
                             HasSubstr("\"id\":\"c\",\"verdict\":\"duplicate\",\"duplicate_of\":\"a\""),
                             HasSubstr("\"id\":\"e\",\"verdict\":\"duplicate\",\"duplicate_of\":\"a\"")));
  EXPECT_EQ(testing::read_file(dir / "kept.jsonl"),
            "{   \"id\": \"a\",   \"text\": \"" + words + "\" }\n{\"id\": \"d\", \"text\": \"other\"}\n");
  const Ran piped = run_doppel("scan --all - < " + (dir / "in/b.jsonl"));
  EXPECT_THAT(piped.out, HasSubstr("\"id\":\"d\",\"verdict\":\"unique\""));
  EXPECT_THAT(run_doppel("scan --all " + (dir / "in/a.json") + " | head -1").out, HasSubstr("\"id\":\"a\""));
}

// Texts that look similar but are neither.
TEST(ContentOf, OrdinaryTextsStayDocuments) {
  TempDir dir;
  const std::vector<std::string> texts{
      "BZh is how it begins",
      "PAR is a golf term",
      "II* what",
      "GIF89 is a year?",
      "MZ and friends",
      "RIFF raff",
      "{curly} text\nwith lines",
      "[1] a reference\n[2] another",
      "PK is penalty kick",
      "a\0b one stray zero in a text that is long enough to be one, surely"s};
  for (size_t i = 0; i < texts.size(); ++i) write_file(dir / ("in/" + std::to_string(i) + ".txt"), texts[i]);
  // A record that a crash truncated is rejected alone.
  write_file(dir / "in/cut.jsonl", "{\"id\":\"x\",\n" + kLines);
  const Ran ran = run_doppel("scan " + (dir / "in"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("13 documents, "), HasSubstr("1 rejected"),
                             Not(HasSubstr("could not be read"))));
}

// The records of a slow pipe are judged at once.
TEST(ContentOf, APipeIsNotWaitedFor) {
  Daemon scan({"scan", "-q", "--all", "-"});
  scan.say(line("a"));
  EXPECT_THAT(scan.line(), HasSubstr("\"id\":\"a\""));
  scan.say(line("b"));
  EXPECT_THAT(scan.line(), HasSubstr("\"duplicate_of\":\"a\""));
  scan.close_input();
  EXPECT_EQ(scan.wait(), 0);
}

// scan and serve give the same verdicts for a WACZ file as for the WARC files in it, also after a restart.
TEST(ContentOf, WaczFilesAreReadInPlace) {
  TempDir dir;
  const std::string wacz = zipped(
      {{"datapackage.json", "{}"}, {"archive/a.warc.gz", gz(kWarc)}, {"archive/b.warc.gz", gz(kWarc)}});
  write_file(dir / "in/a.wacz", wacz);
  write_file(dir / "named", wacz);
  for (const std::string name : {"in/a.wacz", "named"}) {
    const Ran ran = run_doppel("scan " + (dir / name));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 3) << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr((dir / name) + "/archive/a.warc.gz"),
                               HasSubstr("\"filename\":\"b.warc.gz\"")));
  }
  const std::vector<std::string> serve{"serve",   "--state", dir / "state", "--set", "output.verdicts=all",
                                       dir / "in"};
  {
    Daemon daemon(serve);
    for (int i = 0; i < 4; ++i) EXPECT_NE(daemon.line(), "");
    daemon.signal(SIGTERM);
    EXPECT_THAT(daemon.log("stopped"), HasSubstr("documents=4 unique=1 duplicates=3"));
    EXPECT_EQ(daemon.wait(), 0);
  }
  write_file(dir / "in/b.wacz", zipped({{"archive/a.warc.gz", gz(kWarc)}}));
  Daemon daemon(serve);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(daemon.line(), HasSubstr("/in/b.wacz/archive/a.warc.gz"));
  daemon.signal(SIGTERM);
  EXPECT_THAT(daemon.log("stopped"), HasSubstr("documents=2 unique=0 duplicates=2"));
  EXPECT_EQ(daemon.wait(), 0);
}

std::string response(std::string_view url, std::string_view type, std::string_view body,
                     std::string_view digest, std::string_view status = "200 OK") {
  const std::string block = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
                            "\r\n\r\n" + std::string(body);
  return "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:" + std::string(url) +
         ">\r\nWARC-Date: 2024-05-06T07:08:09Z\r\nWARC-Target-URI: " + std::string(url) +
         (digest.empty() ? "" : "\r\nWARC-Payload-Digest: sha1:" + std::string(digest)) +
         "\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: " +
         std::to_string(block.size()) + "\r\n\r\n" + block + "\r\n\r\n";
}

// Images and similar records are copies if their payload digests are equal; nothing else of them is compared.
TEST(ContentOf, PayloadsOfEveryTypeHaveCopies) {
  TempDir dir;
  const std::string page = "<p>one two three four five six seven eight</p>";
  write_file(dir / "a.warc",
             response("http://x/1.png", "image/png", "\x89PNG1", "AAAA") +
                 response("http://x/2.png", "image/png", "\x89PNG1", "AAAA") +
                 response("http://x/3.pdf", "application/pdf", "%PDF", "BBBB") +
                 response("http://x/4.pdf", "application/octet-stream", "%PDF", "BBBB") +
                 response("http://x/5.bin", "text/html", std::string("\0\1\2\3\4\5\6\7\0\0\0"s), "CCCC") +
                 response("http://x/6.png", "image/png", "\x89PNG2", "") +
                 response("http://x/7.png", "image/png", "\x89PNG2", "") +
                 response("http://x/8.png", "image/png", "\x89PNG1", "AAAA", "404 Not Found") +
                 response("urn:view:http://x/", "image/png", "\x89PNG1", "AAAA") +
                 response("http://x/9", "text/html", page, "DDDD") +
                 response("http://x/10", "text/html", page, "DDDD"));
  const Ran ran =
      run_doppel("scan -o " + (dir / "events") + " --keep " + (dir / "kept.warc") + " " + (dir / "a.warc"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(
      ran.err,
      AllOf(HasSubstr("2 documents in 11 records, "), HasSubstr("1 unique, 1 duplicate (1 exact, 0 near)"),
            HasSubstr("7 other records compared by payload digest alone: 4 unique, 3 duplicates"),
            HasSubstr("1 skipped: not_http"), HasSubstr("1 skipped: status")));
  const std::string events = read_file(dir / "events");
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 4) << events;
  EXPECT_THAT(events,
              AllOf(HasSubstr("http://x/2.png"), HasSubstr("http://x/4.pdf"), HasSubstr("http://x/10")));
  const Ran revisits = run_doppel("revisits " + (dir / "events"));
  EXPECT_THAT(revisits.err, HasSubstr("4 records; 0 events of other copies"));
  EXPECT_THAT(revisits.out, AllOf(HasSubstr("WARC-Target-URI: http://x/2.png"),
                                  HasSubstr("Refers-To-Target-URI: http://x/3.pdf")));
  // The first of each is kept.
  const std::string kept = read_file(dir / "kept.warc");
  EXPECT_THAT(
      kept, AllOf(HasSubstr("http://x/1.png"), HasSubstr("http://x/3.pdf"), HasSubstr("http://x/5.bin"),
                  HasSubstr("http://x/9"), Not(HasSubstr("http://x/2.png")), Not(HasSubstr("http://x/4.pdf")),
                  Not(HasSubstr("http://x/10"))));
  // Also against an index, and between runs.
  EXPECT_EQ(
      run_doppel("scan --all --state " + (dir / "state") + " -o " + (dir / "all") + " " + (dir / "a.warc"))
          .code,
      0);
  write_file(dir / "b.warc", response("http://y/1.png", "image/png", "\x89PNG1", "AAAA"));
  const Ran later =
      run_doppel("scan --all --state " + (dir / "state") + " -o " + (dir / "all") + " " + (dir / "b.warc"));
  EXPECT_THAT(later.err,
              HasSubstr("1 other records compared by payload digest alone: 0 unique, 1 duplicate"));
}

// Each line has the place of its record, also in a WACZ file. Lines are sorted, and only captures have one.
TEST(ContentOf, ACdxjFileOfWhatWasRead) {
  TempDir dir;
  const std::vector<std::string> members{
      gz("WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
      gz(response("http://www.x.org/b?z=1&a=2", "image/png", "PNG", "AAAA")),
      gz(response("http://x.org/a", "text/html; charset=utf-8", "<p>a", "BBBB")),
      gz(response("http://x.org/gone", "text/html", "", "CCCC", "404 Not Found"))};
  std::string warc;
  for (const std::string& member : members) warc += member;
  write_file(dir / "in/w.warc.gz", warc);
  write_file(dir / "in/z.wacz", zipped({{"archive/inside.warc.gz", members[2]}}));
  const Ran ran = run_doppel("scan --cdxj " + (dir / "out.cdxj") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto line = [](const std::string& key, const std::string& url, const std::string& rest, size_t length,
                       size_t offset, const std::string& file) {
    return key + " 20240506070809 {\"url\": \"" + url + "\", " + rest + ", \"length\": \"" +
           std::to_string(length) + "\", \"offset\": \"" + std::to_string(offset) + "\", \"filename\": \"" +
           file + "\"}\n";
  };
  const size_t a = members[0].size() + members[1].size();
  const std::string html = R"("mime": "text/html", "status": "200", "digest": "sha1:BBBB")";
  EXPECT_EQ(read_file(dir / "out.cdxj"),
            line("org,x)/a", "http://x.org/a", html, members[2].size(), 0, "inside.warc.gz") +
                line("org,x)/a", "http://x.org/a", html, members[2].size(), a, "w.warc.gz") +
                line("org,x)/b?a=2&z=1", "http://www.x.org/b?z=1&a=2",
                     R"("mime": "image/png", "status": "200", "digest": "sha1:AAAA")", members[1].size(),
                     members[0].size(), "w.warc.gz") +
                line("org,x)/gone", "http://x.org/gone",
                     R"("mime": "text/html", "status": "404", "digest": "sha1:CCCC")", members[3].size(),
                     a + members[2].size(), "w.warc.gz"));
  // An output never overwrites an input.
  EXPECT_EQ(run_doppel("scan --cdxj " + (dir / "in/w.warc.gz") + " " + (dir / "in/w.warc.gz")).code, 2);
}

// wget --warc-dedup takes the columns a, k and u: URL, SHA-1 in Base32, and the id that revisit records refer
// to.
TEST(ContentOf, AnIndexInClassicCdx) {
  TempDir dir;
  const std::string hex = "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                    base32 = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
  const std::string members[] = {
      gz(response("http://x.org/b", "image/png", "PNG", hex)),
      gz(response("http://x.org/a", "text/html", "<p>a", base32)),
      gz("WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Record-ID: <urn:uuid:c>\r\nWARC-Date: "
         "2024-05-06T07:08:09Z\r\n"
         "WARC-Target-URI: http://x.org/c\r\nWARC-Refers-To: <urn:uuid:first>\r\nWARC-Payload-Digest: sha1:" +
         base32 + "\r\nContent-Length: 0\r\n\r\n\r\n\r\n")};
  write_file(dir / "w.warc.gz", members[0] + members[1] + members[2]);
  const Ran ran = run_doppel("scan --cdx " + (dir / "cdx") + " " + (dir / "w.warc.gz"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const size_t b = members[0].size(), c = b + members[1].size();
  EXPECT_EQ(read_file(dir / "cdx"),
            " CDX N b a m s k r M S V g u\n"
            "org,x)/a 20240506070809 http://x.org/a text/html 200 " +
                base32 + " - - " + std::to_string(members[1].size()) + " " + std::to_string(b) +
                " w.warc.gz <urn:uuid:http://x.org/a>\n"
                "org,x)/b 20240506070809 http://x.org/b image/png 200 " +
                base32 + " - - " + std::to_string(b) +
                " 0 w.warc.gz <urn:uuid:http://x.org/b>\n"
                "org,x)/c 20240506070809 http://x.org/c warc/revisit - " +
                base32 + " - - " + std::to_string(members[2].size()) + " " + std::to_string(c) +
                " w.warc.gz <urn:uuid:first>\n");
  EXPECT_EQ(
      run_doppel("scan --cdx " + (dir / "1") + " --cdxj " + (dir / "2") + " " + (dir / "w.warc.gz")).code, 2);
}

// The answers to POST and PUT requests have the keys that cdxj-indexer -p makes (tools/make-post-golden).
TEST(ContentOf, ACdxjFileOfAnswersToPosts) {
  TempDir dir;
  const std::string data = DOPPEL_SOURCE_DIR "/tests/files/data/post/";
  EXPECT_EQ(run_doppel("scan -q --cdxj " + (dir / "out.cdxj") + " " + data + "post.warc.gz").code, 0);
  std::istringstream ours(read_file(dir / "out.cdxj")), golden(read_file(data + "post.cdxj"));
  int lines = 0, different = 0;
  for (std::string a, b; std::getline(golden, b); ++lines) {
    std::getline(ours, a);
    if (a != b && ++different <= 5) ADD_FAILURE() << "ours:   " << a << "\ngolden: " << b;
  }
  EXPECT_EQ(lines, 36);
  EXPECT_EQ(different, 0);
}

// The index of a run that continues has all captures, not only those that are new to it.
TEST(ContentOf, ACdxjFileOfARunThatContinuesIsComplete) {
  TempDir dir;
  std::string first, second;
  for (int i = 0; i < 40; ++i) {
    const std::string url = "http://x.org/" + std::to_string(i);
    (i < 25 ? first : second) +=
        gz(response(url, "text/html", "<p>page " + std::to_string(i), "D" + std::to_string(i)));
  }
  write_file(dir / "in/a.warc.gz", first);
  EXPECT_EQ(run_doppel("scan -q --state " + (dir / "state") + " " + (dir / "in")).code, 0);
  write_file(dir / "in/b.warc.gz", second);
  const std::string out = " --cdxj " + (dir / "in/index.cdxj") + " " + (dir / "in");
  EXPECT_EQ(run_doppel("scan -q --cdxj " + (dir / "whole.cdxj") + " " + (dir / "in")).code, 0);
  EXPECT_EQ(run_doppel("scan -q --state " + (dir / "state") + out).code, 0);
  EXPECT_EQ(read_file(dir / "in/index.cdxj"), read_file(dir / "whole.cdxj"));
  EXPECT_EQ(std::ranges::count(read_file(dir / "whole.cdxj"), '\n'), 40);
}

// Like cdxj-indexer: players find the originals of revisit records by digest.
TEST(ContentOf, ACdxjLineHasTheDigestOfAPayloadWithoutOne) {
  TempDir dir;
  write_file(dir / "a.warc", response("http://x/1", "text/plain", "abc", ""));
  EXPECT_EQ(run_doppel("scan -q --cdxj " + (dir / "cdxj") + " " + (dir / "a.warc")).code, 0);
  EXPECT_THAT(read_file(dir / "cdxj"), HasSubstr(R"("digest": "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5")"));
}

// Other files of a crawl directory are not documents, and the index may be written there again.
TEST(ContentOf, IndexesAndLogsOfACrawlAreLeftOut) {
  TempDir dir;
  write_file(dir / "in/a.warc", response("http://x/1.png", "image/png", "PNG", "AAAA"));
  write_file(dir / "in/crawl.log", "2024 200 17 http://x/1.png\n");
  write_file(dir / "in/old.cdx.gz", gz(" CDX N b a m s k r M S V g\n"));
  for (const char* count : {"2 index and log files", "3 index and log files"}) {
    const Ran ran = run_doppel("scan --cdxj " + (dir / "in/index.cdxj") + " " + (dir / "in"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(count), HasSubstr("0 documents in 1 record")));
    EXPECT_THAT(read_file(dir / "in/index.cdxj"), HasSubstr("x)/1.png 20240506070809 "));
  }
  // Elsewhere a log is an ordinary file.
  write_file(dir / "logs/a.log", kText);
  EXPECT_THAT(run_doppel("scan " + (dir / "logs")).err, HasSubstr("1 document, "));
}

TEST(ContentOf, CapturesThatShareAMemberHaveNoLineAndAreCounted) {
  TempDir dir;
  const std::string records = response("http://x/1.png", "image/png", "PNG", "AAAA") +
                              response("http://x/2.png", "image/png", "GIF", "BBBB") +
                              response("http://x/3.png", "image/png", "BMP", "CCCC");
  for (const auto& [name, bytes] : {std::pair("a.warc.gz", gz(records)), {"b.warc.zst", zst(records)}}) {
    write_file(dir / name, bytes);
    const Ran ran = run_doppel("scan -q --cdxj " + (dir / "out.cdxj") + " " + (dir / name));
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("--cdxj: 2 captures have no line"), HasSubstr(name)));
  }
}

// WARC 1.1 allows dates without a time, and even without a day. Their lines have the beginning of that time.
TEST(ContentOf, DatesOfLessPrecisionHaveLines) {
  TempDir dir;
  std::string warc;
  for (const std::string date : {"2021", "2022-03", "2023-04-05", "2024-05-06T07:08Z", "202"}) {
    std::string record = response("http://x/" + date, "image/png", "PNG", "AAAA");
    const std::string full = "2024-05-06T07:08:09Z";
    record.replace(record.find(full), full.size(), date);
    warc += record;
  }
  write_file(dir / "a.warc", warc);
  const Ran ran = run_doppel("scan -q --cdxj " + (dir / "cdxj") + " " + (dir / "a.warc"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("1 captures have no line"), HasSubstr("http://x/202\n")));
  EXPECT_THAT(
      read_file(dir / "cdxj"),
      AllOf(HasSubstr("x)/2021 20210101000000 "), HasSubstr("x)/2022-03 20220301000000 "),
            HasSubstr("x)/2023-04-05 20230405000000 "), HasSubstr("x)/2024-05-06t07:08z 20240506070800 ")));
}

TEST(ContentOf, CapturesWithoutAKeyHaveNoLineAndAreCounted) {
  TempDir dir;
  write_file(dir / "a.warc", response("http://x/1.png", "image/png", "PNG", "AAAA") +
                                 response("http://x:4;3/a b", "image/png", "GIF", "BBBB"));
  const Ran ran = run_doppel("scan -q --cdxj " + (dir / "out.cdxj") + " " + (dir / "a.warc"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--cdxj: 1 captures have no line"), HasSubstr("http://x:4;3/a b")));
}

TEST(ContentOf, OneObjectOrAnArrayIsJsonIfTheNameDoesNotTell) {
  const std::string object = R"({"id":"x","text":"the same text of many words in each of these files"})";
  const std::string pretty = "{\n  \"id\": \"x\",\n  \"text\": \"the same text of many words\"\n}\n";
  const std::string large = R"({"id":"x","text":")" + numbered_words(0, 2000) + "\"}";
  for (const std::string& json :
       {object, object + "\n", "[" + object + "]", "[\n" + object + ",\n" + object + "\n]\n", pretty,
        pretty + pretty, large, large + "\n" + large, "\xef\xbb\xbf " + object}) {
    for (const char* name : {"1", "page.7", "page.txt", "items.jl", "items.jl.gz"}) {
      TempDir dir;
      write_file(dir / name, std::string(name).ends_with(".gz") ? gz(json) : json);
      const Ran ran = run_doppel("scan -q --all " + (dir / name));
      EXPECT_EQ(ran.code, 0) << name << json << ran.err;
      EXPECT_THAT(ran.out, HasSubstr("\"id\":\"x\"")) << name << json;
    }
  }
  for (const std::string text :
       {"{ a brace and some words", "[1] the first footnote of a text", "{\"a quotation\" and more words}",
        "[{TODO}] write this text", "{\"cut\": \"off in the middle of a", "{}", "[]",
        "{\"key\": some words that are not JSON}"}) {
    TempDir dir;
    write_file(dir / "a", text);
    const Ran ran = run_doppel("scan -q --all " + (dir / "a"));
    EXPECT_EQ(ran.code, 0) << text << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\"id\":\"" + (dir / "a"))) << text;
  }
  // A notebook is JSON, but no document in JSON.
  TempDir dir;
  write_file(dir / "a.ipynb", "{\n \"cells\": []\n}\n");
  EXPECT_EQ(run_doppel("scan -q " + (dir / "a.ipynb")).code, 0);
  // Nor does a file of Julia's become one.
  write_file(dir / "a.jl", "f(x) = 2x\nprintln(f(1))\n");
  EXPECT_EQ(run_doppel("scan -q " + (dir / "a.jl")).code, 0);
}

// A crawler has just created them; records will follow.
TEST(ContentOf, EmptyFilesThatACrawlerStillWritesAreNoDocuments) {
  TempDir dir;
  write_file(dir / "in/a.warc.gz.open", gz(""));
  write_file(dir / "in/b.warc.gz.open", "");
  const Ran ran = run_doppel("scan -o /dev/null " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("0 documents, 0 B"));
}

TEST(ContentOf, ServeToo) {
  TempDir dir;
  write_file(dir / "in/a.wacz", "PK\x03\x04\x14\0"s);
  write_file(dir / "in/b.jsonl", "PAR1\x15\x04\x15" + std::string(100, 'x') + "PAR1");
  write_file(dir / "in/c.json", "[\n{\"id\":1}]\n");
  write_file(dir / "in/d.txt", gz(kLines));
  write_file(dir / "in/e.jsonl", gz(kWarc));
  write_file(dir / "in/f.data",
             "\x7f"
             "ELF\x02\x01\x01\0"s +
                 std::string(40, '\0'));
  Daemon daemon({"serve", "--state", dir / "state", "--set", "output.verdicts=all", dir / "in"});
  for (const std::string refused : {"archive/", "Parquet", "an array", "a program"}) {
    EXPECT_THAT(daemon.log(refused), HasSubstr(dir / "in/")) << refused;
  }
  for (int i = 0; i < 4; ++i) EXPECT_NE(daemon.line(), "");
  daemon.signal(SIGTERM);
  EXPECT_THAT(daemon.log("stopped"), HasSubstr("documents=4 unique=1 duplicates=3"));
  EXPECT_EQ(daemon.wait(), 0);
  const Ran piped = run_doppel("serve --set http.listen= --set output.verdicts=all --state " +
                               (dir / "other") + " - <" + (dir / "in/e.jsonl"));
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_THAT(piped.err, HasSubstr("documents=2 unique=1 duplicates=1"));
}

TEST(Content, ARejectedWarcRecordIsNamedByItsPlaceAndUri) {
  TempDir dir;
  std::string deep;
  for (int i = 0; i < 600; ++i) deep += "<div>";
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + deep + kText;
  const std::string record =
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x/deep\r\nContent-Type: "
      "application/http; msgtype=response\r\nContent-Length: " +
      std::to_string(http.size()) + "\r\n\r\n" + http + "\r\n\r\n";
  const std::string first = gz(warc_record("http://x/a"));
  write_file(dir / "each.warc.gz", first + gz(record));
  write_file(dir / "shared.warc.gz", gz(warc_record("http://x/a") + record));
  const std::string why = " (http://x/deep): html: nested more than 512 deep";
  const Ran ran = run_doppel("scan " + (dir / "each.warc.gz") + " " + (dir / "shared.warc.gz"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("each.warc.gz: byte " + std::to_string(first.size()) + why));
  EXPECT_THAT(ran.err, HasSubstr("shared.warc.gz: byte " + std::to_string(warc_record("http://x/a").size()) +
                                 " unpacked" + why));
}

}  // namespace
}  // namespace doppel
