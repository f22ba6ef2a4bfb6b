// How our consumer converts what the library returns.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::testing {
namespace {

// An error of one partition may come before the records of others.
TEST(KafkaConsumer, KeepsTheRecordsBehindAnError) {
  constexpr size_t kRecords = 500;
  const std::string bootstrap = Broker::shared().bootstrap();
  Client client(bootstrap);
  const std::string ends = unique_name("ends"), full = unique_name("full");
  client.create_topic(ends, 1);
  client.create_topic(full, 1);
  std::vector<Message> messages(kRecords, Message{.value = "a"});
  client.produce(full, messages);
  const std::unique_ptr<kafka::Cluster> cluster = kafka::connect({.brokers = bootstrap});
  for (int run = 0; run < 10; ++run) {
    const std::unique_ptr<kafka::Consumer> consumer = cluster->consumer({.group = "behind"}).value();
    ASSERT_TRUE(consumer
                    ->assign({{.place = {ends, 0}, .from = 1'000'000, .tag = 0},
                              {.place = {full, 0}, .from = 0, .tag = 1}})
                    .ok());
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (consumer->known_end({full, 0}) < static_cast<int64_t>(kRecords) && Clock::now() < deadline)
      Clock::sleep(std::chrono::milliseconds(1));
    size_t got = 0;
    bool failed = false;
    while ((got < kRecords || !failed) && Clock::now() < deadline) {
      std::vector<kafka::Incoming> records;
      failed |= !consumer->poll(1000, 20, records).ok();
      got += records.size();
      consumer->release(records);
    }
    EXPECT_TRUE(failed);
    ASSERT_EQ(got, kRecords) << "run " << run;
  }
}

}  // namespace
}  // namespace doppel::testing
