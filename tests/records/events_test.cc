// The events, member by member, as docs/events.md describes them.
#include "records/events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metadata_testing.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using records_test::encoded;
using records_test::in_file;

const EventContext kContext{.scheme = "5a17", .epoch = "e1"};

Metadata on_kafka(uint64_t offset) {
  return {.source = "pages", .partition = 3, .offset = offset, .id = {}, .url = {}};
}

std::string duplicate_of(const Metadata& document, const Metadata& original, const Outcome& outcome,
                         const EventContext& context = kContext) {
  std::string out;
  append_duplicate_of(out, context, document, original, outcome);
  return out;
}

// The value of the member `name`, up to the next comma or bracket.
std::string member(const std::string& event, const std::string& name) {
  const size_t at = event.find("\"" + name + "\":");
  if (at == std::string::npos) return "missing";
  const size_t begin = at + name.size() + 3;
  return event.substr(begin, event.find_first_of(",}]", begin) - begin);
}

TEST(Events, ADuplicateInAFile) {
  const Outcome outcome{.verdict = Verdict::duplicate, .kind = Kind::near, .similarity = {9, 10}};
  EXPECT_EQ(
      duplicate_of(in_file(70, "b"), in_file(7, "a"), outcome),
      R"({"type":"duplicate-of","version":1,"event_id":"a.jsonl/70","kind":"near","similarity":0.9,)"
      R"("cluster_id":"a.jsonl/7",)"
      R"("document":{"id":"b","url":null,"date":null,"digest":null,"content_type":null,"file":"a.jsonl","offset":70},)"
      R"("original":{"id":"a","url":null,"date":null,"digest":null,"content_type":null,"file":"a.jsonl","offset":7},)"
      R"("relation":{"same_id":false,"same_url":false,"same_host":false,"age_seconds":null},)"
      R"("scheme":"5a17","epoch":"e1"})");
}

TEST(Events, ADuplicateOnKafkaWithEverything) {
  Metadata document = on_kafka(9), original = on_kafka(8);
  document.incarnation = 2;
  document.arrival_ms = 90'000;
  document.url = "https://example.org/b";
  document.date_ms = 1'700'000'000'000;
  document.payload_digest = "sha1:ABC";
  document.content_type = "text/html";
  document.text_source = "data";
  document.warc = {.record_id = "urn:uuid:1", .target_uri = "u", .date = "d", .filename = "f", .offset = 5};
  document.passthrough = R"("lang":"en")";
  original.id = document.id = "one";
  const Outcome outcome{.verdict = Verdict::duplicate,
                        .kind = Kind::exact,
                        .estimated = true,
                        .same_payload = true,
                        .similarity = {1, 1}};
  EXPECT_EQ(
      duplicate_of(document, original, outcome, {.scheme = "5a17", .epoch = ""}),
      R"({"type":"duplicate-of","version":1,"event_id":"pages@2/3/9","kind":"exact","similarity":1,"estimated":true,)"
      R"("cluster_id":"pages/3/8",)"
      R"("document":{"id":"one","url":"https://example.org/b","date":"2023-11-14T22:13:20Z","digest":"sha1:ABC",)"
      R"("content_type":"text/html","text_source":"data",)"
      R"("warc":{"record_id":"urn:uuid:1","target_uri":"u","date":"d","filename":"f","offset":5},)"
      R"("kafka":{"topic":"pages","incarnation":2,"partition":3,"offset":9,"timestamp":90000}},)"
      R"("original":{"id":"one","url":null,"date":null,"digest":null,"content_type":null,)"
      R"("kafka":{"topic":"pages","partition":3,"offset":8,"timestamp":null}},)"
      R"("relation":{"same_id":true,"same_url":false,"same_host":false,"same_payload":true,"age_seconds":null},)"
      R"("fields":{"lang":"en"},"scheme":"5a17","epoch":null})");
}

// The age is the difference of stated dates, or of arrivals if one document states none.
TEST(Events, TheAgeOfADuplicate) {
  Metadata document = on_kafka(9), original = on_kafka(8);
  const Outcome outcome{.verdict = Verdict::duplicate, .kind = Kind::near};
  const auto age = [&] { return member(duplicate_of(document, original, outcome), "age_seconds"); };
  EXPECT_EQ(age(), "null");
  document.arrival_ms = 90'000;
  EXPECT_EQ(age(), "null");
  original.arrival_ms = 30'999;
  EXPECT_EQ(age(), "59");
  document.date_ms = 1'000'000;
  EXPECT_EQ(age(), "59");
  original.date_ms = 5'000'000;
  EXPECT_EQ(age(), "-4000");
}

TEST(Events, SameUrlAndHost) {
  Metadata document = on_kafka(9), original = on_kafka(8);
  const Outcome outcome{.verdict = Verdict::duplicate, .kind = Kind::near};
  const auto same = [&](std::string_view url, std::string_view of_original) {
    document.url = url, original.url = of_original;
    const std::string event = duplicate_of(document, original, outcome);
    return member(event, "same_url") + " " + member(event, "same_host");
  };
  EXPECT_EQ(same("", ""), "false false");
  EXPECT_EQ(same("https://a.org/1", "https://a.org/1"), "true true");
  EXPECT_EQ(same("https://a.org/1", "http://A.org:80/2"), "false true");
  EXPECT_EQ(same("https://a.org/1", "https://b.org/1"), "false false");
}

TEST(Events, TheHostOfAUrl) {
  EXPECT_EQ(host_of("https://Example.ORG/Path"), "example.org");
  EXPECT_EQ(host_of("https://example.org"), "example.org");
  EXPECT_EQ(host_of("http://user:secret@example.org:8080/a@b:c"), "example.org");
  EXPECT_EQ(host_of("http://example.org?x=/y"), "example.org");
  EXPECT_EQ(host_of("http://example.org#z/"), "example.org");
  EXPECT_EQ(host_of("http://[2001:DB8::1]:8080/"), "[2001:db8::1]");
  EXPECT_EQ(host_of("http://[2001:db8::1"), "[2001:db8::1");
  EXPECT_EQ(host_of("http://münchen.DE/"), "münchen.de");
  EXPECT_EQ(host_of("a://b"), "b");
  EXPECT_EQ(host_of("dns:example.org"), "");
  EXPECT_EQ(host_of("http://"), "");
  EXPECT_EQ(host_of(""), "");
}

TEST(Events, APartialCopy) {
  const std::string first = encoded(on_kafka(1)), second = encoded(on_kafka(2));
  Outcome outcome{.verdict = Verdict::unique};
  outcome.related = {{.relation = Relation::shares,
                      .shared = 50,
                      .of_document = 100,
                      .of_original = 200,
                      .passages = {{1, 20}, {30, 60}},
                      .bytes = {{5, 110}},
                      .original = first},
                     {.relation = Relation::contained,
                      .shared = 8,
                      .of_document = 8,
                      .of_original = 10,
                      .original = second}};
  outcome.related_more = 4;
  outcome.cut = {{0, 9}, {12, 15}};
  std::string event;
  append_partial_copy_of(event, kContext, on_kafka(9), outcome);
  const std::string rest =
      R"("url":null,"date":null,"digest":null,"content_type":null,"kafka":{"topic":"pages","partition":3,)";
  EXPECT_EQ(event,
            R"({"type":"partial-copy-of","version":1,"event_id":"pages/3/9",)"
            R"("document":{"id":"pages/3/9",)" +
                rest +
                R"("offset":9,"timestamp":null}},)"
                R"("relations":[{"relation":"shares","cluster_id":"pages/3/1","of_document":0.5,)"
                R"("of_original":0.25,"shared":50,"passages":[[1,20],[30,60]],"bytes":[[5,110]],)"
                R"("original":{"id":"pages/3/1",)" +
                rest +
                R"("offset":1,"timestamp":null}}},)"
                R"({"relation":"contained","cluster_id":"pages/3/2","of_document":1,"of_original":0.8,)"
                R"("shared":8,"passages":[],)"
                R"("original":{"id":"pages/3/2",)" +
                rest +
                R"("offset":2,"timestamp":null}}}],)"
                R"("relations_more":4,"cut":[[0,9],[12,15]],"scheme":"5a17","epoch":"e1"})");
}

TEST(Events, ABetterCopy) {
  Metadata document = in_file(70, "b"), original = in_file(7, "a");
  original.best = {.tag = 1, .value = 2.5};
  BetterCopy better{.copy = encode_shown({4, "a.jsonl/70", "b"})};
  const std::string end =
      R"("document":{"id":"b","url":null,"date":null,"digest":null,"content_type":null,"file":"a.jsonl","offset":70},)"
      R"("scheme":"5a17","epoch":"e1"})";
  std::string event;
  ASSERT_TRUE(append_better_copy(event, kContext, document, original, better).ok());
  EXPECT_EQ(event,
            R"({"type":"better-copy","version":1,"event_id":"a.jsonl/70","cluster_id":"a.jsonl/7","value":4,)"
            R"("instead_of":{"event_id":"a.jsonl/7","id":"a","value":2.5},)" +
                end);

  // Another copy was shown before.
  better.before = encode_shown({3, "a.jsonl/50", "c"});
  event.clear();
  ASSERT_TRUE(append_better_copy(event, kContext, document, original, better).ok());
  EXPECT_EQ(event,
            R"({"type":"better-copy","version":1,"event_id":"a.jsonl/70","cluster_id":"a.jsonl/7","value":4,)"
            R"("instead_of":{"event_id":"a.jsonl/50","id":"c","value":3},)" +
                end);

  // The shortest form names every document by its event_id.
  event.clear();
  ASSERT_TRUE(append_better_copy_place(event, kContext, document, original, better).ok());
  EXPECT_EQ(member(event, "instead_of"), R"({"event_id":"a.jsonl/50")");
  EXPECT_NE(event.find(R"("id":"a.jsonl/50","value":3)"), std::string::npos) << event;
  EXPECT_NE(event.find(R"("document":{"id":"a.jsonl/70",)"), std::string::npos) << event;

  // An original without a value, and bytes that are no shown copy.
  original.best.reset();
  better.before.clear();
  event.clear();
  ASSERT_TRUE(append_better_copy(event, kContext, document, original, better).ok());
  EXPECT_NE(event.find(R"("id":"a","value":null)"), std::string::npos) << event;
  better.copy = "x";
  EXPECT_FALSE(append_better_copy(event, kContext, document, original, better).ok());
}

TEST(Events, ARemovedOriginal) {
  Metadata original = in_file(7, "a");
  original.passthrough = R"("lang":"en")";  // only a document's own event has it
  std::string event;
  append_original_removed(event, kContext, original, "expired");
  EXPECT_EQ(
      event,
      R"({"type":"original-removed","version":1,"cluster_id":"a.jsonl/7","reason":"expired",)"
      R"("original":{"id":"a","url":null,"date":null,"digest":null,"content_type":null,"file":"a.jsonl","offset":7},)"
      R"("scheme":"5a17","epoch":"e1"})");
}

TEST(Events, Verdicts) {
  Metadata document = in_file(70, "b");
  const Metadata original = in_file(7, "a");
  const auto verdict = [&](const Outcome& outcome, std::string_view reason = {}) {
    std::string out;
    append_verdict(out, document, original, outcome, reason);
    return out;
  };
  EXPECT_EQ(verdict({.verdict = Verdict::duplicate, .kind = Kind::contained, .similarity = {1, 4}}),
            R"({"id":"b","verdict":"duplicate","duplicate_of":"a","similarity":0.25,"kind":"contained",)"
            R"("event_id":"a.jsonl/70","cluster_id":"a.jsonl/7"})");
  EXPECT_EQ(verdict({.verdict = Verdict::unique}),
            R"({"id":"b","verdict":"unique","duplicate_of":null,"similarity":null,"kind":null,)"
            R"("event_id":"a.jsonl/70","cluster_id":"a.jsonl/70"})");
  // The original of a document that is judged a second time.
  EXPECT_EQ(verdict({.verdict = Verdict::unique, .again = true}),
            R"({"id":"b","verdict":"unique","duplicate_of":null,"similarity":null,"kind":null,)"
            R"("event_id":"a.jsonl/70","again":true,"cluster_id":"a.jsonl/7"})");
  document.text_source = "data";
  EXPECT_EQ(verdict({.verdict = Verdict::rejected}, "no text"),
            R"({"id":"b","verdict":"rejected","duplicate_of":null,"similarity":null,"kind":null,)"
            R"("event_id":"a.jsonl/70","cluster_id":null,"reason":"no text","text_source":"data"})");

  const std::string first = encoded(original);
  Outcome outcome{.verdict = Verdict::unique};
  outcome.related = {
      {.relation = Relation::contains, .shared = 1, .of_document = 4, .of_original = 1, .original = first}};
  std::string event;
  append_verdict_event(event, document, outcome, {});
  EXPECT_EQ(
      event,
      R"({"type":"verdict","version":1,"id":"b","verdict":"unique","duplicate_of":null,"similarity":null,)"
      R"("kind":null,"event_id":"a.jsonl/70","cluster_id":"a.jsonl/70",)"
      R"("relations":[{"relation":"contains","id":"a","cluster_id":"a.jsonl/7","of_document":0.25,)"
      R"("of_original":1,"shared":1,"passages":[]}],"text_source":"data"})");
}

TEST(Events, Names) {
  EXPECT_EQ(kind_name(Kind::exact), "exact");
  EXPECT_EQ(kind_name(Kind::near), "near");
  EXPECT_EQ(kind_name(Kind::contained), "contained");
  std::vector<std::string> names;
  for (Verdict verdict : {Verdict::unique, Verdict::duplicate, Verdict::unscored, Verdict::rejected,
                          Verdict::removal, Verdict::skipped})
    names.emplace_back(verdict_name(verdict));
  EXPECT_EQ(names,
            (std::vector<std::string>{"unique", "duplicate", "unscored", "rejected", "removal", "skipped"}));
}

// The broken rule that an original is its own document. Positions in files may occur twice.
TEST(EventsDeathTest, AnOriginalIsNotItsOwnDocument) {
  const Outcome outcome{.verdict = Verdict::duplicate, .kind = Kind::exact};
  EXPECT_EXIT(duplicate_of(on_kafka(9), on_kafka(9), outcome), testing::ExitedWithCode(70),
              "its own document");
  duplicate_of(in_file(9, "a"), in_file(9, "a"), outcome);
  Metadata other = on_kafka(9);
  other.partition = 4;
  duplicate_of(on_kafka(9), other, outcome);
  other = on_kafka(9);
  other.incarnation = 2;
  duplicate_of(on_kafka(9), other, outcome);
  other = on_kafka(9);
  other.source = "others";
  duplicate_of(on_kafka(9), other, outcome);
}

}  // namespace
}  // namespace doppel
