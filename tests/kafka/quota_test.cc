// A quota of the brokers (producer_byte_rate): batches become so small that their transactions end in time,
// log and metrics report it, and a stop is clean.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "http/raw_client.h"
#include "kafka/case.h"
#include "state/index_log.h"

namespace doppel::testing {
namespace {

const std::string kSaid = "a broker quota throttles doppel";

double throttled_s(Daemon& daemon) {
  const std::string said = daemon.said(), name = "\ndoppel_transaction_throttled_seconds_total ";
  const size_t at = said.rfind("url=http://127.0.0.1:");
  if (at == std::string::npos) return -1;
  const int port = std::stoi(said.substr(said.find(':', said.find("127.0.0.1", at)) + 1));
  const std::string metrics = get(port, "/metrics");
  const size_t value = metrics.find(name);
  return value == std::string::npos ? -1 : std::stod(metrics.substr(value + name.size()));
}

// Returns the largest batch in the index log.
uint64_t largest_batch(const IndexSetup& setup) {
  uint64_t largest = 0;
  for (const Message& m : read_all(setup.bootstrap(), setup.options().kafka.index_log)) {
    const auto record = parse_log_record(m.key.value_or(""), m.value.value_or(""), m.value.has_value());
    const auto* batch = record.ok() ? std::get_if<LogBatch>(&*record) : nullptr;
    if (batch != nullptr) largest = std::max(largest, batch->records);
  }
  return largest;
}

TEST(QuotaLong, TransactionsEndInTimeAndAStopIsClean) {
  const auto broker = Broker::own();
  // Everything that was produced fits into one batch, whose transaction would take more than 20 s.
  Case c(
      {
          {"kafka.properties.transaction.timeout.ms", "20000"},
          {"kafka.properties.linger.ms", "1000"},
      },
      broker->bootstrap(), 1'500);
  const auto before = c.start();
  c.produce_next(50);
  c.await_all(*before);
  Case::stop(*before);
  EXPECT_EQ(before->said().find(kSaid), std::string::npos);
  c.produce_next(1'300);
  broker->quota("producer_byte_rate=30000");
  const auto first = c.start({{"DOPPEL_HTTP_LISTEN", "127.0.0.1:0"}});
  ASSERT_TRUE(first->await_line(kSaid)) << first->said();
  Reader events(broker->bootstrap(), c.setup.options().output.topic);
  EXPECT_TRUE(events.next(std::chrono::seconds(40))) << first->said();
  for (int i = 0; i < 200 && throttled_s(*first) == 0; ++i)
    ASSERT_FALSE(first->await_exit(Daemon::Seconds(.1))) << first->said();
  EXPECT_GT(throttled_s(*first), 0);
  Case::stop(*first);  // with more to do
  const auto second = c.start();
  c.await_all(*second);
  const std::string said = second->said();
  size_t lines = 0;
  for (size_t at = said.find(kSaid); at != std::string::npos; at = said.find(kSaid, at + 1)) ++lines;
  EXPECT_LE(lines, 4U) << said;
  for (Daemon* daemon : {first.get(), second.get()})
    EXPECT_EQ(daemon->said().find("longer than its time-out"), std::string::npos) << daemon->said();
  EXPECT_LT(largest_batch(c.setup), 300U) << "1,300 documents make one of about 1,000 records";
  broker->quota("producer_byte_rate");
  c.finish(*second);
}

// A quota that is set while transactions are large: the current transaction gets more time, and the next ones
// are smaller. Many documents come first, so that batches are large.
TEST(QuotaLong, OneThatComesLaterIsMet) {
  const auto broker = Broker::own();
  Case c({{"kafka.properties.transaction.timeout.ms", "4000"}, {"kafka.properties.linger.ms", "5000"}},
         broker->bootstrap(), 8'100);
  const auto daemon = c.start();
  c.produce_next(7'500);
  c.await_all(*daemon);
  daemon->signal(SIGSTOP);  // all documents must be there first, so that they are one batch
  c.produce_next(600);
  broker->quota("producer_byte_rate=10000");  // not earlier: it would hold up this producer, too
  daemon->signal(SIGCONT);
  EXPECT_TRUE(daemon->await_line("a broker quota makes a transaction longer than its time-out"))
      << daemon->said();
  EXPECT_TRUE(c.setup.await_all(*daemon, std::chrono::seconds(240))) << daemon->said();
  Case::stop(*daemon);
  c.expect_exact();
}

}  // namespace
}  // namespace doppel::testing
