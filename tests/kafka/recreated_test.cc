// An input topic is deleted and created again: it is another topic, whose records have offsets that were
// already read.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "kafka/case.h"
#include "kafka/transactions.h"
#include "state/state_dir.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

// Reads 300 documents, creates the topic again, and produces others to it.
class Recreated : public ::testing::Test {
 protected:
  void read() {
    c.produce_next(300);
    daemon = c.start();
    c.await_all(*daemon);
  }
  void refill(size_t documents) {
    c.client.create_topic(c.setup.input(), 3);
    produce_others(documents);
  }
  void produce_others(size_t count) {
    produce(c.client, others, produced, produced + count);
    produced += count;
  }

  // Waits until everything in the new topic is read.
  void await_others() {
    const std::string second = c.setup.input() + "@2";
    Offsets ends;
    for (const auto& [place, end] : ends_of(others, produced)) ends[{second, place.second}] = end;
    LogFollower log(c.setup.bootstrap(), c.setup.options().kafka.index_log);
    ASSERT_TRUE(log.await(ends, std::chrono::seconds(60), [&] {
      return daemon->await_exit(Daemon::Seconds(0)).has_value();
    })) << daemon->said();
  }
  // Checks that nothing was taken for a record of the first topic.
  void expect_exact() {
    Case::stop(*daemon);
    const std::string first = c.setup.input(), second = first + "@2";
    const auto read = [&](const std::string& topic) {
      if (topic == first)
        return std::vector<Message>(c.messages.begin(),
                                    c.messages.begin() + static_cast<std::ptrdiff_t>(c.produced));
      std::vector<Message> messages = read_all(c.setup.bootstrap(), topic == second ? first : topic);
      if (topic != second) return messages;
      for (Message& m : messages) m.topic = second;
      return messages;
    };
    const Verification result =
        verify_topics(read, c.setup.options(), *parse_hash_key(kHashKey), {first, second});
    EXPECT_TRUE(result.findings.empty()) << result.text() << "\n" << daemon->said();
    EXPECT_GE(result.documents, read_of_first + produced);
    EXPECT_LE(result.documents, c.produced + produced);
    EXPECT_EQ(c.setup.compare_with_rebuilt(), "");
  }

  Case c{{{"kafka.properties.topic.metadata.refresh.interval.ms", "200"}}};
  std::unique_ptr<Daemon> daemon;
  std::vector<Message> others = make_workload(
      {.seed = 5, .documents = 1000, .topics = c.setup.inputs(), .first_ms = 1'700'100'000'000});
  size_t read_of_first = 300, produced = 0;
};

TEST_F(Recreated, AtOnceWithMoreThanWasReadIsReadFromItsBeginning) {
  read();
  c.client.delete_topic(c.setup.input());
  refill(900);
  await_others();
  EXPECT_THAT(daemon->said(), HasSubstr("an input topic was deleted and created again"));
  Case::stop(*daemon);
  daemon = c.start();  // it knows which topic it read
  produce_others(100);
  await_others();
  expect_exact();
}

TEST_F(Recreated, AtOnceWithLessThanWasReadIsReadFromItsBeginning) {
  read();
  c.client.delete_topic(c.setup.input());
  refill(60);
  await_others();
  expect_exact();
}

// The partition that was read last may be gone.
TEST_F(Recreated, WithFewerPartitionsIsReadFromItsBeginning) {
  read();
  c.client.delete_topic(c.setup.input());
  for (Message& m : others) m.partition = 0;
  c.client.create_topic(c.setup.input(), 1);
  produce_others(400);
  await_others();
  expect_exact();
}

TEST_F(Recreated, AfterItsAbsenceWasNoticedIsReadFromItsBeginning) {
  read();
  c.client.delete_topic(c.setup.input());
  EXPECT_TRUE(daemon->await_line("an input topic has disappeared")) << daemon->said();
  refill(900);
  await_others();
  expect_exact();
}

TEST_F(Recreated, WhileTheDaemonWasStoppedIsReadFromItsBeginning) {
  read();
  Case::stop(*daemon);
  c.client.delete_topic(c.setup.input());
  refill(400);
  daemon = c.start();
  await_others();
  expect_exact();
}

// A record answers the daemon's open request while the daemon stands still. So its next request is the first
// one that the new topic answers: no answer says that the old topic is gone.
TEST_F(Recreated, WhileTheDaemonStoodStillIsReadFromItsBeginning) {
  read();
  c.produce_next(3);
  c.await_all(*daemon);
  daemon->signal(SIGSTOP);
  c.produce_next(1);
  c.client.delete_topic(c.setup.input());
  refill(900);
  daemon->signal(SIGCONT);
  await_others();
  read_of_first = 303;  // the last records may be deleted unread
  expect_exact();
}

// A transaction in the new topic ends at the offset of the record that was read last from the old one.
TEST_F(Recreated, WithAMarkerAtTheLastPlaceIsReadFromItsBeginning) {
  for (Message& m : c.messages) m.partition = 0;
  for (Message& m : others) m.partition = 0;
  read();
  daemon->signal(SIGSTOP);
  c.client.delete_topic(c.setup.input());
  c.client.create_topic(c.setup.input(), 3);
  Transactions producer(c.setup.bootstrap(), unique_name("producer"));
  const auto next = [&](size_t count) {
    producer.begin();
    for (const size_t end = produced + count; produced < end; ++produced) {
      others[produced].topic = c.setup.input();
      others[produced].offset = static_cast<int64_t>(produced) + (produced < 299 ? 0 : 1);
      producer.produce(c.setup.input(), others[produced]);
    }
    EXPECT_EQ(producer.commit(), "");
  };
  next(299);
  next(101);
  daemon->signal(SIGCONT);
  await_others();
  Case::stop(*daemon);
  daemon = c.start();
  produce_others(100);
  await_others();
  expect_exact();
}

// A reload by event time: other documents with the times of the first ones, while the daemon is stopped.
TEST_F(Recreated, WithTheSameTimesIsReadFromItsBeginning) {
  read();
  Case::stop(*daemon);
  c.client.delete_topic(c.setup.input());
  for (size_t i = 0; i < c.messages.size(); ++i) {
    others[i].timestamp_ms = c.messages[i].timestamp_ms;
    others[i].partition = c.messages[i].partition;
  }
  refill(600);
  daemon = c.start();
  await_others();
  expect_exact();
}

TEST_F(Recreated, StopsTheDaemonWhereItIsConfiguredSo) {
  c.setup.set({{"kafka.on_recreated", "stop"}});
  read();
  const std::string& events = c.setup.options().output.topic;
  const size_t before = read_all(c.setup.bootstrap(), events).size();
  c.client.delete_topic(c.setup.input());
  refill(900);
  EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("set kafka.on_recreated: read"));
  EXPECT_EQ(read_all(c.setup.bootstrap(), events).size(), before);
  c.setup.set({{"kafka.on_recreated", "read"}});  // as the message says
  daemon = c.start();
  await_others();
  expect_exact();
}

}  // namespace
}  // namespace doppel::testing
