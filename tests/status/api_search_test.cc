// The limits of a request: how long it may look up an id, how many requests may do so at once, and how long
// it waits for its removals.
#include <gmock/gmock.h>

#include <future>

#include "http/raw_client.h"
#include "status/api.h"
#include "status/small_stream.h"

namespace doppel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr char kToken[] = "correct-horse-battery";
const std::string kRight = std::string("Authorization: Bearer ") + kToken + "\r\n";

class ApiSearch : public ::testing::Test {
 protected:
  void start(const std::string& token, milliseconds open, milliseconds with_token, milliseconds forget) {
    absl::StatusOr<std::unique_ptr<http::Server>> server =
        http::Server::start({.listen = "127.0.0.1:0", .token = token});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    api_.emplace(ApiParts{.engine = stream_.engine,
                          .originals = stream_.kept,
                          .bodies = stream_.bodies,
                          .activity = activity_,
                          .captures = captures_,
                          .mailbox = mailbox_,
                          .forgetting = &forgetting_,
                          .open_search = open,
                          .token_search = with_token,
                          .forget = forget});
    api_->route(*server_);
  }
  void TearDown() override {
    mailbox_.close();
    api_->close();
    server_->stop();
  }
  // Turns the pipeline until the response is there, and returns it.
  std::string turn_for(std::future<std::string> response) {
    while (response.wait_for(milliseconds(0)) != std::future_status::ready) turn();
    return response.get();
  }
  void turn() {
    stream_.turn(forgetting_);
    mailbox_.answer();
  }
  std::future<std::string> ask_for(const std::string& path, const std::string& headers = "") {
    return std::async(std::launch::async, [=, this] { return get(server_->port(), path, headers); });
  }
  std::future<std::string> remove(const std::string& path) {
    return std::async(std::launch::async,
                      [=, this] { return post(server_->port(), path, "", kRight, "DELETE"); });
  }

  SmallStream stream_;
  Forgetting forgetting_{stream_.kept, stream_.bodies};
  Activity activity_{0};
  Captures captures_;
  Mailbox mailbox_;
  std::optional<Api> api_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(ApiSearch, EndsInTimeWhereThereIsNoToken) {
  start("", milliseconds(0), std::chrono::minutes(1), milliseconds(0));
  stream_.insert(1'000, "one");
  const std::string late = turn_for(ask_for("/v1/documents/d0"));
  EXPECT_EQ(status_of(late), 503);
  EXPECT_THAT(late, HasSubstr("Retry-After"));
  EXPECT_THAT(late, HasSubstr("of 1000 originals"));
  EXPECT_THAT(late, HasSubstr("with a token (http.token_file) it may take longer"));
  EXPECT_EQ(status_of(turn_for(ask_for("/v1/clusters/d0"))), 503);
}

TEST_F(ApiSearch, TheTokenHasMoreTime) {
  start(kToken, milliseconds(0), std::chrono::minutes(1), milliseconds(0));
  stream_.insert(1'000, "one");
  EXPECT_EQ(status_of(turn_for(ask_for("/v1/documents/d0"))), 401);
  EXPECT_EQ(stream_.bodies.reads(), 0u);
  EXPECT_EQ(status_of(turn_for(ask_for("/v1/documents/d0", kRight))), 200);
}

TEST_F(ApiSearch, OneAtATime) {
  start("", std::chrono::minutes(1), std::chrono::minutes(1), milliseconds(0));
  stream_.insert(1'000, "one");
  std::future<std::string> first;
  {
    const std::lock_guard hold(stream_.bodies.gate);
    first = ask_for("/v1/documents/d0");
    while (stream_.bodies.reads_elsewhere() == 0) turn();
    const std::string second = turn_for(ask_for("/v1/documents/d1"));
    EXPECT_EQ(status_of(second), 429);
    EXPECT_THAT(second, HasSubstr("one at a time"));
  }
  EXPECT_EQ(status_of(turn_for(std::move(first))), 200);
}

TEST_F(ApiSearch, ALongRemovalIsAcceptedAndGoesOn) {
  start(kToken, milliseconds(0), milliseconds(0), milliseconds(1));
  stream_.insert(12'000, "one");
  {
    const std::lock_guard hold(stream_.bodies.gate);
    const std::string accepted = turn_for(remove("/v1/documents?crawl=one"));
    EXPECT_EQ(status_of(accepted), 202);
    EXPECT_THAT(body_of(accepted), HasSubstr(R"({"complete":false,"forgotten":0,)"));
    EXPECT_THAT(body_of(accepted), HasSubstr(R"("found":null})"));
  }
  while (stream_.removed.size() < 12'000) turn();
  EXPECT_EQ(stream_.pieces.size(), 3u);
}

}  // namespace
}  // namespace doppel::testing
