// doppel offsets: where an index continues to read, shown and changed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "kafka/case.h"
#include "kafka/transactions.h"
#include "simdjson.h"

namespace doppel::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Offset : public ::testing::Test {
 protected:
  void SetUp() override {
    c.produce_next(300);
    daemon = c.start();
    c.await_all(*daemon);
    place = c.setup.input() + "/0";
    end = ends_of(c.messages, 300).at({c.setup.input(), 0});
  }
  Ran offsets(const std::string& what) const { return c.setup.run("offsets " + what); }
  // Returns the number of events of each document.
  std::map<std::string, int> events() const {
    std::map<std::string, int> out;
    simdjson::dom::parser parser;
    for (const Message& m : read_all(c.setup.bootstrap(), c.setup.options().output.topic)) {
      ++out[m.header("ce_id")];
      std::string_view document, original;
      const simdjson::dom::element event = parser.parse(m.value.value());
      if (event["event_id"].get(document) == simdjson::SUCCESS &&
          event["cluster_id"].get(original) == simdjson::SUCCESS) {
        EXPECT_NE(document, original) << "a document is no copy of itself";
      }
    }
    return out;
  }

  Case c;
  std::unique_ptr<Daemon> daemon;
  std::string place;
  int64_t end = 0;
};

TEST_F(Offset, AreMovedBackWhileTheDaemonRuns) {
  const std::map<std::string, int> before = events();
  const Ran shown = offsets("show");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr(place));
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("{}", end)));
  const Ran beyond = offsets("set " + place + "=1000000 --yes");
  EXPECT_EQ(beyond.code, 2) << beyond.out;
  EXPECT_THAT(beyond.err, HasSubstr(fmt::format("has the offsets 0 to {} (its end), not 1000000", end)));
  const Ran unknown = offsets("forget no-such-topic --yes");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_THAT(unknown.err, HasSubstr("has not read a topic no-such-topic"));

  const Ran asked = offsets("set " + place + "=beginning");
  EXPECT_EQ(asked.code, 2) << asked.out;
  EXPECT_THAT(asked.out, HasSubstr(fmt::format("{} -> 0 ({} records are judged again)", end, end)));
  EXPECT_THAT(asked.err, HasSubstr("--yes"));
  const Ran moved = offsets("set " + place + "=beginning --yes");
  ASSERT_EQ(moved.code, 0) << moved.out << moved.err << daemon->said();
  c.produce_next(60);
  c.await_all(*daemon);
  Case::stop(*daemon);
  size_t again = 0;
  for (const auto& [id, count] : events()) {
    EXPECT_LE(count, id.starts_with(place + "/") ? 2 : 1) << id;
    if (before.contains(id) && count == 2) ++again;
  }
  EXPECT_GT(again, 10U);
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
}

TEST_F(Offset, AreMovedForwardForTheNextStart) {
  Case::stop(*daemon);
  const size_t before = events().size();
  c.produce_next(120);
  const Ran moved = offsets(fmt::format("set {0}/0=end {0}/1=end {0}/2=end --yes", c.setup.input()));
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("one that starts in time carries it out: the request is kept until"));
  daemon = c.start();
  EXPECT_THAT(daemon->said(), HasSubstr("records are skipped"));
  c.await_all(*daemon);
  EXPECT_EQ(events().size(), before);
  Case::stop(*daemon);
}

// A request that nobody answered is shown, and is not carried out by a start of another day.
TEST_F(Offset, ARequestExpires) {
  Case::stop(*daemon);
  const auto before = events();
  const Ran kept = offsets("set " + place + "=beginning --yes");
  ASSERT_EQ(kept.code, 0) << kept.err;
  const Ran soon = offsets("set " + place + "=end --expires 1ms --yes");
  ASSERT_EQ(soon.code, 0) << soon.err;
  const Ran shown = offsets("show");
  EXPECT_THAT(shown.out, HasSubstr("doppel offsets set " + place + "=beginning"));
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("doppel offsets set {}=end@{}", place, end)));
  const Ran listed = c.setup.run("requests show");
  EXPECT_THAT(listed.out, HasSubstr("expired    doppel offsets set " + place + "=end@"));
  const size_t first = listed.out.find('\n') + 1;
  const std::string name = listed.out.substr(first, listed.out.find(' ', first) - first);
  const Ran cancelled = c.setup.run("requests cancel " + name);
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  daemon = c.start();
  EXPECT_THAT(daemon->said(), HasSubstr("the request has expired"));
  c.produce_next(60);
  c.await_all(*daemon);
  Case::stop(*daemon);
  for (const auto& [id, count] : events()) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(c.setup.run("requests show").out, "there are no requests\n");
}

// Readers see nothing behind its first record, and nothing else tells why.
TEST_F(Offset, AnOpenTransactionIsSaid) {
  Transactions open(c.setup.bootstrap(), unique_name("open"), {{"transaction.timeout.ms", "600000"}});
  Message message = c.messages[300];
  open.begin();
  open.produce(c.setup.input(), message);
  const auto said = AnyOf(HasSubstr(fmt::format("at {}/0 offset ", c.setup.input())),
                          HasSubstr(fmt::format("at {}/1 offset ", c.setup.input())),
                          HasSubstr(fmt::format("at {}/2 offset ", c.setup.input())));
  Ran shown = offsets("show");
  for (int i = 0;
       i < 100 && shown.out.find("a transaction of a producer is open since 20") == std::string::npos; ++i)
    shown = offsets("show");  // its producer sends in the background
  EXPECT_THAT(shown.out, HasSubstr("a transaction of a producer is open since 20"));
  EXPECT_THAT(shown.out, said);
  EXPECT_TRUE(daemon->await_line("a transaction of a producer is open since 20")) << daemon->said();
  EXPECT_THAT(daemon->said(), said);
  open.abort();
  EXPECT_THAT(offsets("show").out, Not(HasSubstr("a transaction of a producer")));
  c.finish(*daemon);
}

// All of it would be judged again.
TEST_F(Offset, OfATopicThatIsReadAreNotForgotten) {
  const Ran forgotten = offsets("forget " + c.setup.input() + " --yes");
  EXPECT_EQ(forgotten.code, 2) << forgotten.out;
  EXPECT_THAT(forgotten.err, HasSubstr("is read (kafka.topics)"));
  c.finish(*daemon);
}

// All of the input is read again once it is configured again, and an original is recognised by its place.
TEST_F(Offset, AreForgotten) {
  const std::map<std::string, int> before = events();
  Case::stop(*daemon);
  c.setup.set({{"kafka.topics", "[~other]"}});
  daemon = c.start();
  const Ran forgotten = offsets("forget " + c.setup.input() + " --yes");
  ASSERT_EQ(forgotten.code, 0) << forgotten.out << forgotten.err << daemon->said();
  Case::stop(*daemon);
  c.setup.set({{"kafka.topics", "[" + c.setup.input() + "]"}});
  daemon = c.start();
  c.produce_next(60);
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::map<std::string, int> now = events();
  for (const auto& [id, count] : before) EXPECT_EQ(now.at(id), 2 * count) << id;
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
}

}  // namespace
}  // namespace doppel::testing
