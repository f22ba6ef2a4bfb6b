#include "http/server.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "http/raw_client.h"
#include "http/router.h"

namespace doppel::http {
namespace {

using doppel::testing::ask;
using doppel::testing::body_of;
using doppel::testing::get;
using doppel::testing::post;
using doppel::testing::RawClient;
using doppel::testing::status_of;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr char kToken[] = "correct-horse-battery";

std::unique_ptr<Server> start(ServerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  auto server = Server::start(std::move(options));
  EXPECT_TRUE(server.ok()) << server.status();
  (*server)->route("GET", "/hello",
                   [](const Request&) { return Response{.body = "hi\n", .content_type = "text/plain"}; });
  (*server)->route("POST", "/echo", [](const Request& request) {
    return Response{.body = std::string(request.body), .content_type = "text/plain"};
  });
  (*server)->route("GET", "/say/{word}", [](const Request& request) {
    return Response{.body = std::string(*request.param("word")) + "|" +
                            std::string(request.query_value("with").value_or("nothing")) + "|" +
                            std::string(request.header("x-note").value_or("none"))};
  });
  (*server)->route("GET", "/fails", [](const Request&) -> Response { throw std::runtime_error("planned"); });
  (*server)->route("DELETE", "/thing", [](const Request&) { return Response{.status = 204}; }, Access::token);
  return *std::move(server);
}

TEST(Server, AnswersWhatIsRouted) {
  const auto server = start();
  const int port = server->port();
  EXPECT_GT(port, 0);
  EXPECT_EQ(server->url(), "http://127.0.0.1:" + std::to_string(port));
  const std::string hello = get(port, "/hello");
  EXPECT_THAT(hello, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(hello, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_EQ(body_of(hello), "hi\n");
  EXPECT_EQ(body_of(get(port, "/say/a%2Fb%20c?with=x+y", "X-Note: seen\r\n")), "a/b c|x y|seen");
  EXPECT_EQ(body_of(get(port, "http://localhost:" + std::to_string(port) + "/hello")), "hi\n");
  const std::string head = ask(port, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_EQ(body_of(head), "");
  server->route("GET", "/late", [](const Request&) { return Response{.body = "now"}; });
  EXPECT_EQ(body_of(get(port, "/late")), "now");
}

TEST(Server, RefusesTheRestInJson) {
  const auto server = start();
  const int port = server->port();
  const std::string unknown = get(port, "/nothing");
  EXPECT_EQ(status_of(unknown), 404);
  EXPECT_THAT(unknown, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(body_of(unknown), HasSubstr(R"({"error":{"status":404,)"));
  const std::string method = post(port, "/hello", "x");
  EXPECT_EQ(status_of(method), 405);
  EXPECT_THAT(method, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_EQ(status_of(get(port, "/say/%zz")), 400);
  EXPECT_EQ(status_of(get(port, "/hello?a=%zz")), 400);
  EXPECT_EQ(status_of(get(port, "/fails")), 500);
  EXPECT_THAT(get(port, "/fails"), Not(HasSubstr("planned")));
  for (const std::string_view nonsense :
       {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "BREW /hello HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /hello HTTP/1.1\r\nno colon\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n"}) {
    const std::string response = ask(port, nonsense);
    EXPECT_TRUE(response.empty() || status_of(response) >= 400) << nonsense << response;
  }
  EXPECT_EQ(status_of(get(port, "/hello", "X: " + std::string(100'000, 'x') + "\r\n")) / 100, 4);
  EXPECT_EQ(body_of(get(port, "/hello")), "hi\n");
}

TEST(Server, TakesBodiesUpToTheLimit) {
  const auto server = start({.max_body = 100'000});
  const int port = server->port();
  const std::string body(100'000, 'b');
  EXPECT_EQ(body_of(post(port, "/echo", body)), body);
  EXPECT_EQ(body_of(post(port, "/echo", "")), "");
  EXPECT_EQ(status_of(post(port, "/echo", body + "b")), 413);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(status_of(ask(port, head + "Content-Length: 1000000000000\r\n\r\nabc")), 413);
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(body_of(ask(port, chunked + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")), "abcde");
  std::string large = chunked;
  for (int i = 0; i < 200; ++i) large += "400\r\n" + std::string(1024, 'c') + "\r\n";
  EXPECT_EQ(status_of(ask(port, large + "0\r\n\r\n")), 413);

  // A careful client asks first.
  const RawClient careful(port);
  careful.send(head + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  std::array<char, 64> piece{};
  ASSERT_GT(::recv(careful.fd(), piece.data(), piece.size() - 1, 0), 0);
  EXPECT_THAT(piece.data(), StartsWith("HTTP/1.1 100 Continue\r\n\r\n"));
  careful.send("abc");
  careful.finish();
  EXPECT_EQ(body_of(careful.receive()), "abc");
}

TEST(Server, DoesNotReadWhatItRefused) {
  const auto server = start({.max_body = 100'000});
  const RawClient endless(server->port());
  ASSERT_TRUE(endless.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"));
  const std::string piece(1 << 20, 'x');
  int pieces = 0;
  while (pieces < 900 && endless.send(piece)) ++pieces;
  EXPECT_LT(pieces, 64);  // 4 MiB are read for an honest sender; sockets hold the rest
}

TEST(Server, WritingNeedsTheToken) {
  const std::string good = std::string("Authorization: Bearer ") + kToken + "\r\n";
  {
    const auto server = start();
    EXPECT_EQ(status_of(post(server->port(), "/thing", "", good, "DELETE")), 403);
  }
  const auto server = start({.token = kToken});
  const int port = server->port();
  const std::string without = post(port, "/thing", "", "", "DELETE");
  EXPECT_EQ(status_of(without), 401);
  EXPECT_THAT(without, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_EQ(status_of(post(port, "/thing", "", "Authorization: Bearer wrong\r\n", "DELETE")), 401);
  EXPECT_EQ(status_of(post(port, "/thing", "", good, "DELETE")), 204);
}

TEST(Server, CutsSlowClientsOff) {
  const auto server = start({.threads = 2, .waiting = 4, .time_out = milliseconds(300)});
  const int port = server->port();
  const RawClient silent(port);  // sends nothing
  const RawClient half(port);    // half a head
  half.send("GET /hello HTTP/1.1\r\nHost:");
  silent.receive();
  half.receive();
  RawClient dripping(port);  // sends a byte of the body now and then, each well within the time-out
  dripping.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  const auto begin = std::chrono::steady_clock::now();
  std::jthread drips([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && dripping.send("x")) std::this_thread::sleep_for(milliseconds(50));
  });
  dripping.receive();
  drips.request_stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(body_of(get(port, "/hello")), "hi\n");
}

TEST(Server, CutsClientsOffThatDoNotRead) {
  const auto server = start({.threads = 1, .time_out = milliseconds(300)});
  server->route("GET", "/large", [](const Request&) { return Response{.body = std::string(64 << 20, 'x')}; });
  const RawClient deaf(server->port());
  deaf.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(get(server->port(), "/hello")), "hi\n");  // the only thread is free again
}

TEST(Server, SaysWhyItCannotListen) {
  const auto server = start();
  const std::string taken = "127.0.0.1:" + std::to_string(server->port());
  const auto fails = [](const std::string& listen) {
    return std::string(Server::start({.listen = listen}).status().message());
  };
  EXPECT_THAT(fails(taken), HasSubstr("http.listen: cannot listen on " + taken + ": the port is in use"));
  EXPECT_THAT(fails("192.0.2.1:80"), HasSubstr("http.listen: cannot listen on 192.0.2.1:80: "));
  for (const std::string listen : {"", "9464", ":9464", "127.0.0.1:", "127.0.0.1:99999"})
    EXPECT_THAT(fails(listen), HasSubstr("is not of the form host:port")) << listen;
  EXPECT_THAT(fails("::1:9464"), HasSubstr("http.listen: write the IPv6 address of ::1:9464 in brackets"));
  EXPECT_THAT(fails("[::x]:9464"), HasSubstr("is not of the form host:port"));
  EXPECT_THAT(fails("unix:here"), HasSubstr("has no path, such as unix:/"));
  EXPECT_THAT(fails("unix:/no/such/folder/socket"),
              HasSubstr("cannot listen on unix:/no/such/folder/socket: No such"));
  EXPECT_THAT(fails("no.such.host.invalid:80"), HasSubstr("is not an address of this machine"));
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "doppel-http-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Token, IsLoaded) {
  const Folder folder;
  write(folder / "token", "correct-horse-battery\n");
  write(folder / "short", "secret\n");
  write(folder / "empty", "");
  const auto load = [&](const std::string& name) {
    return load_token("http.token_file", name.empty() ? "" : folder / name, "DOPPEL_TEST_TOKEN");
  };
  EXPECT_EQ(*load("token"), kToken);
  EXPECT_EQ(*load(""), "");
  EXPECT_THAT(std::string(load("short").status().message()), HasSubstr("at least 16 characters"));
  EXPECT_THAT(std::string(load("empty").status().message()), HasSubstr("it is empty"));
  EXPECT_THAT(std::string(load("missing").status().message()),
              HasSubstr("http.token_file: cannot read " + (folder / "missing") + ": No such file"));
  ::setenv("DOPPEL_TEST_TOKEN", "from-the-environment", 1);
  EXPECT_EQ(*load("missing"), "from-the-environment");
  ::unsetenv("DOPPEL_TEST_TOKEN");
}

TEST(Server, ManyClientsAtOnce) {
  const auto server = start();
  std::vector<std::jthread> clients;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string body(static_cast<size_t>(t) * 5000 + i, 'a');
        if (body_of(post(server->port(), "/echo", body)) == body) ++right;
      }
    });
  }
  clients.clear();
  EXPECT_EQ(right, 400);
}

// No thread waits for an answer that comes later: there are more such requests than threads.
TEST(Server, CountsWhatItAnswers) {
  const auto server = start();
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Reply> waiting;
  server->route_later("POST", "/later", [&](const Request&, Reply reply) {
    const std::lock_guard lock(mutex);
    waiting = std::move(reply);
    changed.notify_all();
  });
  server->route("GET", "/probe", [](const Request&) { return Response{.body = "well"}; }, Access::probe);
  const int port = server->port();
  EXPECT_EQ(status_of(post(port, "/echo", "one")), 200);
  EXPECT_EQ(status_of(post(port, "/nowhere", "one")), 404);
  const RawClient broken(port);
  broken.send("no request\r\n\r\n");
  EXPECT_EQ(status_of(broken.receive()), 400);
  EXPECT_EQ(body_of(get(port, "/probe")), "well");

  const RawClient client(port);
  const std::string body(1000, 'x');
  client.send("POST /later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" +
              body);
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.has_value(); });
  }
  const Counts during = server->counts();
  EXPECT_EQ(during.responses, (std::map<int, uint64_t>{{200, 1}, {400, 1}, {404, 1}})) << "without the probe";
  EXPECT_EQ(during.waiting, 1u);
  EXPECT_GE(during.connections, 1u);
  EXPECT_EQ(during.body_bytes, 1000u);
  EXPECT_EQ(during.body_bytes_most, 64u << 20);
  (*waiting)({.body = "late"});
  EXPECT_EQ(body_of(client.receive()), "late");
  const Counts after = server->counts();
  EXPECT_EQ(after.responses.at(200), 2u);
  EXPECT_EQ(std::accumulate(after.times.begin(), after.times.end(), uint64_t{0}), 4u);
  EXPECT_GT(after.seconds, during.seconds);
  EXPECT_EQ(after.waiting, 0u);
  EXPECT_EQ(after.body_bytes, 0u);
}

TEST(Server, AnswersLater) {
  ServerOptions options;
  options.threads = 2;
  const auto server = start(options);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<std::string, Reply>> waiting;
  server->route_later("POST", "/later", [&](const Request& request, Reply reply) {
    const std::lock_guard lock(mutex);
    waiting.emplace_back(request.body, std::move(reply));
    changed.notify_all();
  });
  server->route_later("POST", "/never", [](const Request&, const Reply&) {});
  const int port = server->port();
  const auto request = [](const std::string& body) {
    return "POST /later HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  std::vector<RawClient> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(port).send(request("body " + std::to_string(i)));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.size() == clients.size(); });
  }
  EXPECT_EQ(body_of(post(port, "/echo", "others are answered")), "others are answered");
  EXPECT_EQ(status_of(post(port, "/never", "")), 500);
  for (auto& [body, reply] : waiting) reply({.body = body + " has its answer"});
  for (size_t i = 0; i < clients.size(); ++i) {
    clients[i].finish();
    EXPECT_EQ(body_of(clients[i].receive()), "body " + std::to_string(i) + " has its answer");
  }
}

TEST(Server, TheTokenIsNeededWhereThereIsOne) {
  ServerOptions with;
  with.token = kToken;
  for (const bool configured : {false, true}) {
    const auto server = start(configured ? with : ServerOptions{});
    server->route("POST", "/add", [](const Request&) { return Response{}; }, Access::token_if_any);
    const std::string right = std::string("Authorization: Bearer ") + kToken + "\r\n";
    EXPECT_EQ(status_of(post(server->port(), "/add", "x")), configured ? 401 : 200);
    EXPECT_EQ(status_of(post(server->port(), "/add", "x", right)), 200);
  }
}

}  // namespace
}  // namespace doppel::http
