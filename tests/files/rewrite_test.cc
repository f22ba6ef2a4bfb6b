// Rewriting of WARC files: every record must be there afterwards, replaced ones as revisit records whose
// original has their payload, and wrong statements in events must change nothing.

#include "files/revisits/rewrite.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/files_testing.h"
#include "formats/warc/warc.h"
#include "zipped.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kNames[] = {"x.warc", "x.warc.gz", "x.warc.zst"};

std::string packed(std::string_view record, Packing packing) {
  return packing == Packing::gz ? gz(record) : packing == Packing::zst ? zst(record) : std::string(record);
}

struct Put {
  std::string type = "response", body, more,
              http = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nX: y\r\n\r\n";
  std::string date = "2024-05-06T07:08:09Z", digest, id, uri;
  NamedRecord named = {};  // its place

  std::string block() const { return type == "resource" ? body : http + body; }
  std::string bytes() const {
    return fmt::format(
        "WARC/1.0\r\nWARC-Type: {}\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Date: {}\r\nWARC-Target-URI: "
        "<{}>\r\nWARC-Payload-Digest: {}\r\nWARC-Block-Digest: sha1:OF{}\r\n{}Content-Type: "
        "application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{}\r\n\r\n",
        type, id, date, uri, digest, id, more, block().size(), block());
  }
};

// Writes a file of these records, and sets `named` to what events say of each.
std::string file_of(std::vector<Put>& puts, const std::string& path, Packing packing,
                    const std::string& label) {
  std::string out;
  for (size_t i = 0; i < puts.size(); ++i) {
    Put& put = puts[i];
    if (put.id.empty()) put.id = fmt::format("{}-{}", label, i);
    if (put.uri.empty()) put.uri = fmt::format("http://{}/{}", label, i);
    if (put.digest.empty()) put.digest = fmt::format("sha1:{}", std::hash<std::string>()(put.body));
    put.named = {.file = path,
                 .filename = path.substr(path.rfind('/') + 1),
                 .offset = out.size(),
                 .record_id = "urn:uuid:" + put.id,
                 .target_uri = put.uri,
                 .date = put.date,
                 .digest = put.digest};
    out += packed(put.bytes(), packing);
  }
  return out;
}

std::vector<std::string> records_of(const std::string& path) {
  std::vector<std::string> out;
  auto source = must_open({.paths = {path}});
  Batch batch;
  while (*source->next(batch)) {
    EXPECT_TRUE(batch.problems.empty()) << batch.problems[0].message;
    for (const Record& record : batch.records) {
      EXPECT_TRUE(record.warc_offset.has_value());
      out.emplace_back(record.value);
    }
  }
  return out;
}

std::unique_ptr<Rewriter> must_rewrite(const std::vector<std::string>& paths, const std::string& to,
                                       const std::vector<PayloadCopy>& events) {
  auto rewriter = Rewriter::open(paths, to);
  EXPECT_TRUE(rewriter.ok()) << rewriter.status();
  for (const PayloadCopy& event : events) EXPECT_TRUE((*rewriter)->add(event).ok());
  const absl::Status status = (*rewriter)->write({});
  EXPECT_TRUE(status.ok()) << status;
  return *std::move(rewriter);
}

std::string random_body(std::mt19937_64& random) {
  std::string out(400 + random() % (random() % 10 == 0 ? 200'000 : 2000), '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Files in every compression, with copies of a few payloads among all kinds of records.
TEST(Rewrite, RandomArchives) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 9; ++round) {
    TemporaryDirectory directory;
    std::vector<std::string> bodies;
    for (int i = 0; i < 4; ++i) bodies.push_back(random_body(random));
    std::vector<std::vector<Put>> files(1 + random() % 3);
    std::vector<std::string> paths, before;
    std::map<std::string, const Put*> first;  // of a payload
    std::vector<PayloadCopy> events;
    std::set<std::string> copies;
    for (size_t f = 0; f < files.size(); ++f) {
      for (size_t i = 0; i < 2 + random() % 10; ++i) {
        Put put{.body = bodies[random() % bodies.size()]};
        if (random() % 5 == 0) put = {.type = "resource", .body = random_body(random)};
        if (random() % 5 == 0) put = {.type = "request", .body = "", .http = "GET / HTTP/1.1\r\n\r\n"};
        files[f].push_back(put);
      }
      const size_t kind = random() % 3;
      const Packing packing = kind == 1 ? Packing::gz : kind == 2 ? Packing::zst : Packing::none;
      paths.push_back(directory / fmt::format("in/{}{}", f, kNames[kind]));
      before.push_back(file_of(files[f], paths.back(), packing, fmt::format("f{}", f)));
      write_file(paths.back(), before.back());
    }
    for (const std::vector<Put>& puts : files) {
      for (const Put& put : puts) {
        if (put.type != "response") continue;
        const auto [original, fresh] = first.emplace(put.body, &put);
        if (fresh) continue;
        events.push_back({put.named, original->second->named});
        copies.insert(put.id);
      }
    }
    const auto rewriter = must_rewrite(random() % 2 == 0 ? paths : std::vector<std::string>{directory / "in"},
                                       directory / "out", events);
    const RewriteReport& report = rewriter->report();
    EXPECT_EQ(report.replaced, copies.size());
    EXPECT_EQ(report.files, files.size());
    EXPECT_THAT(report.kept, testing::IsEmpty());
    EXPECT_THAT(report.problems, testing::IsEmpty());
    uint64_t bytes = 0, written = 0;
    for (size_t f = 0; f < files.size(); ++f) {
      EXPECT_EQ(read_back(paths[f]), before[f]);
      const std::string to = directory / ("out" + paths[f].substr(paths[f].rfind('/')));
      bytes += before[f].size();
      written += read_back(to).size();
      const std::vector<std::string> records = records_of(to);
      ASSERT_EQ(records.size(), files[f].size());
      for (size_t i = 0; i < records.size(); ++i) {
        const Put& put = files[f][i];
        if (!copies.contains(put.id)) {
          // The reader omits the empty lines after the record.
          EXPECT_EQ(records[i], put.bytes().substr(0, put.bytes().size() - 4));
          continue;
        }
        const Put& original = *first.at(put.body);
        const absl::StatusOr<WarcRecord> revisit = parse_warc_record(records[i]);
        ASSERT_TRUE(revisit.ok());
        EXPECT_EQ(revisit->type, WarcType::revisit);
        EXPECT_EQ(revisit->record_id, "urn:uuid:" + put.id);
        EXPECT_EQ(revisit->target_uri, put.uri);
        EXPECT_EQ(revisit->date, put.date);
        EXPECT_EQ(revisit->payload_digest, put.digest);
        EXPECT_EQ(revisit->refers_to, "urn:uuid:" + original.id);
        EXPECT_EQ(revisit->refers_to_uri, original.uri);
        EXPECT_EQ(revisit->refers_to_date, original.date);
        EXPECT_EQ(revisit->profile, "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest");
        EXPECT_EQ(revisit->block, put.http);
        EXPECT_THAT(records[i], Not(HasSubstr("WARC-Block-Digest")));
      }
    }
    EXPECT_EQ(report.bytes, bytes);
    EXPECT_EQ(report.written, written);
  }
}

// Events of several runs, in different orders, so that they call different captures originals. Whatever they
// say, the earliest capture of a payload stays, and all others refer to it.
TEST(Rewrite, AllRefersToTheEarliest) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10; ++round) {
    TemporaryDirectory directory;
    std::vector<std::string> bodies;
    for (int i = 0; i < 3; ++i) bodies.push_back(random_body(random));
    std::vector<std::vector<Put>> files(2);
    std::vector<std::string> paths;
    for (std::vector<Put>& puts : files) {
      for (size_t i = 0; i < 2 + random() % 8; ++i)
        puts.push_back({.body = bodies[random() % 3],
                        .date = fmt::format("2024-05-06T07:{:02}:{:02}Z", random() % 60, random() % 60)});
      paths.push_back(directory / fmt::format("in/{}.warc.gz", paths.size()));
      write_file(paths.back(), file_of(puts, paths.back(), Packing::gz, fmt::format("f{}", paths.size())));
    }
    std::map<std::string, std::vector<const Put*>> of_body;
    std::map<std::string, const Put*> by_id;
    for (const std::vector<Put>& puts : files) {
      for (const Put& put : puts) {
        of_body[put.body].push_back(&put);
        by_id["urn:uuid:" + put.id] = &put;
      }
    }
    std::vector<PayloadCopy> events;
    for (size_t run = 0; run < 1 + random() % 3; ++run) {
      for (auto& [body, puts] : of_body) {
        std::shuffle(puts.begin(), puts.end(), random);
        for (size_t i = 1; i < puts.size(); ++i) events.push_back({puts[i]->named, puts[0]->named});
      }
    }
    const auto rewriter = must_rewrite(paths, directory / "out", events);
    std::map<std::string, size_t> responses;
    for (const std::string& path : paths) {
      for (const std::string& bytes : records_of(directory / ("out" + path.substr(path.rfind('/'))))) {
        const absl::StatusOr<WarcRecord> record = parse_warc_record(bytes);
        const Put& put = *by_id.at(std::string(record->record_id));
        if (record->type == WarcType::response) {
          ++responses[put.body];
          for (const Put* other : of_body[put.body]) EXPECT_LE(put.date, other->date);
          continue;
        }
        const Put& original = *by_id.at(std::string(record->refers_to));
        EXPECT_EQ(original.body, put.body);
        EXPECT_LE(original.date, put.date);
      }
    }
    for (const auto& [body, puts] : of_body) EXPECT_EQ(responses[body], 1u);
  }
}

class RewriteOne : public testing::Test {
 protected:
  // Returns the reasons why copies of one file stay.
  std::map<std::string, uint64_t, std::less<>> kept(
      const std::function<std::vector<PayloadCopy>(std::vector<Put>&)>& events, std::vector<Put> puts) {
    const std::string path = directory_ / "a.warc.gz";
    const std::string bytes = file_of(puts, path, Packing::gz, "a");
    write_file(path, bytes);
    rewriter_ = must_rewrite({path}, directory_ / "out", events(puts));
    if (rewriter_->report().replaced == 0) {
      EXPECT_EQ(read_back(directory_ / "out/a.warc.gz"), bytes);
    }
    return rewriter_->report().kept;
  }
  static std::vector<PayloadCopy> second_of_first(std::vector<Put>& puts) {
    return {{puts[1].named, puts[0].named}};
  }

  std::mt19937_64 random_{std::random_device{}()};
  std::string body_ = random_body(random_);
  TemporaryDirectory directory_;
  std::unique_ptr<Rewriter> rewriter_;
};

TEST_F(RewriteOne, ACopyIsReplacedOnceWhateverTheEventsRepeat) {
  const auto twice = [](std::vector<Put>& puts) {
    return std::vector<PayloadCopy>{{puts[1].named, puts[0].named}, {puts[1].named, puts[0].named}};
  };
  EXPECT_THAT(kept(twice, {{.body = body_}, {.body = body_}}), UnorderedElementsAre());
  EXPECT_EQ(rewriter_->report().replaced, 1u);
}

// Players look up the original of a crawler's revisit record by the key of its URI and the digest, and of
// several captures they take the nearest in time. So other spellings of the URI and another date count.
TEST_F(RewriteOne, WhatPlayersNeedForARevisitRecordStays) {
  const auto refers = [](const std::string& uri, const std::string& date) {
    return (uri.empty() ? "" : "WARC-Refers-To-Target-URI: " + uri + "\r\n") +
           (date.empty() ? "" : "WARC-Refers-To-Date: " + date + "\r\n");
  };
  const std::string date = "2024-05-07T07:08:09Z", http = "HTTP/1.1 200 OK\r\n\r\n";
  const std::string digest = fmt::format("sha1:{}", std::hash<std::string>()(body_));
  const auto reasons = [&](const std::string& original, Put revisit) {
    revisit.type = "revisit";
    revisit.http = http;
    if (revisit.digest.empty()) revisit.digest = digest;
    return kept(second_of_first, {{.body = body_, .uri = original},
                                  {.body = body_, .date = date, .uri = "https://www.b/x"},
                                  std::move(revisit)});
  };
  const auto protects = [&](const Put& revisit) {
    EXPECT_THAT(reasons("http://a/0", revisit),
                UnorderedElementsAre(Pair("a revisit record of the crawler refers to it", 1)));
  };
  protects({.more = refers("https://www.b/x", date)});
  protects({.more = refers("HTTP://B:80/x", date)});
  protects({.more = refers("http://b/x", "2023-01-01T00:00:00Z")});  // no capture has this date
  protects({.more = refers("http://b/x", "")});
  protects({.more = refers("http://b/x", ""), .digest = " "});
  protects({.more = refers("", date), .uri = "http://b/x"});
  protects({.more = refers("", ""), .digest = " ", .uri = "http://b/x"});  // as for "not modified"

  const auto replaces = [&](const std::string& original, const Put& revisit) {
    EXPECT_THAT(reasons(original, revisit), UnorderedElementsAre());
    EXPECT_EQ(rewriter_->report().replaced, 1u);
    ASSERT_TRUE(rewriter_->verify().ok());
    EXPECT_THAT(rewriter_->report().problems, testing::IsEmpty());
  };
  replaces("http://a/0", {.more = refers("http://b/y", "2023-01-01T00:00:00Z")});
  replaces("http://a/0", {.more = refers("http://b/x", "2023-01-01T00:00:00Z"), .digest = "sha1:other"});
  // Players find the original under the same key.
  replaces("http://b/x", {.more = refers("http://b/x", "2023-01-01T00:00:00Z")});
}

// Of records that are each other's copies by the events of several runs, one stays.
TEST_F(RewriteOne, AnOriginalIsNeverReplaced) {
  const auto circle = [](std::vector<Put>& puts) {
    return std::vector<PayloadCopy>{{puts[1].named, puts[0].named},
                                    {puts[0].named, puts[1].named},
                                    {puts[0].named, puts[2].named},
                                    {puts[2].named, puts[1].named},
                                    {puts[2].named, puts[2].named}};
  };
  EXPECT_THAT(kept(circle, {{.body = body_}, {.body = body_}, {.body = body_}}),
              UnorderedElementsAre(Pair("it is the original itself", 1)));
  EXPECT_EQ(rewriter_->report().replaced, 2u);
}

// The earliest capture may store other bytes: then the event's own original is the original.
TEST_F(RewriteOne, AnEarlierOriginalOfOtherBytesIsLeftOut) {
  std::string other = body_;
  other.back() ^= 1;
  const auto all_of_second = [](std::vector<Put>& puts) {
    return std::vector<PayloadCopy>{{puts[0].named, puts[1].named}, {puts[2].named, puts[1].named}};
  };
  EXPECT_THAT(kept(all_of_second, {{.body = other, .date = "2024-05-06T07:08:01Z", .digest = "sha1:A"},
                                   {.body = body_, .date = "2024-05-06T07:08:02Z", .digest = "sha1:A"},
                                   {.body = body_, .date = "2024-05-06T07:08:03Z", .digest = "sha1:A"}}),
              UnorderedElementsAre(Pair("its original is later, and stays", 1)));
  EXPECT_EQ(rewriter_->report().replaced, 1u);
}

TEST_F(RewriteOne, OtherBytesUnderTheSameDigestStay) {
  std::string other = body_;
  other.back() ^= 1;
  EXPECT_THAT(
      kept(second_of_first, {{.body = body_, .digest = "sha1:A"}, {.body = other, .digest = "sha1:A"}}),
      UnorderedElementsAre(Pair("its payload is stored in other bytes than the original's", 1)));
  other.pop_back();
  EXPECT_THAT(
      kept(second_of_first, {{.body = body_, .digest = "sha1:A"}, {.body = other, .digest = "sha1:A"}}),
      UnorderedElementsAre(Pair("its payload is stored in other bytes than the original's", 1)));
}

TEST_F(RewriteOne, OnlyWholeHttpResponsesAreReplaced) {
  const Put good{.body = body_};
  Put of_type = good, truncated = good, segment = good, no_http = good;
  of_type.type = "resource";
  truncated.more = "WARC-Truncated: length\r\n";
  segment.more = "WARC-Segment-Number: 1\r\n";
  no_http.http = "no head at all";
  const std::pair<Put, std::string> all[] = {{of_type, "it is not a response record"},
                                             {truncated, "it is truncated"},
                                             {segment, "it is a segment"},
                                             {no_http, "it cannot be read"}};
  for (const auto& [bad, why] : all) {
    EXPECT_THAT(kept(second_of_first, {good, bad}), UnorderedElementsAre(Pair(why, 1)));
    EXPECT_THAT(kept(second_of_first, {bad, good}), UnorderedElementsAre(Pair("its original: " + why, 1)));
  }
}

// A revisit record refers to a URI alone, under which players do not find what a POST request got.
TEST_F(RewriteOne, AnAnswerToAPostIsNoOriginal) {
  const Put good{.body = body_};
  const std::string other_date = "2024-05-06T07:08:01Z";
  const auto request = [&](const std::string& method, const std::string& date, const std::string& more) {
    return Put{.type = "request",
               .body = "a=1",
               .more = more,
               .http = method + " / HTTP/1.1\r\nHost: a\r\n\r\n",
               .date = date,
               .digest = "sha1:R",
               .uri = "http://a/0"};
  };
  const std::string post = "its original answers a POST request, so players do not find it by its URI";
  // By URI and date, by the request's reference, and by the answer's.
  EXPECT_THAT(kept(second_of_first, {good, good, request("POST", good.date, "")}),
              UnorderedElementsAre(Pair(post, 1)));
  EXPECT_THAT(kept(second_of_first,
                   {good, good, request("PUT", other_date, "WARC-Concurrent-To: <urn:uuid:a-0>\r\n")}),
              UnorderedElementsAre(Pair(post, 1)));
  Put answer = good;
  answer.more = "WARC-Concurrent-To: <urn:uuid:a-2>\r\n";
  EXPECT_THAT(kept(second_of_first, {answer, good, request("POST", other_date, "")}),
              UnorderedElementsAre(Pair(post, 1)));
  // The answer to a GET request is one; so is that to another exchange.
  EXPECT_THAT(kept(second_of_first, {good, good, request("GET", good.date, "")}), UnorderedElementsAre());
  EXPECT_THAT(kept(second_of_first, {good, good, request("POST", other_date, "")}), UnorderedElementsAre());
}

TEST_F(RewriteOne, ARevisitRecordHasTheDigestThatTheOriginalWrites) {
  const auto same_payload = [](std::vector<Put>& puts) {
    puts[1].named.digest = puts[0].named.digest;  // as the run computed it
    return std::vector<PayloadCopy>{{puts[1].named, puts[0].named}};
  };
  for (const std::string digest : {"sha256:00ff", "md5:00ff", "sha1:A"}) {
    EXPECT_THAT(kept(same_payload, {{.body = body_, .digest = "sha1:A"}, {.body = body_, .digest = digest}}),
                UnorderedElementsAre());
    const std::vector<std::string> records = records_of(directory_ / "out/a.warc.gz");
    ASSERT_EQ(records.size(), 2u);
    EXPECT_THAT(records[1], AllOf(HasSubstr("revisit"), HasSubstr("WARC-Payload-Digest: sha1:A\r\n"),
                                  Not(HasSubstr("00ff"))));
  }
}

TEST_F(RewriteOne, WhatASmallRecordSavesIsNothing) {
  EXPECT_THAT(kept(second_of_first, {{.body = "tiny"}, {.body = "tiny"}}),
              UnorderedElementsAre(Pair("a revisit record would not be smaller", 1)));
}

// Players find originals by URI and date.
TEST_F(RewriteOne, ACopyOfTheSameUriAndDateStays) {
  EXPECT_THAT(
      kept(second_of_first, {{.body = body_, .uri = "http://x/"}, {.body = body_, .uri = "http://x/"}}),
      UnorderedElementsAre(
          Pair("its original has the same id, or URI and date, by which players look it up", 1)));
  EXPECT_THAT(kept(second_of_first, {{.body = body_, .uri = "http://x/"},
                                     {.body = body_, .date = "2025-05-06T07:08:09Z", .uri = "http://x/"}}),
              UnorderedElementsAre());
}

TEST_F(RewriteOne, AnEventOfOtherRecordsChangesNothing) {
  const std::vector<Put> puts{{.body = body_}, {.body = body_}};
  const auto wrong = [&](const std::function<void(PayloadCopy&)>& change) {
    return kept(
        [&](std::vector<Put>& all) {
          std::vector<PayloadCopy> events = second_of_first(all);
          change(events[0]);
          return events;
        },
        puts);
  };
  const auto at_its_place = UnorderedElementsAre(Pair("its place holds another record", 1));
  const auto original_there = UnorderedElementsAre(Pair("the original's place holds another record", 1));
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.copy.target_uri += "x"; }), at_its_place);
  EXPECT_THAT(rewriter_->report().problems[0],
              AllOf(HasSubstr("a.warc.gz: byte "), HasSubstr(": another record than the event names")));
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.copy.digest += "x"; }), at_its_place);
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.copy.record_id += "x"; }), at_its_place);
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.original.target_uri += "x"; }), original_there);
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.original.digest += "x"; }), original_there);
  // In files that were moved or rewritten, records are found by their ids.
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.copy.offset = *e.copy.offset + 1; }), UnorderedElementsAre());
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.original.offset = 1 << 30; }), UnorderedElementsAre());
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.copy.offset.reset(); }), UnorderedElementsAre());
  EXPECT_THAT(wrong([](PayloadCopy& e) { e.original.file = e.original.filename = "gone.warc"; }),
              UnorderedElementsAre());
}

TEST(Rewrite, RecordsThatArePackedTogetherStay) {
  TemporaryDirectory directory;
  std::mt19937_64 random(1);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}, {.body = body}};
  const std::string path = directory / "a.warc.gz";
  file_of(puts, path, Packing::none, "a");
  // The second member has two records.
  const std::string first = gz(puts[0].bytes()), bytes = first + gz(puts[1].bytes() + puts[2].bytes());
  write_file(path, bytes);
  puts[0].named.offset = 0;
  puts[1].named.offset = first.size();
  const auto rewriter = must_rewrite({}, directory / "out", {{puts[1].named, puts[0].named}});
  EXPECT_THAT(rewriter->report().kept,
              UnorderedElementsAre(Pair("other records are packed together with it", 1)));
  EXPECT_EQ(read_back(directory / "out/a.warc.gz"), bytes);
}

// Damaged or truncated data is copied unchanged, and so are the bytes after the last record.
TEST(Rewrite, AllElseIsCopiedAsItIs) {
  TemporaryDirectory directory;
  std::mt19937_64 random(2);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}, {.body = body}};
  const std::string path = directory / "a.warc.gz";
  const std::string whole = file_of(puts, path, Packing::gz, "a"),
                    bytes = whole.substr(0, whole.size() - 100);
  write_file(path, bytes);
  const auto rewriter =
      must_rewrite({}, directory / "out", {{puts[1].named, puts[0].named}, {puts[2].named, puts[0].named}});
  EXPECT_EQ(rewriter->report().replaced, 1u);
  EXPECT_THAT(rewriter->report().kept, UnorderedElementsAre(Pair("it cannot be read", 1)));
  EXPECT_THAT(rewriter->report().problems,
              AllOf(Not(testing::IsEmpty()), testing::Each(HasSubstr("a.warc.gz: byte "))));
  const std::string out = read_back(directory / "out/a.warc.gz");
  const auto second = *puts[1].named.offset, third = *puts[2].named.offset;
  EXPECT_EQ(out.substr(0, second), bytes.substr(0, second));
  EXPECT_TRUE(out.ends_with(bytes.substr(third)));
}

TEST(Rewrite, InsideOfWaczFiles) {
  TemporaryDirectory directory;
  std::mt19937_64 random(3);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}};
  const std::string path = directory / "a.wacz";
  const std::string bytes = file_of(puts, path + "/archive/a.warc.gz", Packing::gz, "a");
  write_file(path, zipped({{"pages/pages.jsonl", "{}"}, {"archive/a.warc.gz", bytes}}));
  for (const std::vector<std::string>& paths : {std::vector<std::string>(), {path}}) {
    const std::string out = directory / fmt::format("out{}", paths.size());
    const auto rewriter = must_rewrite(paths, out, {{puts[1].named, puts[0].named}});
    EXPECT_EQ(rewriter->report().replaced, 1u);
    EXPECT_EQ(records_of(out + "/a.wacz/archive/a.warc.gz").size(), 2u);
    EXPECT_EQ(rewriter->report().bytes, bytes.size());
  }
}

// A name finds a file only if no other file has it.
TEST(Rewrite, FilesThatWereMovedAreFoundByTheirNames) {
  TemporaryDirectory directory;
  std::mt19937_64 random(6);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}};
  const std::string bytes = file_of(puts, "/gone/a.warc.gz", Packing::gz, "a");
  write_file(directory / "now/a.warc.gz", bytes);
  // Events of a crawl log contain no path.
  puts[0].named.file.clear();
  const std::vector<PayloadCopy> events{{puts[1].named, puts[0].named}};
  EXPECT_EQ(must_rewrite({directory / "now"}, directory / "out", events)->report().replaced, 1u);
  write_file(directory / "other/a.warc.gz", bytes + gz(puts[0].bytes()));
  auto rewriter = Rewriter::open({directory / "now", directory / "other"}, directory / "out2");
  ASSERT_TRUE(rewriter.ok());
  EXPECT_TRUE((*rewriter)->add(events[0]).ok());
  EXPECT_TRUE((*rewriter)->write({}).ok());
  EXPECT_THAT((*rewriter)->report().kept, UnorderedElementsAre(Pair("its WARC file does not exist", 1)));
}

TEST(Rewrite, NothingIsWrittenOverWhatIsRead) {
  TemporaryDirectory directory;
  std::mt19937_64 random(4);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}};
  const std::string path = directory / "in/a.warc";
  const std::string bytes = file_of(puts, path, Packing::none, "a");
  write_file(path, bytes);
  write_file(directory / "other/a.warc", bytes);
  std::filesystem::create_directories(directory / "links");
  std::filesystem::create_symlink(path, directory / "links/a.warc");
  const auto refused = [&](const std::vector<std::string>& paths, const std::string& to) {
    auto rewriter = Rewriter::open(paths, to);
    EXPECT_TRUE(rewriter.ok()) << rewriter.status();
    EXPECT_TRUE((*rewriter)->add({puts[1].named, puts[0].named}).ok());
    const absl::Status status = (*rewriter)->write({directory / "events"});
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(read_back(path), bytes);
    return std::string(std_sv(status.message()));
  };
  EXPECT_THAT(refused({}, directory / "in"), HasSubstr("in/a.warc would overwrite an input"));
  EXPECT_THAT(refused({path}, directory / "links"), HasSubstr("would overwrite an input"));
  write_file(directory / "events", "{}");
  std::filesystem::create_directories(directory / "hard");
  std::filesystem::create_hard_link(directory / "events", directory / "hard/a.warc");
  EXPECT_THAT(refused({path}, directory / "hard"), HasSubstr("would overwrite an input"));
}

// Of one crawl with machines or days as folders, all files may have the same names.
TEST(Rewrite, FilesOfTheSameNameKeepTheirFolders) {
  TemporaryDirectory directory;
  std::mt19937_64 random(8);
  const std::string body = random_body(random);
  std::vector<PayloadCopy> events;
  for (const std::string name : {"in/1/a.warc", "in/2/deep/a.warc", "in/2/b.warc"}) {
    std::vector<Put> puts{{.body = body}, {.body = body}};
    write_file(directory / name,
               file_of(puts, directory / name, Packing::none, name.substr(3, 1) + name[name.size() - 6]));
    events.push_back({puts[1].named, puts[0].named});
  }
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{directory / "in"}, {directory / "in/1", directory / "in/../in/2"}}) {
    const std::string out = directory / fmt::format("out{}", paths.size());
    const auto rewriter = must_rewrite(paths, out, events);
    EXPECT_EQ(rewriter->report().replaced, 3u);
    for (const char* name : {"/1/a.warc", "/2/deep/a.warc", "/2/b.warc"})
      EXPECT_EQ(records_of(out + name).size(), 2u) << name;
  }
}

// What was written is read again: an original that is gone since, or that writes another digest, is named.
TEST(Rewrite, VerifyingFindsWhatPlayersDoNotFind) {
  TemporaryDirectory directory;
  std::mt19937_64 random(10);
  std::vector<Put> old{{.body = random_body(random)}},
      put{{.body = old[0].body, .date = "2024-06-06T07:08:09Z"}};
  const std::string path = directory / "a.warc", kept = file_of(old, path, Packing::none, "a");
  write_file(path, kept);
  write_file(directory / "b.warc", file_of(put, directory / "b.warc", Packing::none, "b"));
  for (const bool damaged : {false, true}) {
    const auto rewriter =
        must_rewrite({directory / "b.warc"}, directory / "out", {{put[0].named, old[0].named}});
    if (damaged) {
      std::string other = kept;
      other.replace(other.find("sha1:"), 5, "sha9:");
      write_file(path, other);
    }
    EXPECT_TRUE(rewriter->verify().ok());
    EXPECT_EQ(rewriter->report().replaced, 1u);
    EXPECT_EQ(rewriter->report().verified, damaged ? 0u : 1u);
    if (damaged) {
      EXPECT_THAT(
          rewriter->report().problems,
          testing::ElementsAre(AllOf(HasSubstr("out/b.warc: byte 0: the original of this revisit record "
                                               "is not found: http://a/0 of 2024-05-06T07:08:09Z"))));
    } else {
      EXPECT_TRUE(rewriter->report().problems.empty()) << rewriter->report().problems[0];
    }
  }
}

// A killed run leaves a temporary file. The next run removes it, but none of a run that still writes.
TEST(Rewrite, TemporaryFilesOfAKilledRunAreRemoved) {
  TemporaryDirectory directory;
  std::mt19937_64 random(9);
  std::vector<Put> puts{{.body = random_body(random)}};
  write_file(directory / "a.warc", file_of(puts, directory / "a.warc", Packing::none, "a"));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string dead = fmt::format("{}.tmp", child);
  const std::string others[] = {".b.warc." + dead, ".a.warc." + dead + "x", "a.warc." + dead, ".a.warc.x.tmp",
                                ".a.warc." + fmt::format("{}.tmp", ::getppid())};
  for (const std::string& name : others) write_file((directory / "out/") + name, "x");
  write_file((directory / "out/.a.warc.") + dead, "x");
  must_rewrite({directory / "a.warc"}, directory / "out", {});
  EXPECT_FALSE(std::filesystem::exists((directory / "out/.a.warc.") + dead));
  for (const std::string& name : others)
    EXPECT_TRUE(std::filesystem::exists((directory / "out/") + name)) << name;
}

// A run that cannot complete its file keeps the old one.
TEST(Rewrite, AFileIsReplacedAsAWhole) {
  TemporaryDirectory directory;
  std::mt19937_64 random(5);
  const std::string body = random_body(random);
  std::vector<Put> puts{{.body = body}, {.body = body}};
  const std::string path = directory / "a.warc";
  const std::string bytes = file_of(puts, path, Packing::none, "a");
  write_file(path, bytes);
  write_file(directory / "out/a.warc", "of an earlier run");
  auto rewriter = Rewriter::open({path}, directory / "out");
  ASSERT_TRUE(rewriter.ok());
  // It becomes shorter in the meantime.
  std::filesystem::resize_file(path, bytes.size() / 2);
  const absl::Status status = (*rewriter)->write({});
  EXPECT_THAT(std::string(std_sv(status.message())), HasSubstr("a.warc: it has become shorter"));
  EXPECT_EQ(read_back(directory / "out/a.warc"), "of an earlier run");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory / "out"), {}), 1);
}

}  // namespace
}  // namespace doppel
