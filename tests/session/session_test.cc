// A session keeps what it committed, finds documents by their names, and refuses what it must not change.
#include "session/session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/metadata.h"
#include "session/same_document.h"
#include "session/stages.h"
#include "state/file.h"
#include "state/index_log.h"
#include "state/journal.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  SessionOptions options(const std::string& name = "index") {
    SessionOptions out{.state = {.directory = folder_ / name}};
    out.engine.rule = make_rule(.8, .995, 128, 0, 0).value();
    out.engine.track_ids = true;
    return out;
  }

  // Judges one document and commits it. `tagged`: as a program inserts it, else as a file has it.
  static Outcome insert(Session& session, const std::string& name, const std::string& text,
                        bool tagged = true) {
    Stages stages(session.engine(), 1);
    Signer signer = session.engine().make_signer();
    Work work;
    stages.sign(work, 1, [&](int, size_t, SignedDocument& out, uint8_t* slices) {
      out.action = SignedDocument::Action::judge;
      out.id_tag = tagged ? session.tag(name) : 0;
      Metadata metadata{.source = tagged ? kProgramSource : "in.jsonl", .offset = session.documents()};
      (tagged ? metadata.key.emplace() : metadata.id) = name;
      encode_metadata(metadata, out.metadata);
      signer.sign(text, {}, out, slices);
    });
    MatchCounters counters;
    EXPECT_TRUE(stages.match(work, counters).ok());
    EXPECT_TRUE(stages.resolve(session.engine(), work).ok());
    EXPECT_TRUE(session.commit(work.resolved, 1).ok());
    return work.resolved.outcomes.front();
  }

  CommitRecord last_record(const std::string& name) {
    return read_journal(File::open(folder_ / name + "/journal", O_RDONLY).value())
        .value()
        .entries.back()
        .record;
  }

  TemporaryDirectory folder_;
};

TEST_F(SessionTest, ContinuesWhereItWas) {
  {
    const auto session = Session::open(options()).value();
    EXPECT_TRUE(session->recovered().fresh);
    EXPECT_EQ(insert(*session, "a", "one two three four five six").verdict, Verdict::unique);
    EXPECT_EQ(insert(*session, "b", "one two three four five six").verdict, Verdict::duplicate);
    EXPECT_EQ(session->documents(), 2u);
    EXPECT_EQ(session->own(), 1u);
    EXPECT_TRUE(session->commit({.lowest_live = 0}, 3, "here", "there").ok());
    EXPECT_TRUE(session->commit({.lowest_live = 0}, 0).ok());  // positions stay as they are
  }
  const auto session = Session::open(options()).value();
  EXPECT_FALSE(session->recovered().fresh);
  EXPECT_EQ(session->documents(), 5u);
  EXPECT_EQ(session->recovered().documents, 5u);
  EXPECT_EQ(session->recovered().source_position, "here");
  EXPECT_EQ(session->recovered().sink_position, "there");
  EXPECT_EQ(insert(*session, "c", "one two three four five six").verdict, Verdict::duplicate);
  EXPECT_EQ(last_record("index").sink_position, "there");  // as before this start
  EXPECT_TRUE(session->commit_outputs("elsewhere").ok());
  EXPECT_TRUE(session->checkpoint().ok());
  EXPECT_EQ(session->state()->checkpoint_stats().made, 1u);
}

TEST_F(SessionTest, WithoutADirectoryItOnlyCounts) {
  SessionOptions in_memory = options();
  in_memory.state.directory.clear();
  in_memory.temporary_directory = std::nullopt;
  const auto session = Session::open(in_memory).value();
  EXPECT_EQ(session->state(), nullptr);
  const uint64_t before = session->memory_bytes();
  EXPECT_EQ(insert(*session, "a", "one two three four five six").verdict, Verdict::unique);
  EXPECT_EQ(session->documents(), 1u);
  EXPECT_GT(session->memory_bytes(), before);
  const auto of_index = [](Session& any) { return any.engine().originals().stats().memory_bytes(); };
  EXPECT_EQ(session->memory_bytes(), of_index(*session) + session->own_bodies().bytes());
  EXPECT_TRUE(session->checkpoint().ok());

  in_memory.temporary_directory = folder_.path();
  const auto in_a_file = Session::open(in_memory).value();
  EXPECT_EQ(insert(*in_a_file, "a", "one two three four five six").verdict, Verdict::unique);
  EXPECT_GT(in_a_file->own_bodies().bytes(), 0u);
  EXPECT_EQ(in_a_file->memory_bytes(), of_index(*in_a_file));
}

TEST_F(SessionTest, FindsDocumentsByTheirNamesWhoeverInsertedThem) {
  {
    const auto session = Session::open(options()).value();
    insert(*session, "of a file", "a text that somebody wrote into a file", false);
    insert(*session, "of a program", "another text which came from a program");
    insert(*session, "of a file", "the third text has the name of the first", false);
  }
  const auto session = Session::open(options()).value();
  EXPECT_THAT(session->find("of a file").value(), ElementsAre(0, 2));
  EXPECT_THAT(session->find("of a program").value(), ElementsAre(1));
  EXPECT_THAT(session->find("of nobody").value(), ElementsAre());
  EXPECT_EQ(session->name(0).value(), "of a file");
  EXPECT_EQ(session->name(1).value(), "of a program");
  insert(*session, "of nobody", "a fourth text with still other words in it");
  EXPECT_THAT(session->find("of nobody").value(), ElementsAre(3));
  // A removed original is found no more.
  Work work;
  Stages stages(session->engine(), 1);
  stages.sign(work, 0, {});
  work.forget = {2};
  ASSERT_TRUE(stages.resolve(session->engine(), work).ok());
  ASSERT_TRUE(session->commit(work.resolved, 0).ok());
  EXPECT_THAT(session->find("of a file").value(), ElementsAre(0));
}

TEST_F(SessionTest, ComparesWithOtherIndexesAndNumbersItsOwnFromZero) {
  {
    const auto other = Session::open(options("other")).value();
    insert(*other, "a", "one two three four five six");
  }
  SessionOptions with = options();
  with.against = {folder_ / "other"};
  {
    const auto session = Session::open(with).value();
    EXPECT_EQ(session->from_others(), 1u);
    EXPECT_EQ(session->own(), 0u);
    const Outcome copy = insert(*session, "b", "one two three four five six");
    EXPECT_EQ(copy.verdict, Verdict::duplicate);
    EXPECT_EQ(copy.seq, 0u);
    EXPECT_EQ(insert(*session, "c", "quite another text that is new here").seq, 1u);
    EXPECT_EQ(session->own(), 1u);
    EXPECT_THAT(session->find("a").value(), ElementsAre());  // that one is not its own
  }
  const auto session = Session::open(with).value();
  EXPECT_EQ(session->recovered().next_seq, 1u);
  const auto kept = [&](Seq from) {
    EXPECT_TRUE(session->commit({.lowest_live = 2}, 0, std::nullopt, std::nullopt, from).ok());
    return last_record("index").keep_from;
  };
  EXPECT_EQ(kept(0), 0u);  // one of the other index
  EXPECT_EQ(kept(1), 0u);
  EXPECT_EQ(kept(2), 1u);
}

TEST_F(SessionTest, KeepsTheBandsOfItsIndex) {
  SessionOptions first = options();
  first.engine.rule.banding = {.bands = 18, .rows = 6};
  {
    const auto session = Session::open(first).value();
    insert(*session, "a", "one two three four five six");
  }
  const auto session = Session::open(options()).value();
  EXPECT_EQ(session->engine().options().rule.banding, (Banding{18, 6}));
}

TEST_F(SessionTest, KeepsHowManyOriginalsItsMemoryWasFor) {
  for (const uint64_t now : {uint64_t{70}, uint64_t{50}}) {
    SessionOptions limited = options();
    set_room(limited.engine.rule, 1'000'000, now, 0);
    const auto session = Session::open(limited).value();
    EXPECT_EQ(session->engine().options().rule.max_documents, 70u);
    insert(*session, std::to_string(now), "one two three four five six");
  }
}

TEST_F(SessionTest, OpensNothingThatItsCallerOrKafkaForbids) {
  SessionOptions refused = options();
  refused.check = [](const Recovered&) { return absl::FailedPreconditionError("no"); };
  EXPECT_EQ(Session::open(refused).status().message(), "no");

  {
    const auto session = Session::open(options()).value();
    const std::string position = kafka::encode_position({.cluster = "c", .index_log = "log"});
    ASSERT_TRUE(session->commit({.lowest_live = 0}, 0, position).ok());
  }
  const absl::Status status = Session::open(options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the snapshot of an index on Kafka"));
}

TEST_F(SessionTest, KeepsRowsThatAreNotAnnouncedYet) {
  SessionOptions few = options();
  few.engine.rule.max_documents = 1;
  few.state.checkpoint_documents = 1;
  {
    const auto session = Session::open(few).value();
    Stages stages(session->engine(), 1);
    for (const char* text : {"one two three four five six", "seven eight nine ten eleven twelve"}) {
      Signer signer = session->engine().make_signer();
      Work work;
      stages.sign(work, 1, [&](int, size_t, SignedDocument& out, uint8_t* slices) {
        encode_metadata({.source = "in", .offset = session->documents()}, out.metadata);
        signer.sign(text, {}, out, slices);
      });
      MatchCounters counters;
      ASSERT_TRUE(stages.match(work, counters).ok());
      ASSERT_TRUE(stages.resolve(session->engine(), work).ok());
      ASSERT_TRUE(session->commit(work.resolved, 1, std::nullopt, std::nullopt, Seq{0}).ok());
    }
    ASSERT_TRUE(session->checkpoint().ok());
  }
  EXPECT_EQ(last_record("index").lowest_live, 1u);
  EXPECT_EQ(last_record("index").keep_from, 0u);
  // The lengths of outputs change nothing else.
  const auto session = Session::open(few).value();
  ASSERT_TRUE(session->commit_outputs("longer").ok());
  EXPECT_EQ(last_record("index").sink_position, "longer");
  EXPECT_EQ(last_record("index").lowest_live, 1u);
}

}  // namespace
}  // namespace doppel
