// Revisit records in an archive: none refers to a later capture, a record that a crawler's own revisit record
// refers to stays, and an original is found by its id if its file was rewritten.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "commands/run_doppel.h"
#include "packed.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string image(char of) { return "\x89PNG" + std::string(1500, of); }

std::string capture(const std::string& name, int second, const std::string& body,
                    const std::string& digest = {}) {
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + body;
  return fmt::format(
      "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{0}>\r\nWARC-Target-URI: http://x/{0}\r\n"
      "WARC-Date: 2024-05-06T07:08:{1:02}Z\r\nContent-Type: application/http; msgtype=response\r\n{4}"
      "Content-Length: {2}\r\n\r\n{3}\r\n\r\n",
      name, second, http.size(), http, digest.empty() ? "" : "WARC-Payload-Digest: " + digest + "\r\n");
}

std::string revisit(const std::string& name, const std::string& of, int second, bool by_id) {
  return fmt::format(
      "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: <urn:uuid:{0}>\r\nWARC-Target-URI: http://x/{0}\r\n"
      "WARC-Date: 2024-05-06T07:09:00Z\r\nWARC-Profile: identical-payload-digest\r\n{1}"
      "Content-Length: 0\r\n\r\n\r\n\r\n",
      name,
      by_id ? fmt::format("WARC-Refers-To: <urn:uuid:{}>\r\n", of)
            : fmt::format("WARC-Refers-To-Target-URI: http://x/{}\r\nWARC-Refers-To-Date: "
                          "2024-05-06T07:08:{:02}Z\r\n",
                          of, second));
}

size_t count(std::string_view text, std::string_view what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

// The events call the capture that was read first the original. An earlier capture becomes the original
// instead.
TEST(Revisits, ReferToWhatWasThereBefore) {
  TempDir dir;
  write_file(dir / "in/a.warc", capture("late", 9, image('a')) + capture("latest", 30, image('a')));
  write_file(dir / "in/b.warc", capture("early", 1, image('a')));
  for (const std::string order : {"files", "date"}) {
    EXPECT_EQ(run_doppel("scan -q --order " + order + " -o " + (dir / order) + " " + (dir / "in")).code, 0);
    const Ran records = run_doppel("revisits " + (dir / order));
    EXPECT_EQ(records.code, 0);
    EXPECT_THAT(records.err, HasSubstr("2 records; "));
    EXPECT_EQ(count(records.out, "WARC-Refers-To: <urn:uuid:early>\r\n"), 2u) << records.out;
    EXPECT_EQ(count(records.out, "WARC-Target-URI: http://x/late\r\n"), 1u);
    EXPECT_EQ(count(records.out, "WARC-Target-URI: http://x/latest\r\n"), 1u);
    const Ran again =
        run_doppel("revisits " + (dir / order) + " --rewrite " + (dir / "out") + " " + (dir / "in"));
    EXPECT_EQ(again.code, 0);
    EXPECT_THAT(again.err, AllOf(HasSubstr("2 copies replaced"), Not(HasSubstr("stay"))));
    EXPECT_EQ(count(read_file(dir / "out/a.warc"), "WARC-Refers-To: <urn:uuid:early>\r\n"), 2u);
    EXPECT_THAT(read_file(dir / "out/b.warc"), HasSubstr("WARC-Type: response"));
    for (const Ran& ran : {records, again})
      EXPECT_EQ(ran.err.find("1 originals of events are later than a copy") != std::string::npos,
                order == "files")
          << ran.err;
    // The events on stdin are read several times, too.
    EXPECT_EQ(run_doppel("revisits - < " + (dir / order)).out, records.out);
  }
  write_file(dir / "in/c.txt", "text");
  EXPECT_THAT(run_doppel("scan --order date " + (dir / "in")).err,
              HasSubstr("c.txt: cannot be read in the order of dates"));
}

// Records that share a gzip member cannot be read one by one: such files are named, and all others are read.
TEST(Revisits, TheOrderOfDatesLeavesOutFilesWithSharedMembers) {
  TempDir dir;
  const std::string shared = gz(capture("1", 1, image('a')) + capture("2", 2, image('a')));
  write_file(dir / "in/a.warc.gz", shared);
  write_file(dir / "in/b.warc.gz", gz(capture("4", 4, image('b'))) + gz(capture("3", 3, image('b'))));
  write_file(dir / "in/c.warc.gz", shared);
  const Ran ran = run_doppel("scan --order date " + (dir / "in"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("a.warc.gz: left out"), HasSubstr("c.warc.gz: left out"),
                             Not(HasSubstr("b.warc.gz: left out"))));
  EXPECT_EQ(count(ran.out, "\"type\":\"duplicate-of\""), 1u) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("\"id\":\"urn:uuid:4\""));
}

// Players look the original up by its digest, letter for letter. Events carry it, also from the index.
TEST(Revisits, RecordsHaveTheDigestThatTheOriginalWrites) {
  const std::string written = "sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
  TempDir dir;
  write_file(dir / "a.warc", capture("first", 1, image('a'), written) + capture("second", 2, image('a')));
  write_file(dir / "b.warc", capture("third", 3, image('a')));
  const std::string scan = "scan -q --state " + (dir / "state") + " -o " + (dir / "events") + " ";
  EXPECT_EQ(run_doppel(scan + (dir / "a.warc")).code, 0);
  for (const std::string name : {"second", "third"}) {
    const Ran ran = run_doppel("revisits " + (dir / "events"));
    EXPECT_THAT(ran.out,
                AllOf(HasSubstr("WARC-Target-URI: http://x/" + name),
                      HasSubstr("WARC-Payload-Digest: " + written + "\r\n"), Not(HasSubstr("sha1:"))));
    if (name == "second") {
      EXPECT_EQ(run_doppel(scan + (dir / "b.warc")).code, 0);
    }
  }
}

// A dry run says what rewriting saves, to the byte, and writes nothing.
TEST(Revisits, ADryRunSaysWhatRewritingSaves) {
  TempDir dir;
  // Bytes that do not become smaller when they are packed.
  std::mt19937 random(48);
  const auto noise = [&] {
    std::string out(1500, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  const std::string one = "\x89PNG" + noise(), two = "\x89PNG" + noise();
  write_file(dir / "in/a.warc.gz",
             gz(capture("1", 1, one)) + gz(capture("2", 2, one)) + gz(capture("3", 3, two)));
  write_file(dir / "in/b.warc", capture("4", 4, two) + capture("5", 5, image('c')));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "in")).code, 0);
  // Another copy, which has another payload.
  write_file(
      dir / "more",
      read_file(dir / "events") +
          R"({"type":"duplicate-of","document":{"url":"http://near.org/1","content_type":"text/html"},)"
          R"("original":{"url":"http://x/1"},"relation":{"same_payload":false}})"
          "\n");
  const auto names = [&] {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(dir / "")) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
  };
  const std::vector<std::string> before = names();
  const Ran dry = run_doppel("revisits " + (dir / "more") + " --dry-run " + (dir / "in"));
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(names(), before);
  const Ran wet =
      run_doppel("revisits " + (dir / "more") + " --verify --rewrite " + (dir / "out") + " " + (dir / "in"));
  EXPECT_EQ(wet.code, 0) << wet.err;
  EXPECT_THAT(wet.err,
              AllOf(HasSubstr("2 copies replaced"), HasSubstr("original of 2 of 2 new revisit records")));
  const size_t line = wet.err.find("  before ");
  EXPECT_THAT(dry.err, AllOf(HasSubstr("nothing is written (--dry-run): 2 WARC files"),
                             HasSubstr(wet.err.substr(line, wet.err.find('\n', line) - line))));
  uint64_t stored = 0, now = 0;
  for (const std::string name : {"/a.warc.gz", "/b.warc"}) {
    stored += fs::file_size(dir / "in" + name);
    now += fs::file_size(dir / "out" + name);
  }
  EXPECT_THAT(dry.err, HasSubstr(fmt::format("before {} bytes, now {}", stored, now)));
  EXPECT_THAT(dry.err, ::testing::ContainsRegex("\nx +2 +[0-9,]+ +[0-9,]+ +0\n"));
  EXPECT_THAT(dry.err, ::testing::ContainsRegex("\nnear.org +0 +0 +0 +1\n"));
  EXPECT_THAT(dry.err,
              ::testing::ContainsRegex("\nimage/png +2 +[0-9,]+ +[0-9,]+ +0\ntext/html +0 +0 +0 +1\n"));
  EXPECT_EQ(run_doppel("revisits " + (dir / "events") + " " + (dir / "in")).code, 2);
  EXPECT_EQ(run_doppel("revisits " + (dir / "events") + " --verify --dry-run " + (dir / "in")).code, 2);
}

// A later original of another crawl stays: other records may refer to it.
TEST(Revisits, NoReferenceIsTurnedAroundBeyondTheInput) {
  TempDir dir;
  write_file(dir / "a.warc", capture("late", 9, image('a')));
  write_file(dir / "b.warc", capture("early", 1, image('a')) + capture("between", 5, image('a')) +
                                 capture("latest", 30, image('a')));
  EXPECT_EQ(
      run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "a.warc") + " " + (dir / "b.warc")).code, 0);
  const Ran records = run_doppel("revisits " + (dir / "events"));
  EXPECT_THAT(
      records.err,
      AllOf(HasSubstr("2 records; "),
            HasSubstr("1 originals of events are later than a copy, and are in files without copies")));
  EXPECT_EQ(count(records.out, "WARC-Refers-To: <urn:uuid:early>\r\n"), 2u) << records.out;
  EXPECT_THAT(records.out, Not(HasSubstr("WARC-Target-URI: http://x/late\r\n")));
  const Ran again =
      run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out") + " " + (dir / "b.warc"));
  EXPECT_THAT(again.err,
              AllOf(HasSubstr("2 copies replaced"),
                    HasSubstr("1 copies stay: its original is later, and the original's file is not "
                              "rewritten")));
  EXPECT_FALSE(fs::exists(dir / "out/a.warc"));
}

TEST(Revisits, WhatACrawlersRevisitRecordRefersToStays) {
  for (const bool by_id : {true, false}) {
    TempDir dir;
    write_file(dir / "a.warc", capture("first", 1, image('a')) + capture("second", 2, image('a')) +
                                   capture("third", 3, image('a')));
    write_file(dir / "b.warc", revisit("again", "second", 2, by_id));
    EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "a.warc")).code, 0);
    const Ran ran = run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out") + " " +
                               (dir / "a.warc") + " " + (dir / "b.warc"));
    EXPECT_THAT(ran.err, AllOf(HasSubstr("1 copies replaced"),
                               HasSubstr("1 copies stay: a revisit record of the crawler refers to it")));
  }
}

TEST(Revisits, AnOriginalIsFoundByItsIdWhereItsFileWasWrittenAgain) {
  TempDir dir;
  write_file(dir / "a.warc",
             capture("1", 1, image('a')) + capture("2", 2, image('a')) + capture("3", 3, image('b')));
  const std::string scan = "scan -q --state " + (dir / "state") + " -o " + (dir / "events") + " ";
  EXPECT_EQ(run_doppel(scan + (dir / "a.warc")).code, 0);
  const Ran first =
      run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out") + " " + (dir / "a.warc"));
  EXPECT_THAT(first.err, HasSubstr("1 copies replaced"));
  fs::rename(dir / "out/a.warc", dir / "a.warc");
  write_file(dir / "b.warc", capture("4", 4, image('b')));
  EXPECT_EQ(run_doppel(scan + (dir / "b.warc")).code, 0);
  const Ran second = run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out2") + " " +
                                (dir / "a.warc") + " " + (dir / "b.warc"));
  EXPECT_THAT(second.err, AllOf(HasSubstr("1 copies replaced"), Not(HasSubstr("another record"))));
  EXPECT_THAT(read_file(dir / "out2/b.warc"), HasSubstr("WARC-Refers-To: <urn:uuid:3>"));
}

TEST(Revisits, ArcFilesStayAsTheyAre) {
  TempDir dir;
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + image('a');
  std::string arc =
      "filedesc://a.arc 0.0.0.0 20240101000000 text/plain 66\n1 0 Test\nURL IP-address Archive-date "
      "Content-type Archive-length\n\n\n";
  for (const std::string url : {"http://x/1", "http://x/2"})
    arc += fmt::format("{} 0.0.0.0 20240101000000 image/png {}\n{}\n", url, http.size(), http);
  write_file(dir / "in/a.arc", arc);
  write_file(dir / "in/b.warc", capture("3", 3, image('a')));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "in")).code, 0);
  const Ran ran =
      run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out") + " " + (dir / "in"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("1 ARC files are not written again"),
                             HasSubstr("1 copies stay: it is in an ARC file, which has no revisit records"),
                             HasSubstr("1 copies stay: its original is in an ARC file")));
}

TEST(Revisits, VerdictsAreNamed) {
  TempDir dir;
  write_file(dir / "a.warc", capture("1", 1, image('a')) + capture("2", 2, image('a')));
  EXPECT_EQ(run_doppel("scan -q --all -o " + (dir / "all") + " " + (dir / "a.warc")).code, 0);
  for (const std::string& more : {std::string(), " --rewrite " + (dir / "out") + " " + (dir / "a.warc")}) {
    const Ran ran = run_doppel("revisits " + (dir / "all") + more);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("2 lines are verdicts (scan --all)"));
  }
}

TEST(Revisits, EventsMayBePackedAndAWarcFileIsRefusedAtOnce) {
  TempDir dir;
  write_file(dir / "a.warc", capture("1", 1, image('a')) + capture("2", 2, image('a')));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "a.warc")).code, 0);
  const Ran records = run_doppel("revisits " + (dir / "events"));
  EXPECT_THAT(records.err, HasSubstr("1 records; "));
  write_file(dir / "events.gz", gz(read_file(dir / "events")));
  EXPECT_EQ(run_doppel("revisits " + (dir / "events.gz")).out, records.out);
  EXPECT_EQ(run_doppel("revisits - < " + (dir / "events.gz")).out, records.out);
  write_file(dir / "a.warc.gz", gz(read_file(dir / "a.warc")));
  write_file(dir / "text", "text\nmore\n");
  const std::string wanted = "give the events that doppel scan or serve writes";
  for (const auto& [name, what] : {std::pair("a.warc", "a WARC file; "),
                                   {"a.warc.gz", "a WARC file; "},
                                   {"text", "not lines of JSON; "}}) {
    const Ran ran = run_doppel("revisits " + (dir / name));
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr((dir / name) + ": " + what + wanted));
    EXPECT_EQ(count(ran.err, "\n"), 1u) << ran.err;
  }
  EXPECT_EQ(run_doppel("revisits /dev/null").code, 0);
}

TEST(Revisits, TheReasonWhyACopyStaysIsTheRealOne) {
  TempDir dir;
  write_file(dir / "shared.warc.gz", gz(capture("1", 1, image('a')) + capture("2", 2, image('a'))));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "shared.warc.gz")).code, 0);
  const std::string rewrite = "revisits " + (dir / "events") + " --rewrite ";
  EXPECT_THAT(run_doppel(rewrite + (dir / "out") + " " + (dir / "shared.warc.gz")).err,
              HasSubstr("1 copies stay: its event names no offset"));
  write_file(dir / "in/a.warc", capture("1", 1, image('a')) + capture("2", 2, image('a')));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "in")).code, 0);
  EXPECT_THAT(run_doppel(rewrite + (dir / "once") + " " + (dir / "in")).err, HasSubstr("1 copies replaced"));
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "once")).code, 0);
  EXPECT_THAT(run_doppel(rewrite + (dir / "twice") + " " + (dir / "once")).err,
              HasSubstr("1 copies stay: it is a revisit record already"));
}

TEST(Revisits, LinesThatAreNoEventsCannotBeUsed) {
  TempDir dir;
  write_file(dir / "a.warc", capture("1", 1, image('a')) + capture("2", 2, image('a')));
  EXPECT_EQ(run_doppel("scan -q --clusters -o " + (dir / "clusters") + " " + (dir / "a.warc")).code, 0);
  const Ran ran = run_doppel("revisits " + (dir / "clusters"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("clusters:1: not an event"),
                             HasSubstr("0 events of other copies; 1 that could not be used")));
}

}  // namespace
}  // namespace doppel::testing
