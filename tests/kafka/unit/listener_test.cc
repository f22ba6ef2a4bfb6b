// Addresses of brokers, and what listens there.
#include "kafka/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppel::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Listener, AddressesAreHostAndPort) {
  EXPECT_THAT(*split_brokers("a, b:1,[::1]:2,,SASL_SSL://c:3"),
              ElementsAre("a:9092", "b:1", "[::1]:2", "c:3"));
  for (const std::string wrong : {"kafka://a:1", "http://a:1/", "a:", "a:0", "a:65536", "a:x", ":1", "a:1/x",
                                  "::1", "[::1", "[::1]x"}) {
    const auto refused = split_brokers("b:1," + wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("kafka.brokers: " + wrong + " ")) << wrong;
  }
  EXPECT_FALSE(split_brokers(" ,").ok());
}

TEST(Listener, NobodyThereIsSaid) {
  const absl::Status away = reach("127.0.0.1:1", std::chrono::seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(away));
  EXPECT_EQ(away.message(), "127.0.0.1:1 cannot be reached: Connection refused");
}

}  // namespace
}  // namespace doppel::kafka
