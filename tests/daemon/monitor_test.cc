// The answers of a daemon about itself while it starts, runs and hangs.

#include "daemon/monitor.h"

#include <gtest/gtest.h>

#include "http/get.h"

namespace doppel {
namespace {

class MonitorTest : public ::testing::Test {
 protected:
  static Options options() {
    Options o;
    o.stall_timeout_ms = 20;
    return o;
  }
  http::Answer ask(const std::string& path) const {
    const absl::StatusOr<http::Answer> answer =
        http::get(server_->url() + path, std::chrono::milliseconds(10'000));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(http::Answer{});
  }
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<http::Server>> server = http::Server::start({.listen = "127.0.0.1:0"});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    monitor_.answer(*server_);
  }

  const Options options_ = options();
  const Rule rule_ = make_rule(0.8, 0.995, 128).value();
  Monitor monitor_{{.options = options_, .rule = rule_}};
  std::unique_ptr<http::Server> server_;
};

TEST_F(MonitorTest, LivesWhileItTurns) {
  int status = 200;
  while (status == 200) status = ask("/live").status;  // the loop does not turn, so it counts as hanging
  EXPECT_EQ(status, 503);
  EXPECT_NE(ask("/live").body.find("\"stalled\""), std::string::npos);
  // Every turn makes it alive again. On a slow machine the answer may come too late: then it turns once more.
  while (status != 200) {
    EXPECT_FALSE(monitor_.stop());
    status = ask("/live").status;
  }
}

TEST_F(MonitorTest, SaysHowFarItsStartIs) {
  EXPECT_EQ(ask("/ready").status, 503);
  monitor_.restoring({"loading the snapshot", 12, 34});
  const http::Answer answer = ask("/ready");
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("\"step\":\"loading the snapshot\",\"done\":12,\"of\":34"), std::string::npos)
      << answer.body;
  const std::string text = ask("/metrics").body;
  EXPECT_NE(text.find("\ndoppel_ready 0\n"), std::string::npos);
  EXPECT_NE(text.find("\ndoppel_restore_progress_ratio 0.35"), std::string::npos) << text;
  EXPECT_EQ(text.find("\ndoppel_index_documents "), std::string::npos);  // not known yet

  const std::unique_ptr<Bodies> bodies = memory_bodies();
  EngineOptions engine_options;
  engine_options.rule = rule_;
  const Engine engine(engine_options, *bodies);
  monitor_.ready(engine);
  EXPECT_EQ(ask("/ready").status, 200);
  EXPECT_NE(ask("/metrics").body.find("\ndoppel_ready 1\n"), std::string::npos);
}

// A client that asks with ?standby wants to know whether this daemon follows the log or serves.
TEST_F(MonitorTest, StandbyIsReadyForThoseWhoSaySo) {
  monitor_.restoring({"reading the index log", 12, 34});
  EXPECT_EQ(ask("/ready?standby").status, 503);
  monitor_.restoring({kStandingBy});
  EXPECT_EQ(ask("/ready").status, 503);
  EXPECT_EQ(ask("/ready?other").status, 503);
  EXPECT_EQ(ask("/ready?standby").status, 200);
  EXPECT_EQ(ask("/ready?standby").body, "{\"status\":\"standby\"}\n");
  monitor_.restoring({"claiming the index log"});
  EXPECT_EQ(ask("/ready?standby").status, 503);
}

TEST_F(MonitorTest, ShowsWhatIsWatchedAsLongAsItIsThere) {
  std::shared_ptr<void> watched =
      monitor_.metrics().pull([](Families& out) { out.gauge("doppel_made_up", "For a test.", 42); });
  EXPECT_NE(ask("/metrics").body.find("\ndoppel_made_up 42\n"), std::string::npos);
  watched.reset();
  EXPECT_EQ(ask("/metrics").body.find("doppel_made_up"), std::string::npos);
}

TEST_F(MonitorTest, TellsItsVersion) {
  EXPECT_NE(ask("/version").body.find("\"name\":\"doppel\""), std::string::npos);
}

TEST(Get, SaysWhyThereIsNoAnswer) {
  std::string url;
  {
    const auto server = http::Server::start({.listen = "127.0.0.1:0"});
    ASSERT_TRUE(server.ok());
    url = (*server)->url();
    EXPECT_EQ(http::get(url + "/nothing", std::chrono::milliseconds(10'000))->status, 404);
  }
  EXPECT_TRUE(absl::IsUnavailable(http::get(url + "/live", std::chrono::milliseconds(10'000)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(http::get("127.0.0.1", std::chrono::milliseconds(1000)).status()));
}

}  // namespace
}  // namespace doppel
