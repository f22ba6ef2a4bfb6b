// Faults that may pass: the daemon waits and says so if topics come late, are hidden, or have no broker. The
// progress counts whenever a topic appears.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "kafka/case.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

TEST(LateTopics, AnInputThatIsMissingAtTheStartIsReadFromItsBeginning) {
  for (const char* start : {"earliest", "latest"}) {
    Case c(IndexSetup::Settings{{"kafka.start", start}});
    c.client.delete_topic(c.setup.input());
    const auto daemon = c.setup.serve();
    EXPECT_TRUE(daemon->await_line("an input topic does not exist")) << daemon->said();
    EXPECT_TRUE(daemon->await_line("ready")) << daemon->said();
    c.client.create_topic(c.setup.input(), 3);
    c.finish(*daemon);
  }
}

TEST(LateTopics, OutputsThatNobodyMayMakeAreWaitedFor) {
  Case c(IndexSetup::Settings{{"kafka.create_topics", "false"}});
  c.produce_next(200);
  const Options& o = c.setup.options();
  const auto daemon = c.setup.serve();
  const auto await = [&](const std::string& topic) {
    EXPECT_TRUE(daemon->await_line("the topic " + topic)) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr("kafka-topics.sh --bootstrap-server " + o.kafka.brokers +
                                          " --create --topic " + topic));
  };
  await(o.kafka.index_log);
  c.client.create_topic(o.kafka.index_log, 1,
                        {{"cleanup.policy", "compact"}, {"max.message.bytes", "80000000"}});
  await(o.output.topic);
  c.client.create_topic(o.output.topic, 2);
  await(o.output.dead_letters);
  c.client.create_topic(o.output.dead_letters, 2);
  EXPECT_TRUE(daemon->await_line("ready")) << daemon->said();
  const std::string said = daemon->said(), warning = "drops removals too early";
  EXPECT_EQ(said.find(warning), said.rfind(warning)) << said;  // once, however long it waits
  c.finish(*daemon);
}

TEST(LateTopics, OneThatWasDeletedAndMadeAgainAfterTheStartIsRefused) {
  for (const size_t documents : {20U, 600U}) {  // fewer than were read, and more
    Case c(IndexSetup::Settings{{"kafka.on_recreated", "stop"}});
    c.produce_next(300);
    const auto first = c.start();
    c.await_all(*first);
    Case::stop(*first);
    const std::string& events = c.setup.options().output.topic;
    const size_t before = read_all(c.setup.bootstrap(), events).size();
    c.client.delete_topic(c.setup.input());
    const auto daemon = c.start();
    EXPECT_THAT(daemon->said(), HasSubstr("an input topic does not exist"));
    c.client.create_topic(c.setup.input(), 3);
    std::vector<Message> others = make_workload(
        {.seed = 5, .documents = documents, .topics = c.setup.inputs(), .first_ms = 1'600'000'000'000});
    produce(c.client, others, 0, others.size());
    EXPECT_EQ(daemon->await_exit(), 3) << daemon->said();
    EXPECT_THAT(daemon->said(), HasSubstr("created again"));
    EXPECT_EQ(read_all(c.setup.bootstrap(), events).size(), before);
  }
}

TEST(LateTopics, OneThatWasHiddenGoesOnWhereItWas) {
  const auto broker = Broker::own(1, true);
  Case c({}, broker->bootstrap());
  c.setup.set({{"kafka.brokers", "127.0.0.1:" + std::to_string(broker->port(1, 2))},
               {"kafka.properties",
                "{security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: doppel, "
                "sasl.password: doppel-secret, ssl.ca.location: '" +
                    broker->folder() + "/tls/ca.pem'}"}});
  c.produce_next(300);
  const auto first = c.start();
  c.await_all(*first);
  Case::stop(*first);
  c.client.hide_topic(c.setup.input(), "doppel");
  const auto daemon = c.start();
  EXPECT_THAT(daemon->said(), HasSubstr("an input topic does not exist or is not accessible"));
  c.client.show_topic(c.setup.input(), "doppel");
  EXPECT_TRUE(daemon->await_line("a new partition")) << daemon->said();
  c.produce_next(c.messages.size());
  c.await_all(*daemon);
  Case::stop(*daemon);
  c.setup.set({{"kafka.brokers", broker->bootstrap()}, {"kafka.properties", "{}"}});
  c.expect_exact();
}

// For a while, a broker that was away answers that it leads nothing, or that it does not know the partition.
TEST(LateTopics, StartsWaitForABrokerThatWasPaused) {
  const auto broker = Broker::own();
  std::vector<std::unique_ptr<Case>> cases;
  for (int i = 0; i < 6; ++i) {  // two wait while it is paused, four start afterwards
    cases.push_back(
        std::make_unique<Case>(IndexSetup::Settings{{"kafka.partitions", "1"}}, broker->bootstrap(), 60));
    cases.back()->produce_next(30);
    if (i % 2 == 0) continue;
    const auto before = cases.back()->start();  // every other one has an index already
    cases.back()->await_all(*before);
    Case::stop(*before);
  }
  ::kill(broker->pid(), SIGSTOP);
  std::vector<std::unique_ptr<Daemon>> daemons;
  daemons.push_back(cases[0]->setup.serve());
  daemons.push_back(cases[1]->setup.serve());
  EXPECT_FALSE(daemons[0]->await_exit(Daemon::Seconds(10))) << daemons[0]->said();
  ::kill(broker->pid(), SIGCONT);
  while (daemons.size() < cases.size()) daemons.push_back(cases[daemons.size()]->setup.serve());
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(daemons[i]->await_line("ready", Daemon::Seconds(90))) << i << ": " << daemons[i]->said();
    cases[i]->finish(*daemons[i]);
  }
}

// A broker that has lost its session, such as after a pause, answers that it knows no broker.
TEST(LateTopics, AClientAsksABrokerWithoutSessionAgain) {
  const auto broker = Broker::own();
  std::ofstream(broker->folder() + "/node-1/server.properties", std::ios::app)
      << "broker.session.timeout.ms=1000\nbroker.heartbeat.interval.ms=4000\n";  // none for most of the time
  broker->restart();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  std::vector<std::thread> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back([&broker, deadline] {
      const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = broker->bootstrap()});
      absl::StatusOr<std::string> id = cluster->id();
      while (absl::IsUnavailable(id.status()) && std::chrono::steady_clock::now() < deadline)
        id = cluster->id();
      EXPECT_TRUE(id.ok()) << id.status();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // with and without session
  }
  for (std::thread& client : clients) client.join();

  // A client that knows it is told that all brokers are fenced.
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = broker->bootstrap()});
  bool told = false, made = false;
  while (!(told && made) && std::chrono::steady_clock::now() < deadline) {
    const absl::Status status = cluster->create_topic({.name = unique_name("made"), .replication = 1});
    ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    made = made || status.ok();
    told = told || status.message().find("fenced") != absl::string_view::npos;
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(made);
}

TEST(LateTopics, StartsWaitForABrokerThatIsRestarted) {
  const auto broker = Broker::own();
  Case c({}, broker->bootstrap());
  c.produce_next(200);
  const auto before = c.start();
  c.await_all(*before);
  broker->stop();
  const auto starting = c.setup.serve();  // refused: its directory is in use
  EXPECT_EQ(starting->await_exit(), 3) << starting->said();
  before->kill();
  before->await_exit();
  const auto daemon = c.setup.serve();
  EXPECT_TRUE(daemon->await_line("waiting for Kafka")) << daemon->said();
  broker->restart();
  EXPECT_TRUE(daemon->await_line("ready")) << daemon->said();
  c.produce_next(200);
  broker->restart();
  c.finish(*daemon);
}

}  // namespace
}  // namespace doppel::testing
