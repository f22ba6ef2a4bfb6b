// What goes wrong around the daemon: other daemons, long stops, connections that break in the worst moment.

#include <gtest/gtest.h>

#include <csignal>

#include "kafka/case.h"
#include "kafka/proxy.h"

namespace doppel::testing {
namespace {

TEST(Faults, TheOlderOfTwoDaemonsOnOneLogEndsWith75) {
  Case c;
  c.produce_next(200);
  const auto older = c.start();
  c.await_all(*older);
  c.setup.set({{"state.directory", c.setup.path("other-state")}});
  const auto younger = c.start();
  c.produce_next(200);
  EXPECT_EQ(older->await_exit(), 75) << older->said();
  c.finish(*younger);
}

TEST(Faults, ASecondDaemonOnOneStateDirectoryIsRefused) {
  Case c;
  c.produce_next(200);
  const auto first = c.start();
  const auto second = c.setup.serve();
  const auto code = second->await_exit();
  EXPECT_TRUE(code.has_value() && code != 0 && code != 75) << second->said();
  c.finish(*first);
}

// The broker aborts the transaction of a process that does not answer; what it would have committed is sent
// again, once.
TEST(Faults, ADaemonThatWasStoppedForLongGoesOn) {
  Case c(IndexSetup::Settings{{"kafka.transaction_timeout", "1s"}, {"kafka.batch_documents", "10"}});
  c.produce_next(100);
  const auto daemon = c.start();
  c.await_all(*daemon);
  c.produce_next(200);  // it is in the middle of these, most probably
  daemon->signal(SIGSTOP);
  // The broker looks each second for transactions that take too long. Nobody else can tell when that has
  // happened.
  EXPECT_FALSE(daemon->await_exit(Daemon::Seconds(3)));
  daemon->signal(SIGCONT);
  c.finish(*daemon);
}

// It was stopped, another took over, and now it wants to go on: what it holds must not be published.
TEST(Faults, ADaemonThatWasStoppedAndReplacedEndsWith75) {
  Case c(IndexSetup::Settings{{"kafka.transaction_timeout", "2s"}, {"kafka.batch_documents", "10"}});
  c.produce_next(100);
  const auto older = c.start();
  c.await_all(*older);
  c.produce_next(200);
  older->signal(SIGSTOP);
  c.setup.set({{"state.directory", c.setup.path("other-state")}});
  const auto younger = c.start();
  c.await_all(*younger);
  older->signal(SIGCONT);
  c.produce_next(100);
  EXPECT_EQ(older->await_exit(), 75) << older->said();
  c.finish(*younger);
}

// Whether a commit has happened is not known when its answer is lost; it is found out, whatever it is.
TEST(Faults, AnUnknownCommitIsFoundOut) {
  for (const bool after : {false, true}) {
    for (const bool long_outage : {false, true}) {
      Proxy proxy(Broker::shared().port());
      Case c({{"kafka.brokers", proxy.bootstrap()},
              {"kafka.batch_documents", "20"},
              {"kafka.commit_deadline", "1s"}});
      c.produce_next(100);
      const auto daemon = c.start();
      c.await_all(*daemon);
      proxy.stay_down_after_cut(long_outage);
      if (after) {
        proxy.cut_after(Api::end_txn);
      } else {
        proxy.cut_before(Api::end_txn);
      }
      c.produce_next(200);
      ASSERT_TRUE(proxy.await());
      if (long_outage) {
        EXPECT_TRUE(daemon->await_line("asking the broker what is committed", Daemon::Seconds(60)))
            << daemon->said();
        proxy.set_down(false);
      }
      c.finish(*daemon);
    }
  }
}

// A topic that is new, or has not been written for a day: its leader knows nothing of the producer, and takes
// whatever comes. Refused for a moment (it does not lead yet), it takes the second request for the first; the
// library then holds the first for acknowledged, though it is nowhere.
TEST(Faults, AnEventIsNotLostWhereTheFirstRequestIsRefusedAndTheSecondTaken) {
  Proxy proxy(Broker::shared().port());
  Case c({{"kafka.brokers", proxy.bootstrap()},
          {"kafka.partitions", "1"},
          {"output.verdicts", "all"},  // many events in the first batch, which is small
          {"kafka.properties", "{batch.num.messages: 3}"}});
  proxy.refuse_produce(c.setup.options().output.topic);
  c.produce_next(300);
  const auto daemon = c.start();
  ASSERT_TRUE(proxy.await());
  EXPECT_TRUE(daemon->await_line("acknowledged without an offset")) << daemon->said();
  c.finish(*daemon);
}

TEST(Faults, OffsetsOfTheGroupThatWereResetAreReportedAndIgnored) {
  Case c;
  c.produce_next(300);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  const std::string& group = c.setup.options().kafka.group;
  const Offsets ends = ends_of(c.messages, c.produced);
  for (const auto& [place, end] : ends) {
    EXPECT_EQ(c.client.group_offset(group, place.first, place.second),
              end);  // they went with the transactions
    c.client.set_group_offset(group, place.first, place.second, 0);
  }
  const auto again = c.setup.serve();
  EXPECT_TRUE(again->await_line("the group's offset differs from the index log")) << again->said();
  c.finish(*again);
}

TEST(Faults, SigtermWhileTheBrokerIsAwayEndsInTime) {
  Proxy proxy(Broker::shared().port());
  Case c({{"kafka.brokers", proxy.bootstrap()}, {"shutdown_timeout", "3s"}});
  c.produce_next(300);
  const auto daemon = c.start();
  c.await_all(*daemon);
  proxy.set_down(true);
  c.produce_next(100);
  daemon->terminate();
  EXPECT_TRUE(daemon->await_exit(Daemon::Seconds(20))) << daemon->said();
  proxy.set_down(false);
  const auto again = c.start();
  c.finish(*again);
}

}  // namespace
}  // namespace doppel::testing
