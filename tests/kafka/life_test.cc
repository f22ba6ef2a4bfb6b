// Other events in a daemon's life than judging: it reads settings again, makes dry runs, restores indexes
// from what remains, and has outputs that are slower than the input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "kafka/case.h"
#include "kafka/proxy.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Life, HangupReadsTheSettingsAgain) {
  Case c;
  const auto daemon = c.start();
  c.setup.set({{"log.level", "warn"}, {"kafka.batch_documents", "7"}});
  daemon->signal(SIGHUP);
  // The message comes before the level rises.
  const auto said = daemon->await_line("settings read again");
  ASSERT_TRUE(said) << daemon->said();
  EXPECT_THAT(*said, HasSubstr("kafka.batch_documents"));
  c.finish(*daemon);
  EXPECT_THAT(daemon->said(), Not(HasSubstr("INFO stopped")));
}

// An older version, for example, may have chosen others.
TEST(Life, AnIndexKeepsTheBandsThatItWasMadeWith) {
  Case c(IndexSetup::Settings{{"bands", "18"}, {"rows", "6"}});
  c.produce_next(300);
  const auto made = c.start();
  c.await_all(*made);
  Case::stop(*made);

  c.setup.set({{"bands", "0"}, {"rows", "0"}});
  const auto from_snapshot = c.start();
  EXPECT_THAT(from_snapshot->said(),
              HasSubstr("the index keeps the bands that it was made with bands=18 rows=6"));
  c.produce_next(100);
  c.await_all(*from_snapshot);
  Case::stop(*from_snapshot);

  c.setup.set({{"state.directory", c.setup.path("other")}});
  const auto from_log = c.start();
  EXPECT_THAT(from_log->said(), HasSubstr("bands=18 rows=6"));
  c.finish(*from_log);
}

TEST(Life, ADryRunLeavesNothing) {
  Case c;
  c.produce_next(300);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::string& log = c.setup.options().kafka.index_log;
  const size_t records = read_all(c.setup.bootstrap(), log).size();
  const size_t events = read_all(c.setup.bootstrap(), c.setup.options().output.topic).size();

  c.setup.set({{"dry_run", "true"}, {"state.directory", c.setup.path("dry")}});
  const auto dry = c.start();
  c.produce_next(100);
  // Its last message has the number of documents; before that nobody can know it.
  ASSERT_TRUE(dry->await_line("documents=100", Daemon::Seconds(30))) << dry->said();
  Case::stop(*dry);
  EXPECT_EQ(read_all(c.setup.bootstrap(), log).size(), records);
  EXPECT_EQ(read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(), events);

  // The next real run knows nothing of the dry run.
  c.setup.set({{"dry_run", "false"}, {"state.directory", c.setup.path("state")}});
  const auto again = c.start();
  c.finish(*again);
}

TEST(Life, ALostLogIsMadeFromTheState) {
  Case c(IndexSetup::Settings{{"tombstones", "key"}});
  c.produce_next(400);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::vector<Message> before = read_all(c.setup.bootstrap(), c.setup.options().output.topic);
  c.client.delete_topic(c.setup.options().kafka.index_log);
  const auto refused = c.setup.serve();
  EXPECT_EQ(refused->await_exit(), 3) << refused->said();
  EXPECT_THAT(refused->said(), HasSubstr("rebuild --from state"));

  c.setup.set({{"kafka.index_log", "~-index-2"}});
  const Ran made = c.setup.run("rebuild --from state");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto again = c.start();
  c.produce_next(c.messages.size());
  c.await_all(*again);
  Case::stop(*again);
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
  // Copies of documents from before the loss are found.
  EXPECT_GT(read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(), before.size());
}

// Nothing is committed behind a log that was deleted and made again under the daemon.
TEST(Life, ALogThatIsMadeAgainUnderTheDaemonStopsIt) {
  for (const bool started_twice : {false, true}) {
    Case c;
    c.produce_next(300);
    auto daemon = c.start();
    c.await_all(*daemon);
    if (started_twice) {
      Case::stop(*daemon);
      daemon = c.start();
    }
    const auto events = [&] { return read_all(c.setup.bootstrap(), c.setup.options().output.topic).size(); };
    const size_t before = events();
    const std::string log = c.setup.options().kafka.index_log;
    c.client.delete_topic(log);
    c.client.create_topic(log, 1, {{"cleanup.policy", "compact"}, {"max.message.bytes", "2000000"}});
    c.produce_next(100);
    EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr("created again. doppel rebuild --from state"));
    EXPECT_EQ(events(), before);
    const auto refused = c.setup.serve();
    EXPECT_EQ(refused->await_exit(), 3) << refused->said();
    EXPECT_THAT(refused->said(), HasSubstr("created again. doppel rebuild --from state"));

    c.setup.set({{"kafka.index_log", "~-index-2"}});
    const Ran made = c.setup.run("rebuild --from state");
    ASSERT_EQ(made.code, 0) << made.err;
    const auto again = c.start();
    c.finish(*again);
  }
}

TEST(Life, ALogWithoutItsHeadIsMadeFromTheState) {
  Case c;
  c.produce_next(300);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::string log = c.setup.options().kafka.index_log;
  c.client.set_topic_configs(log, {{"cleanup.policy", "delete"}});  // a compacted topic keeps its records
  c.client.delete_records(log, 0, 20);
  c.client.set_topic_configs(log, {{"cleanup.policy", "compact"}});
  // The state directory knows where the log has its epoch; without it, only the log is there.
  c.setup.set({{"state.directory", c.setup.path("new")}});
  const auto refused = c.setup.serve();
  EXPECT_EQ(refused->await_exit(), 3) << refused->said();
  EXPECT_THAT(refused->said(),
              AllOf(HasSubstr("begins at offset 20"), HasSubstr("doppel rebuild --from state")));
  c.setup.set({{"state.directory", c.setup.path("state")}, {"kafka.index_log", "~-index-2"}});
  const Ran made = c.setup.run("rebuild --from state");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto again = c.start();
  c.produce_next(200);
  c.await_all(*again);
  Case::stop(*again);
  EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
}

// The log forgets removals after delete.retention.ms, so a snapshot that is older must not be completed,
// unless nothing was written since.
TEST(Life, ASnapshotOlderThanTheLogsMarkersIsSetAsideWhereTheLogWentOn) {
  Case c(IndexSetup::Settings{{"tombstones", "key"}});
  c.client.create_topic(
      c.setup.options().kafka.index_log, 1,
      {{"cleanup.policy", "compact"}, {"max.message.bytes", "80000000"}, {"delete.retention.ms", "1"}});
  c.produce_next(200);
  auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::string state = c.setup.options().state_directory, older = c.setup.path("older");
  std::filesystem::copy(state, older, std::filesystem::copy_options::recursive);

  daemon = c.start();  // nothing was written since
  EXPECT_THAT(daemon->said(), Not(HasSubstr("set aside")));
  c.produce_next(100);
  c.await_all(*daemon);
  Case::stop(*daemon);

  c.setup.set({{"state.directory", older}});
  daemon = c.start();
  EXPECT_THAT(daemon->said(), HasSubstr("set aside"));
  c.finish(*daemon);
}

TEST(Life, RecordsDeletedUnreadStopARunningDaemon) {
  Case c;
  c.produce_next(200);
  const auto daemon = c.start();
  c.await_all(*daemon);
  daemon->signal(SIGSTOP);
  // The first may already be on its way; later ones are not.
  c.produce_next(200);
  c.produce_next(200);
  for (int partition = 0; partition < 3; ++partition) {
    int64_t end = 0;
    for (const Message& m : c.messages) {
      if (m.partition == partition) end = std::max(end, m.offset + 1);
    }
    c.client.delete_records(c.setup.input(), partition, end);
  }
  daemon->signal(SIGCONT);
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("on_data_loss"));
}

// 200 MB come in as fast as they can be read, and go out much slower, through bounded queues.
TEST(Life, ASlowOutputHoldsTheInputBack) {
  constexpr uint64_t kMemory = 400 << 20;
  Proxy proxy(Broker::shared().port());
  Case c({{"output.unique_topic", "~-unique"},
          {"kafka.properties.queued.max.messages.kbytes", "16384"},
          {"max_memory", std::to_string(kMemory)}});
  std::mt19937_64 random(1);
  std::vector<Message> large(200);
  for (Message& m : large) {
    m.value = R"({"text":")";
    while (m.value->size() < 1'000'000) *m.value += std::to_string(random()) + " ";
    *m.value += "\"}";
  }
  c.client.produce(c.setup.input(), large);
  c.setup.set({{"kafka.brokers", proxy.bootstrap()}});
  proxy.delay(Api::produce, std::chrono::milliseconds(20));
  const auto daemon = c.start();
  c.await_all(*daemon);
  const uint64_t peak = daemon->peak_bytes();
  Case::stop(*daemon);
  std::cout << "peak " << (peak >> 20) << " MiB\n";
  EXPECT_GT(peak, 0U);
  EXPECT_LT(peak, kMemory);
  EXPECT_EQ(read_all(c.setup.bootstrap(), c.setup.options().output.unique_topic).size(), large.size());
}

}  // namespace
}  // namespace doppel::testing
