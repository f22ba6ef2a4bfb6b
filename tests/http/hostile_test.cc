// What clients must not achieve: a request within another one, a server without a place for probes, memory
// without a bound.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "http/framing.h"
#include "http/raw_client.h"
#include "http/server.h"

namespace doppel::http {
namespace {

using doppel::testing::body_of;
using doppel::testing::get;
using doppel::testing::RawClient;
using doppel::testing::status_of;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::unique_ptr<Server> start(ServerOptions options = {}) {
  options.listen = "127.0.0.1:0";
  auto server = Server::start(std::move(options));
  EXPECT_TRUE(server.ok()) << server.status();
  (*server)->route("GET", "/hello", [](const Request&) { return Response{.body = "hi\n"}; });
  (*server)->route("POST", "/length", [](const Request& request) {
    return Response{.body = std::to_string(request.body.size())};
  });
  return *std::move(server);
}

struct Malformed {
  const char* source;  // section of RFC 9112 (HTTP/1.1), of RFC 9110 where it says so, or who found it
  std::string_view bytes;
};

using namespace std::string_view_literals;

#define POST "POST /length HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

// Each is followed by another request, which must not run. "Desync" are the requests of J. Kettle, HTTP
// Desync Attacks (2019); "Garden" those by which B. Kallus and others told servers apart in The HTTP Garden
// (2024).
const Malformed kMalformed[] = {
    {"6.3", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"sv},
    {"6.3, equal ones", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"sv},
    {"6.3, a list", POST "Content-Length: 5, 5\r\n\r\nhello"sv},
    {"6.1", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv},
    {"6.1", POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"sv},
    {"6.2", POST "Content-Length: +5\r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: -5\r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: 0x5\r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: 5 5\r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: 5_0\r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: \r\n\r\nhello"sv},
    {"6.2", POST "Content-Length: 18446744073709551621\r\n\r\nhello"sv},
    {"6.1", POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"sv},
    {"6.1", POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"sv},
    {"6.1", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"sv},
    {"6.1", POST "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello"sv},
    {"Desync", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "Transfer-Encoding: \x0b"
                    "chunked\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv},
    {"Desync", POST "Transfer-Encoding\r\n: chunked\r\n\r\n0\r\n\r\n"sv},
    {"6.1, HTTP/1.0", "POST /length HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv},
    {"2.2, a bare LF", POST "X: y\nContent-Length: 5\r\n\r\nhello"sv},
    {"2.2, a bare LF", "GET /hello HTTP/1.1\nHost: localhost\r\n\r\n"sv},
    {"2.2, a bare LF", "GET /hello HTTP/1.1\nHost: localhost\n\n"sv},
    {"2.2, a bare LF", "GET /hello HTTP/1.1\r\nHost: localhost\r\n\n"sv},
    {"2.2, a bare CR", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n"sv},
    {"2.2, a bare CR", "GET /hello HTTP/1.1\rHost: localhost\r\n\r\n"sv},
    {"2.2, space before the fields", "GET /hello HTTP/1.1\r\n Host: localhost\r\n\r\n"sv},
    {"5.2, obs-fold", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n"sv},
    {"5.2, obs-fold", POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"sv},
    {"5.2, obs-fold", POST "X: a\r\n\tb\r\nContent-Length: 5\r\n\r\nhello"sv},
    {"5.1", "GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n"sv},
    {"5.1", "GET /hello HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n"sv},
    {"5.1", "GET /hello HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n"sv},
    {"RFC 9110 5.1", "GET /hello HTTP/1.1\r\nHost: localhost\r\nA(b): x\r\n\r\n"sv},
    {"RFC 9110 5.5", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n"sv},
    {"RFC 9110 5.5", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: a\x7f\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: user@localhost\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: localhost/x\r\n\r\n"sv},
    {"3.2", "GET /hello HTTP/1.1\r\nHost: localhost:port\r\n\r\n"sv},
    {"3", "GET  /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3", "GET /hello  HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3", "GET\t/hello\tHTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3", "GET /hello HTTP/1.1 \r\nHost: localhost\r\n\r\n"sv},
    {"3", " GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3, HTTP/0.9", "GET /hello\r\n\r\n"sv},
    {"3.1", "G(T /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3.2", "GET hello HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3.2", "GET /hel\x80lo HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"3.2", "GET /hello#x HTTP/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"2.3", "GET /hello http/1.1\r\nHost: localhost\r\n\r\n"sv},
    {"2.3", "GET /hello HTTP/1.10\r\nHost: localhost\r\n\r\n"sv},
    {"2.3", "GET /hello HTTP/1.2\r\nHost: localhost\r\n\r\n"sv},
    {"2.3", "GET /hello HTTP/ 1.1\r\nHost: localhost\r\n\r\n"sv},
    {"2.3", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"sv},
    {"7.1", CHUNKED "+5\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED "-5\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED " 5\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED "5 \r\nhello\r\n0\r\n\r\n"sv},
    {"Garden", CHUNKED "5_0\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED "\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1", CHUNKED "zz\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1, overflow", CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1, longer than it says", CHUNKED "4\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1, no line end", CHUNKED "5\r\nhelloXX0\r\n\r\n"sv},
    {"Garden", CHUNKED "5\r\nhello\n0\r\n\r\n"sv},
    {"Garden, a bare LF", CHUNKED "5\nhello\r\n0\r\n\r\n"sv},
    {"Garden, a bare CR", CHUNKED "5\r\rhello\r\n0\r\n\r\n"sv},
    {"Garden, a bare LF", CHUNKED "5;x\nhello\r\n0\r\n\r\n"sv},
    {"Garden, a bare LF", CHUNKED "5\r\nhello\r\n0\r\nX: y\n\r\n\r\n"sv},
    {"7.1.1", CHUNKED "5 x\r\nhello\r\n0\r\n\r\n"sv},
    {"7.1.2", CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 7\r\n\r\n"sv},
    {"7.1.2", CHUNKED "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"sv},
};
#undef CHUNKED
#undef POST

TEST(Framing, WhatIsMalformedIsRefusedAndClosed) {
  const auto server = start();
  std::atomic<int> smuggled = 0;
  server->route("GET", "/smuggled", [&](const Request&) {
    ++smuggled;
    return Response{.body = "smuggled"};
  });
  for (const Malformed& one : kMalformed) {
    SCOPED_TRACE(std::string(one.source) + ": " + std::string(one.bytes));
    const RawClient client(server->port());
    client.send(std::string(one.bytes) + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto begin = steady_clock::now();
    const std::string answer = client.receive();
    EXPECT_GE(status_of(answer), 400) << answer;
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(4)) << "it was cut off, not refused";
    EXPECT_EQ(answer.find("HTTP/1.1 ", 1), std::string::npos) << answer;
    EXPECT_THAT(answer, ::testing::HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(smuggled.exchange(0), 0);
  }
  EXPECT_EQ(body_of(get(server->port(), "/hello")), "hi\n");
}

// What a connection says that receives these pieces: bodies, or "refused".
std::vector<std::string> read(const std::vector<std::string_view>& pieces) {
  Framing framing(1024);
  std::vector<std::string> out;
  std::string kept, body;
  for (const std::string_view piece : pieces) {
    kept += piece;
    std::string_view bytes = kept;
    for (Framing::Got got; (got = framing.read(bytes)) != Framing::Got::more;) {
      if (got == Framing::Got::refused) return out.emplace_back("refused"), out;
      if (got == Framing::Got::piece) body += framing.piece();
      if (got != Framing::Got::end) continue;
      out.push_back(std::exchange(body, {}));
      framing.begin();
      if (bytes.empty()) break;
    }
    kept = std::string(bytes);
  }
  return out;
}

// Beast 1.74 asserts that a last chunk without another one before it comes at once.
TEST(Framing, ChunksMayComeInAnyPieces) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view chunks :
       {"0\r\n\r\n"sv, "000\r\n\r\n"sv, "0;a=b\r\n\r\n"sv, "0\r\nX: y\r\n\r\n"sv, "5\r\nhello\r\n0\r\n\r\n"sv,
        "2\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n"sv}) {
    SCOPED_TRACE(chunks);
    const auto expected = read({head, chunks});
    EXPECT_THAT(expected, ::testing::ElementsAre(chunks[0] == '0' ? "" : "hello"));
    for (size_t i = 0; i <= chunks.size(); ++i) {
      for (size_t j = i; j <= chunks.size(); ++j)
        EXPECT_EQ(read({head, chunks.substr(0, i), chunks.substr(i, j - i), chunks.substr(j)}), expected);
    }
    std::vector<std::string_view> bytes{head};
    for (size_t i = 0; i < chunks.size(); ++i) bytes.push_back(chunks.substr(i, 1));
    EXPECT_EQ(read(bytes), expected);
  }
}

TEST(Framing, WhatIsMalformedMayComeInAnyPieces) {
  for (const Malformed& one : kMalformed) {
    SCOPED_TRACE(std::string(one.source) + ": " + std::string(one.bytes));
    const std::string all = std::string(one.bytes) + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const std::vector<std::string> expected = read({all});
    std::vector<std::string_view> bytes;
    for (size_t i = 0; i < all.size(); ++i) bytes.push_back(std::string_view(all).substr(i, 1));
    EXPECT_EQ(read(bytes), expected);
  }
}

// How long a GET takes on a connection of its own.
milliseconds time_of(int port, const std::string& path) {
  const auto begin = steady_clock::now();
  EXPECT_EQ(status_of(get(port, path)), 200);
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

TEST(Server, SlowClientsTakeNobodysPlace) {
  const auto server = start();
  std::vector<RawClient> slow;
  for (int i = 0; i < 60; ++i) {
    slow.emplace_back(server->port());
    slow.back().send(i % 2 == 0
                         ? "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx"
                         : "GET /hello HTTP/1.1\r\nHost:");
  }
  EXPECT_LT(time_of(server->port(), "/hello"), milliseconds(1000));
}

TEST(Server, ProbesAreAnsweredBesideACrowd) {
  const auto server = start({.threads = 4});
  std::atomic<int> busy = 0;
  std::latch end(1);
  server->route("GET", "/busy", [&](const Request&) {
    ++busy;
    end.wait();
    return Response{};
  });
  server->route("GET", "/live", [](const Request&) { return Response{}; }, Access::probe);
  std::vector<RawClient> crowd;
  for (int i = 0; i < 1000; ++i) {  // a first request, and no second one
    crowd.emplace_back(server->port());
    crowd.back().send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(server->port());
    crowd.back().send("POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx");
  }
  for (int i = 0; i < 64; ++i) {
    crowd.emplace_back(server->port());
    crowd.back().send("GET /busy HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  while (busy < 4) std::this_thread::yield();
  std::vector<milliseconds> times;
  for (int i = 0; i < 21; ++i) times.push_back(time_of(server->port(), "/live"));
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  EXPECT_LT(times[10], milliseconds(50));
  end.count_down();
  server->stop();  // before what its handlers refer to
}

TEST(Server, TheLastConnectionsAreForProbes) {
  const auto server = start({.connections = 8, .time_out = std::chrono::minutes(1)});
  server->route("GET", "/live", [](const Request&) { return Response{}; }, Access::probe);
  {
    // Those that wait for a request give up their places, the longest first.
    const RawClient first(server->port());
    std::vector<RawClient> more;
    for (int i = 0; i < 8; ++i) more.emplace_back(server->port());
    const auto begin = steady_clock::now();
    EXPECT_EQ(first.receive(), "");
    EXPECT_LT(steady_clock::now() - begin, milliseconds(4000));
    EXPECT_EQ(body_of(get(server->port(), "/hello")), "hi\n");
  }
  std::vector<RawClient> busy;
  for (int i = 0; i < 8; ++i) {
    busy.emplace_back(server->port());
    busy.back().send(
        "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    std::array<char, 64> piece{};
    ASSERT_GT(::recv(busy.back().fd(), piece.data(), piece.size(), 0), 0);  // the server has its head
  }
  EXPECT_EQ(status_of(get(server->port(), "/hello")), 503);
  EXPECT_THAT(get(server->port(), "/hello"), ::testing::HasSubstr("Retry-After: 1\r\n"));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(status_of(get(server->port(), "/live")), 200);
}

uint64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  status >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Server, BodiesShareABudget) {
  const auto server = start();
  constexpr size_t kBody = 16 << 20;
  const std::string piece(1 << 20, 'x');
  const std::string head =
      "POST /length HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
      std::to_string(kBody) + "\r\n\r\n";
  const uint64_t before = resident_bytes();
  std::atomic<uint64_t> most = before;
  std::atomic<int> taken = 0, own = 0, all = 0, other = 0;
  const auto deadline = steady_clock::now() + std::chrono::seconds(30);
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 50; ++t) {
      clients.emplace_back([&, t] {
        // Where all clients are slow, each may meet the bodies of all others. One tries until others have
        // ended.
        for (int i = 0; i < 4 || (t == 0 && taken == 0 && steady_clock::now() < deadline); ++i) {
          const RawClient client(server->port(), t % 10 + 2);  // 127.0.0.2 to 127.0.0.11
          client.send(head);
          for (size_t sent = 0; sent < kBody && client.send(piece);) sent += piece.size();
          const int status = status_of(client.receive());
          ++(status == 200 ? taken : status == 429 ? own : status == 503 ? all : other);
          most = std::max(most.load(), resident_bytes());
        }
      });
    }
  }
  EXPECT_GT(own + all, 0);
#ifndef DOPPEL_SANITIZED
  EXPECT_GT(taken, 0);
  EXPECT_LT(most - before, 150u << 20);  // the clients' own pieces are in it
#endif
  EXPECT_EQ(status_of(doppel::testing::post(server->port(), "/length", std::string(kBody, 'x'))), 200)
      << "everything was given back";
}

}  // namespace
}  // namespace doppel::http
