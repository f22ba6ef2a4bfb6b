// Reading events returns what was written.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "metadata_testing.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using records_test::encoded;
using records_test::in_file;

const EventContext kContext{.scheme = "5a17", .epoch = {}};

TEST(EventReader, ADuplicate) {
  std::string line;
  append_duplicate_of(line, kContext, in_file(70, "b"), in_file(7, "a"),
                      {.verdict = Verdict::duplicate, .kind = Kind::near, .similarity = {2, 3}});
  EventReader reader;
  ReadEvent event;
  ASSERT_TRUE(reader.read(line, event).ok());
  EXPECT_EQ(event.type, ReadEvent::Type::duplicate_of);
  EXPECT_EQ(event.event_id, "a.jsonl/70");
  EXPECT_EQ(event.cluster_id, "a.jsonl/7");
  EXPECT_EQ(event.id, "b");
  EXPECT_EQ(event.original_id, "a");
  EXPECT_EQ(event.kind, "near");
  EXPECT_EQ(event.similarity_ppm, 666'666U);
}

// The last line of another event must not remain.
TEST(EventReader, APartialCopyAndItsVerdict) {
  const std::string first = encoded(in_file(7, "a")), second = encoded(in_file(8, "c"));
  Outcome outcome{.verdict = Verdict::unique};
  outcome.related = {
      {.relation = Relation::contains, .shared = 8, .of_document = 10, .of_original = 8, .original = first},
      {.relation = Relation::shares, .shared = 1, .of_document = 10, .of_original = 3, .original = second}};
  std::string event_line, verdict_line;
  append_partial_copy_of(event_line, kContext, in_file(70, "b"), outcome);
  append_verdict_event(verdict_line, in_file(70, "b"), outcome, {});
  EventReader reader;
  ReadEvent event;
  for (const std::string& line : {event_line, verdict_line}) {
    ASSERT_TRUE(reader.read(line, event).ok()) << line;
    EXPECT_EQ(event.type, ReadEvent::Type::partial_copy_of);
    EXPECT_EQ(event.event_id, "a.jsonl/70");
    EXPECT_EQ(event.id, "b");
    ASSERT_EQ(event.relations.size(), 2U);
    EXPECT_EQ(event.relations[0].relation, "contains");
    EXPECT_EQ(event.relations[0].cluster_id, "a.jsonl/7");
    EXPECT_EQ(event.relations[0].original_id, "a");
    EXPECT_EQ(event.relations[0].of_document_ppm, 800'000U);
    EXPECT_EQ(event.relations[0].of_original_ppm, 1'000'000U);
    EXPECT_EQ(event.relations[1].original_id, "c");
    EXPECT_EQ(event.relations[1].of_original_ppm, 333'333U);
  }
}

TEST(EventReader, ARemovedOriginalAndOtherEvents) {
  EventReader reader;
  ReadEvent event;
  std::string line;
  append_original_removed(line, kContext, in_file(7, "a"), "expired");
  ASSERT_TRUE(reader.read(line, event).ok());
  EXPECT_EQ(event.type, ReadEvent::Type::original_removed);
  EXPECT_EQ(event.cluster_id, "a.jsonl/7");
  EXPECT_EQ(event.original_id, "a");
  EXPECT_EQ(event.reason, "expired");
  EXPECT_EQ(event.event_id, "");

  line.clear();
  ASSERT_TRUE(append_better_copy(line, kContext, in_file(70, "b"), in_file(7, "a"),
                                 {.copy = encode_shown({4, "a.jsonl/70", "b"})})
                  .ok());
  ASSERT_TRUE(reader.read(line, event).ok());
  EXPECT_EQ(event.type, ReadEvent::Type::other);
  line.clear();
  append_verdict_event(line, in_file(70, "b"), {.verdict = Verdict::unique}, {});
  ASSERT_TRUE(reader.read(line, event).ok());
  EXPECT_EQ(event.type, ReadEvent::Type::other);
}

// A passed-through field may be a number that no parser of fixed size takes.
TEST(EventReader, ANumberOfAnySize) {
  std::string line;
  Metadata document = in_file(70, "b");
  const std::string passthrough = R"("n":)" + std::string(50, '9');
  document.passthrough = passthrough;
  append_duplicate_of(line, kContext, document, in_file(7, "a"),
                      {.verdict = Verdict::duplicate, .kind = Kind::exact, .similarity = {1, 1}});
  EventReader reader;
  ReadEvent event;
  const absl::Status read = reader.read(line, event);
  ASSERT_TRUE(read.ok()) << read << line;
  EXPECT_EQ(event.original_id, "a");
  EXPECT_EQ(event.similarity_ppm, 1'000'000U);
}

TEST(EventReader, ErrorsNameTheMember) {
  EventReader reader;
  ReadEvent event;
  const auto error = [&](const std::string& line) { return std::string(reader.read(line, event).message()); };
  EXPECT_NE(error("{"), "");
  EXPECT_NE(error("{}").find("no type"), std::string::npos);
  const std::string good =
      R"({"type":"duplicate-of","event_id":"e","kind":"near","similarity":0.9,"cluster_id":"c",)"
      R"("document":{"id":"b"},"original":{"id":"a"}})";
  EXPECT_EQ(error(good), "");
  for (const std::string name : {"event_id", "kind", "cluster_id", "original", "document", "similarity"}) {
    std::string bad = good;
    bad.replace(bad.find('"' + name + '"') + 1, name.size(), std::string(name.size(), 'x'));
    EXPECT_NE(error(bad).find(name), std::string::npos) << error(bad);
  }
  EXPECT_EQ(error(std::string(good).replace(good.find("0.9"), 3, "0")), "");
  for (const char* share : {"1.01", "-0.1", "\"1\""}) {
    std::string bad = good;
    bad.replace(bad.find("0.9"), 3, share);
    EXPECT_NE(error(bad).find("not a number from 0 to 1"), std::string::npos) << error(bad);
  }
  EXPECT_NE(error(R"({"type":"original-removed","cluster_id":"c","original":{"id":"a"}})").find("reason"),
            std::string::npos);
  const std::string partial =
      R"({"type":"partial-copy-of","event_id":"e","document":{"id":"b"},"relations":[{"relation":"shares",)"
      R"("cluster_id":"c","of_document":0.5,"of_original":0.5,"original":{"id":"a"}}]})";
  EXPECT_EQ(error(partial), "");
  for (const std::string name : {"event_id", "document", "relations", "relation", "cluster_id", "of_document",
                                 "of_original", "original"}) {
    std::string bad = partial;
    bad.replace(bad.find('"' + name + '"') + 1, name.size(), std::string(name.size(), 'x'));
    EXPECT_NE(error(bad), "") << name;
  }
}

}  // namespace

// Groups of captures, against the slow and obvious way to find them.

namespace {

// Gives every capture of both groups the same group, and searches all captures for the earliest one.
class SlowGroups {
 public:
  void tie(const PayloadGroups::Capture& copy, const PayloadGroups::Capture& original) {
    const size_t from = group(copy), to = group(original);
    if (from == to) return;
    for (auto& [key, of] : of_) of = of == from ? to : of;
    // The captures of the original's group stay before the others.
    members_[to].insert(members_[to].end(), members_[from].begin(), members_[from].end());
  }

  PayloadGroups::Key earliest(PayloadGroups::Key key) {
    if (!of_.contains(key)) return key;
    const std::vector<PayloadGroups::Capture>& all = members_[of_[key]];
    const PayloadGroups::Capture* best = &all.front();
    for (const PayloadGroups::Capture& each : all)
      if (each.time_ms && (!best->time_ms || *each.time_ms < *best->time_ms)) best = &each;
    return best->key;
  }

 private:
  size_t group(const PayloadGroups::Capture& capture) {
    const auto [at, fresh] = of_.emplace(capture.key, members_.size());
    if (fresh) members_.push_back({capture});
    return at->second;
  }

  std::map<PayloadGroups::Key, size_t> of_;
  std::vector<std::vector<PayloadGroups::Capture>> members_;
};

RC_GTEST_PROP(PayloadGroups, AreThoseOfTheSlowWay, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  const size_t captures = 1 + random() % 40;
  std::vector<PayloadGroups::Capture> all(captures);
  for (size_t i = 0; i < captures; ++i) {
    all[i].key = i;
    if (random() % 4 != 0) all[i].time_ms = static_cast<int64_t>(random() % 30);
  }
  PayloadGroups fast;
  SlowGroups slow;
  for (size_t ties = random() % 60; ties > 0; --ties) {
    const auto &copy = all[random() % captures], &original = all[random() % captures];
    fast.tie(copy, original);
    slow.tie(copy, original);
    for (PayloadGroups::Key key = 0; key <= captures; ++key)
      RC_ASSERT(fast.earliest(key) == slow.earliest(key));
  }
}

// A time of 0 or before 1970 is a time, and earlier than none.
TEST(PayloadGroups, AnUnknownTimeIsLate) {
  PayloadGroups groups;
  groups.tie({.key = 1, .time_ms = 5}, {.key = 2, .time_ms = {}});
  EXPECT_EQ(groups.earliest(1), 1U);
  EXPECT_EQ(groups.earliest(2), 1U);
  groups.tie({.key = 3, .time_ms = -7}, {.key = 2, .time_ms = {}});
  EXPECT_EQ(groups.earliest(2), 3U);
  EXPECT_EQ(groups.earliest(9), 9U);
}

}  // namespace

}  // namespace doppel
