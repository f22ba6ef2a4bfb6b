// Faults around the daemon: other daemons, long stops, connections that break at the worst moment.

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

// The broker aborts the transaction of a process that does not answer. The daemon sends its records once
// more, exactly once.
TEST(Faults, ADaemonThatWasStoppedForLongGoesOn) {
  Case c(IndexSetup::Settings{{"kafka.properties.transaction.timeout.ms", "1000"},
                              {"kafka.batch_documents", "10"}});
  c.produce_next(100);
  const auto daemon = c.start();
  c.await_all(*daemon);
  c.produce_next(200);  // it is probably in the middle of these
  daemon->signal(SIGSTOP);
  // The broker checks every second for transactions that take too long. No event tells when it has done so.
  EXPECT_FALSE(daemon->await_exit(Daemon::Seconds(3)));
  daemon->signal(SIGCONT);
  c.finish(*daemon);
}

// It was stopped, another one took over, and now it continues: it must not publish what it holds.
TEST(Faults, ADaemonThatWasStoppedAndReplacedEndsWith75) {
  Case c(IndexSetup::Settings{{"kafka.properties.transaction.timeout.ms", "2000"},
                              {"kafka.batch_documents", "10"}});
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

// If the answer to a commit is lost, the daemon finds out whether the commit happened.
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

// The leader of a topic that is new, or was not written to for a day, does not know the producer and accepts
// any sequence number. It refuses the first request for a moment (it does not lead yet), and takes the second
// for the first. The library then reports the first as acknowledged, although it is not stored.
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
              end);  // the transactions included them
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
