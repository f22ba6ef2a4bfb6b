// Documents that come to `doppel serve` by HTTP.
#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "commands/daemon.h"
#include "commands/run_doppel.h"
#include "http/raw_client.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string text(int i) {
  std::string out;
  for (int w = 0; w < 40; ++w) out += "word" + std::to_string(i * 100 + w) + " ";
  return out;
}
std::string record(const std::string& id, int of) {
  return R"({"id":")" + id + R"(","text":")" + text(of) + "\"}";
}

// A daemon, and a client of its own.
struct Service {
  explicit Service(std::vector<std::string> more)
      : daemon([&] {
          std::vector<std::string> all{"serve", "--http", "127.0.0.1:0"};
          all.insert(all.end(), more.begin(), more.end());
          return all;
        }()) {
    const std::string line = daemon.log("listening");
    port = std::atoi(line.substr(line.rfind(':') + 1).c_str());  // NOLINT(cert-err34-c)
    EXPECT_NE(daemon.log("ready"), "");
  }
  std::string send(const std::string& body, const std::string& type = "application/json",
                   const std::string& path = "/v1/documents", const std::string& method = "POST",
                   const std::string& headers = "") const {
    return post(port, path, body, "Content-Type: " + type + "\r\n" + headers, method);
  }

  Daemon daemon;
  int port = 0;
};

TEST(Insert, IsAnsweredWithItsVerdict) {
  TempDir dir;
  {
    Service service({"--state", dir / "state", "-o", dir / "events"});
    const std::string first = service.send(record("a", 1));
    EXPECT_EQ(status_of(first), 200);
    EXPECT_THAT(first, HasSubstr("Doppel-Rejected: 0\r\n"));
    EXPECT_THAT(first, HasSubstr("Content-Type: application/x-ndjson\r\n"));
    EXPECT_THAT(body_of(first), HasSubstr(R"("verdict":"unique")"));
    EXPECT_THAT(body_of(first), HasSubstr(R"("event_id":"http/0")"));
    const std::string copy = body_of(service.send(record("b", 1)));
    EXPECT_THAT(copy, HasSubstr(R"("type":"duplicate-of")"));
    EXPECT_THAT(copy, HasSubstr(R"("event_id":"http/1")"));
    EXPECT_EQ(read_file(dir / "events"), copy);  // what was answered is written
    service.daemon.signal(SIGTERM);
    EXPECT_THAT(service.daemon.log("stopped"), HasSubstr("documents=2 unique=1 duplicates=1"));
    EXPECT_EQ(service.daemon.wait(), 0);
  }
  // The numbers go on.
  const Service service({"--state", dir / "state", "-o", dir / "events"});
  const std::string later = body_of(service.send(record("c", 1)));
  EXPECT_THAT(later, HasSubstr(R"("event_id":"http/2")"));
  EXPECT_THAT(later, HasSubstr(R"("id":"a")"));
}

std::vector<std::string> lines_of(const std::string& body) {
  std::vector<std::string> out;
  std::stringstream in(body);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(Insert, ABadLineCostsOneLine) {
  TempDir dir;
  const Service service({"--state", dir / "state", "-o", dir / "events", "--rejects", dir / "rejects"});
  const std::string response = service.send(
      record("a", 1) + "\nnot JSON\n\n{\"id\":\"b\"}\n" + record("c", 1) + "\n", "application/x-ndjson");
  EXPECT_EQ(status_of(response), 200);
  EXPECT_THAT(response, HasSubstr("Doppel-Rejected: 2\r\n"));
  const std::vector<std::string> lines = lines_of(body_of(response));
  ASSERT_EQ(lines.size(), 4U) << response;
  EXPECT_THAT(lines[0], HasSubstr(R"("verdict":"unique")"));
  EXPECT_THAT(lines[1], HasSubstr(R"({"line":2,"error":{"status":422,"message":"not JSON)"));
  EXPECT_THAT(lines[2], HasSubstr(R"({"line":4,"error":{"status":422,"message":"text: no field)"));
  EXPECT_THAT(lines[3], HasSubstr(R"("type":"duplicate-of")"));
  EXPECT_EQ(read_file(dir / "rejects"), "not JSON\n{\"id\":\"b\"}\n");
}

TEST(Insert, TextsAndPagesHaveTheIdOfTheAddress) {
  TempDir dir;
  const Service service({"--state", dir / "state", "-o", dir / "events"});
  const std::string unique =
      body_of(service.send(text(1), "text/plain", "/v1/documents?id=a%20b&url=http%3A%2F%2Fx%2F"));
  EXPECT_THAT(unique, HasSubstr(R"("id":"a b")"));
  const std::string page = "<!DOCTYPE html><title>T</title><body><p>" + text(1) + "</p></body>";
  const std::string copy = body_of(service.send(page, "text/html", "/v1/documents/c", "PUT"));
  EXPECT_THAT(copy, HasSubstr(R"("id":"c")"));
  EXPECT_THAT(copy, HasSubstr(R"("url":"http://x/")"));
  // Without an id, the name is the number.
  EXPECT_THAT(body_of(service.send(text(2), "text/plain")), HasSubstr(R"("id":"http/2")"));
  EXPECT_THAT(get(service.port, "/v1/documents/a%20b"), HasSubstr(R"("count":1)"));
}

// Who heard nothing can send again: the answer is the same, and no event comes twice. So it is after a
// restart.
TEST(Insert, WhatIsSentAgainHearsTheSame) {
  TempDir dir;
  const std::vector<std::string> arguments{"--state",      dir / "state", "-o",
                                           dir / "events", "--set",       "output.verdicts=all"};
  const std::string body = record("a", 1) + "\n" + record("b", 1) + "\n" + record("short", 3) + "\n";
  std::string heard;
  {
    Service service(arguments);
    heard = body_of(service.send(body, "application/x-ndjson"));
    EXPECT_EQ(lines_of(heard).size(), 3U);
    EXPECT_EQ(body_of(service.send(body, "application/x-ndjson")), heard);
    EXPECT_EQ(body_of(service.send(record("b", 1))), lines_of(heard)[1] + "\n");
    EXPECT_EQ(read_file(dir / "events"), heard);
    service.daemon.signal(SIGKILL);
    service.daemon.wait();
  }
  Service service(arguments);
  EXPECT_EQ(body_of(service.send(body, "application/x-ndjson")), heard);
  EXPECT_EQ(read_file(dir / "events"), heard);
  // Another text under the id is another document, and one without an id has nothing to be known by.
  EXPECT_THAT(body_of(service.send(record("a", 4))), HasSubstr(R"("verdict":"unique")"));
  EXPECT_THAT(body_of(service.send(R"({"text":")" + text(4) + "\"}")), HasSubstr("duplicate-of"));
  EXPECT_THAT(body_of(service.send(R"({"text":")" + text(4) + "\"}")), HasSubstr("duplicate-of"));
  // Twice in one request: the second hears what the first one hears.
  const std::vector<std::string> twins =
      lines_of(body_of(service.send(record("t", 5) + "\n" + record("t", 5), "application/x-ndjson")));
  ASSERT_EQ(twins.size(), 2U);
  EXPECT_THAT(twins[0], HasSubstr(R"("verdict":"unique")"));
  EXPECT_EQ(twins[0], twins[1]);
}

// An answer holds as long as the original in it is in the index.
TEST(Insert, AForgottenDocumentCanBeInsertedAgain) {
  TempDir dir;
  ::setenv("DOPPEL_HTTP_TOKEN", "correct-horse-battery", 1);
  const Service service({"--state", dir / "state", "-o", dir / "events"});
  ::unsetenv("DOPPEL_HTTP_TOKEN");
  const std::string token = "Authorization: Bearer correct-horse-battery\r\n";
  const auto insert = [&](const std::string& body) {
    return service.send(body, "application/json", "/v1/documents", "POST", token);
  };
  EXPECT_EQ(status_of(service.send(record("a", 1))), 401);
  const std::string first = body_of(insert(record("a", 1)));
  EXPECT_THAT(body_of(insert(record("b", 1))), HasSubstr("duplicate-of"));
  EXPECT_EQ(body_of(insert(record("a", 1))), first);
  EXPECT_EQ(
      status_of(ask(service.port, "DELETE /v1/documents/a HTTP/1.1\r\nHost: localhost\r\n" + token + "\r\n")),
      200);
  const std::string anew = body_of(insert(record("b", 1)));
  EXPECT_THAT(anew, HasSubstr(R"("verdict":"unique")"));
  EXPECT_THAT(body_of(insert(record("a", 1))), HasSubstr("duplicate-of"));
}

TEST(Insert, RefusesWithWordsThatHelp) {
  TempDir dir;
  const Service service({"--state", dir / "state", "-o", dir / "events", "--set", "input.max_bytes=10000"});
  const auto refused = [&](int status, const std::string& words, const std::string& body,
                           const std::string& type, const std::string& path = "/v1/documents",
                           const std::string& headers = "") {
    const std::string response = service.send(body, type, path, "POST", headers);
    EXPECT_EQ(status_of(response), status) << response;
    EXPECT_THAT(body_of(response), HasSubstr(words));
  };
  refused(415, "name the type", "a=b", "application/x-www-form-urlencoded");
  refused(400, "ends within the value", "{\"id\":", "application/json");
  refused(400, "durability=disk needs state.fsync: commit", record("a", 1), "application/json",
          "/v1/documents?durability=disk");
  refused(400, "durability is commit", record("a", 1), "application/json", "/v1/documents?durability=tape");
  refused(403, "pages of other sites", record("a", 1), "application/json", "/v1/documents",
          "Origin: http://evil.example\r\n");
  refused(413, "10000 bytes", std::string(20'000, 'x'), "text/plain");
  refused(400, "the body is empty", "", "text/plain");
  const std::string endless = ask(service.port,
                                  "POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                  "Content-Type: text/plain\r\n\r\n");
  EXPECT_EQ(status_of(endless), 411);
  EXPECT_THAT(body_of(endless), HasSubstr("Content-Length"));
  EXPECT_EQ(read_file(dir / "events"), "");
  EXPECT_EQ(status_of(service.send(record("a", 1), "application/json", "/v1/documents", "POST",
                                   "Origin: http://localhost\r\n")),
            200);
}

// Files and requests take turns, and numbers do not repeat. Beside files an insert is a change like others.
TEST(Insert, BesideFiles) {
  TempDir dir;
  fs::create_directories(dir / "in");
  const std::vector<std::string> arguments{"--state", dir / "state", "-o", dir / "events", dir / "in"};
  {
    const Service open(arguments);
    const std::string refused = open.send(record("a", 1));
    EXPECT_EQ(status_of(refused), 403);
    EXPECT_THAT(refused, HasSubstr("no token is configured"));
  }
  ::setenv("DOPPEL_HTTP_TOKEN", "correct-horse-battery", 1);
  const Service service(arguments);
  ::unsetenv("DOPPEL_HTTP_TOKEN");
  const std::string token = "Authorization: Bearer correct-horse-battery\r\n";
  std::string answers;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "a" + std::to_string(i);
    answers += body_of(service.send(record(name, i), "application/json", "/v1/documents", "POST", token));
    write_file(dir / ("in/" + name + ".jsonl"), record("file" + name, i) + "\n");
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(answers, HasSubstr("\"a" + std::to_string(i) + "\""));
  while (lines_of(read_file(dir / "events")).size() < 20)
    continue;  // one copy of each pair, in whatever order
  std::set<std::string> numbers;
  for (const std::string& line : lines_of(answers)) {
    const size_t at = line.find("\"http/");
    ASSERT_NE(at, std::string::npos) << line;
    numbers.insert(line.substr(at, line.find('"', at + 1) - at));
  }
  EXPECT_GE(numbers.size(), 10U);
}

}  // namespace
}  // namespace doppel::testing
