// The API of a running daemon, as its users see it.
#include <gmock/gmock.h>

#include <sstream>

#include "commands/daemon.h"
#include "commands/run_doppel.h"
#include "http/raw_client.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kToken[] = "Authorization: Bearer correct-horse-battery\r\n";
const std::string kJson = "Content-Type: application/json\r\n";

std::string text(int i) {
  std::string out;
  for (int w = 0; w < 60; ++w) out += "word" + std::to_string(i * 100 + w) + " ";
  return out;
}
std::string record(const std::string& id, const std::string& words, const std::string& crawl = "one") {
  return R"({"id":")" + id + R"(","url":"http://h.example/)" + id + R"(","crawl":")" + crawl +
         R"(","text":")" + words + "\"}\n";
}

class Api : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "in");
    write_file(dir_ / "token", "correct-horse-battery\n");
    start();
  }
  void start(const std::string& relations = "near") {
    daemon_ = std::make_unique<Daemon>(std::vector<std::string>{
        "serve", "--state", dir_ / ("state-" + relations), "--set", "output.verdicts=all", "--set",
        "http.listen=127.0.0.1:0", "--set", "http.token_file=" + (dir_ / "token"), "--set",
        "input.tags=crawl", "--set", "relations=" + relations, dir_ / "in"});
    const std::string line = daemon_->log("listening");
    port_ = std::stoi(line.substr(line.rfind(':') + 1));
    ASSERT_NE(daemon_->log("ready"), "");
  }
  void stop() {
    daemon_->signal(SIGTERM);
    EXPECT_EQ(daemon_->wait(), 0);
  }
  // Returns once the records are judged.
  void feed(const std::string& file, const std::string& records) {
    write_file(dir_ / ("tmp/" + file), records);
    fs::rename(dir_ / ("tmp/" + file), dir_ / ("in/" + file));
    for (const char c : records) {
      if (c == '\n') {
        EXPECT_NE(daemon_->line(), "");
      }
    }
  }
  std::string get(const std::string& path, const std::string& headers = kToken) const {
    return testing::get(port_, path, headers);
  }
  std::string call(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& headers = kToken) const {
    return testing::post(port_, path, body, headers, method);
  }

  TempDir dir_;
  std::unique_ptr<Daemon> daemon_;
  int port_ = 0;
};

TEST_F(Api, ChecksAndInsertsNothing) {
  feed("a.jsonl", record("a", text(1)) + record("b", text(2)));
  for (int i = 0; i < 2; ++i) {
    const std::string fresh = call("POST", "/v1/check", record("x", text(3)), kJson);
    EXPECT_EQ(status_of(fresh), 200);
    EXPECT_THAT(body_of(fresh), HasSubstr(R"({"verdict":"unique","matches":[]})"));
  }
  const std::string same = body_of(call("POST", "/v1/check", record("x", text(1)), kJson));
  EXPECT_THAT(same, HasSubstr(R"("verdict":"duplicate","kind":"exact","similarity":1,)"));
  EXPECT_THAT(same, HasSubstr(R"("original":{"id":"a",)"));
  const std::string near = body_of(call("POST", "/v1/check", record("x", text(2) + "and more"), kJson));
  EXPECT_THAT(near, HasSubstr(R"("kind":"near","similarity":0.96)"));
  EXPECT_THAT(near, HasSubstr(R"("url":"http://h.example/b")"));
  // Below the threshold: unique, but the match is shown.
  const std::string text_body = call("POST", "/v1/check", text(1), "Content-Type: text/plain\r\n");
  EXPECT_THAT(body_of(text_body), HasSubstr(R"("kind":"exact")"));
  EXPECT_EQ(status_of(call("POST", "/v1/check", "{", kJson)), 422);
  EXPECT_EQ(status_of(call("POST", "/v1/check", "", kJson)), 400);
  EXPECT_THAT(body_of(call("POST", "/v1/check", R"({"text":""})", kJson)),
              HasSubstr(R"("verdict":"unscored")"));
  stop();
}

TEST_F(Api, ChecksADocumentInEachLine) {
  feed("a.jsonl", record("a", text(1)) + record("b", text(2)));
  const std::string lines = "Content-Type: application/x-ndjson\r\n";
  std::string body, wanted;
  for (int i = 0; i < 150; ++i) {  // more than are judged at once
    if (i % 40 == 7) {
      body += "no JSON\n";
      wanted += R"({"line":)" + std::to_string(i + 1) + R"(,"error":{"status":422,"message":"not JSON: )";
      wanted += "\n";
      continue;
    }
    const std::string one = record(i % 3 == 0 ? "a" : "x", text(i % 5) + (i % 4 == 0 ? "and more" : ""));
    body += one;
    wanted += body_of(call("POST", "/v1/check", one, kJson));
  }
  const std::string answer = call("POST", "/v1/check", body, lines);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Doppel-Rejected: 4\r\n"));
  std::istringstream got(body_of(answer)), expected(wanted);
  for (std::string a, b; std::getline(expected, b);) {
    ASSERT_TRUE(std::getline(got, a));
    EXPECT_THAT(a, StartsWith(b));
  }
  EXPECT_EQ(body_of(get("/v1/documents/x", kToken)).find(R"("count")"),
            std::string::npos);  // none is inserted
  EXPECT_EQ(status_of(call("POST", "/v1/check", "", lines)), 400);
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "{}\n";
  EXPECT_EQ(status_of(call("POST", "/v1/check", many, lines)), 413);
  stop();
}

TEST_F(Api, ShowsWhatACheckedDocumentSharesWithOriginals) {
  stop();
  start("near,contained");
  feed("a.jsonl", record("a", text(1)));
  const std::string part = text(1).substr(0, text(1).find("word140"));
  const std::string found = body_of(call("POST", "/v1/check", record("x", "A head, then " + part), kJson));
  const std::string bytes = "13," + std::to_string(13 + part.size() - 1);
  EXPECT_THAT(found,
              HasSubstr(R"({"verdict":"unique","relations":[{"relation":"contained","of_document":0.)"));
  EXPECT_THAT(found,
              HasSubstr(R"("passages":[[3,43]],"bytes":[[)" + bytes + R"(]],"texts":["word100 word101 )"));
  EXPECT_THAT(found, HasSubstr(R"("original":{"id":"a",)"));
  stop();
}

TEST_F(Api, ForgetsThroughTheLog) {
  feed("a.jsonl",
       record("a", text(1), "one") + record("b/c d", text(2), "two") + record("e", text(4), "two"));
  const std::string found = body_of(get("/v1/documents/b%2Fc%20d"));
  EXPECT_THAT(found, HasSubstr(R"({"count":1,"originals":[{"id":"b/c d","event_id":")"));
  EXPECT_EQ(status_of(get("/v1/documents/unknown")), 404);
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents/a", "", "")), 401);
  EXPECT_EQ(status_of(get("/v1/documents/a")), 200);
  EXPECT_THAT(body_of(call("DELETE", "/v1/documents/a")), HasSubstr(R"({"forgotten":1,)"));
  EXPECT_EQ(status_of(get("/v1/documents/a")), 404);
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents/a")), 404);
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents?crawl=three")), 404);
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents")), 400);
  EXPECT_THAT(body_of(call("DELETE", "/v1/documents?crawl=two")), HasSubstr(R"({"forgotten":2,)"));
  EXPECT_EQ(status_of(call("POST", "/v1/snapshot")), 200);
  EXPECT_EQ(status_of(call("POST", "/v1/snapshot", "", "")), 401);
  stop();
  start();
  EXPECT_EQ(status_of(get("/v1/documents/a")), 404);
  feed("b.jsonl", record("new", text(1)));
  EXPECT_EQ(status_of(get("/v1/documents/new")), 200);
  stop();
}

TEST_F(Api, LooksIdsUpForTheTokenOnly) {
  feed("a.jsonl", record("a", text(1)) + record("b", text(2)) + record("copy", text(1)));
  EXPECT_EQ(status_of(get("/v1/documents/a")), 200);
  EXPECT_EQ(status_of(get("/v1/documents/")), 404);
  const std::string refused = get("/v1/documents/a", "");
  EXPECT_EQ(status_of(refused), 401);
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_THAT(body_of(refused), HasSubstr("a bearer token is needed"));
  EXPECT_EQ(status_of(get("/v1/documents/a", "Authorization: Bearer wrong-horse-battery\r\n")), 401);
  EXPECT_EQ(status_of(get("/v1/clusters/a", "")), 401);
  // A cluster that has grown is found without a search.
  const std::string cluster = body_of(get("/v1/clusters/a"));
  const size_t at = cluster.find(R"("cluster_id":")") + 14;
  std::string by_event = cluster.substr(at, cluster.find('"', at) - at);
  for (size_t i = 0; (i = by_event.find('/', i)) != std::string::npos; i += 3) by_event.replace(i, 1, "%2F");
  EXPECT_EQ(status_of(get("/v1/clusters/" + by_event, "")), 200);
  stop();
}

TEST_F(Api, ShowsClusters) {
  std::string records = record("a", text(1)) + record("alone", text(2));
  for (int i = 0; i < 20; ++i) records += record("copy" + std::to_string(i), text(1) + (i < 5 ? "" : "more"));
  feed("a.jsonl", records);
  const std::string cluster = body_of(get("/v1/clusters/a"));
  EXPECT_THAT(cluster, HasSubstr(R"("live":true,"duplicates":{"exact":5,"near":15})"));
  EXPECT_THAT(cluster, HasSubstr(R"("id":"copy19")"));
  EXPECT_THAT(cluster, HasSubstr(R"("id":"copy4")"));
  EXPECT_THAT(cluster, Not(HasSubstr(R"("id":"copy3")")));
  const size_t at = cluster.find(R"("cluster_id":")") + 14;
  std::string by_event = cluster.substr(at, cluster.find('"', at) - at);
  for (size_t i = 0; (i = by_event.find('/', i)) != std::string::npos; i += 3) by_event.replace(i, 1, "%2F");
  EXPECT_EQ(body_of(get("/v1/clusters/" + by_event)), cluster);
  EXPECT_THAT(body_of(get("/v1/clusters/alone")),
              HasSubstr(R"("duplicates":{"exact":0,"near":0},"first":null)"));
  EXPECT_EQ(status_of(get("/v1/clusters/copy1")), 404);
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents/a")), 200);
  EXPECT_THAT(body_of(get("/v1/clusters/" + by_event)), HasSubstr(R"("live":false)"));
  stop();
}

TEST_F(Api, WritingIsOffWithoutAToken) {
  stop();
  daemon_ = std::make_unique<Daemon>(std::vector<std::string>{"serve", "--state", dir_ / "state", "--set",
                                                              "http.listen=127.0.0.1:0", dir_ / "in"});
  const std::string line = daemon_->log("listening");
  port_ = std::stoi(line.substr(line.rfind(':') + 1));
  ASSERT_NE(daemon_->log("ready"), "");
  EXPECT_EQ(status_of(call("DELETE", "/v1/documents/a")), 403);
  EXPECT_EQ(status_of(call("POST", "/v1/snapshot")), 403);
  EXPECT_EQ(status_of(get("/v1/documents/a", "")), 404);
  stop();
}

}  // namespace
}  // namespace doppel::testing
