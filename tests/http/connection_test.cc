// Connections that stay open, other kinds of addresses, packed bodies, and the end of a server.

#include <gmock/gmock.h>
#include <sys/un.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <latch>
#include <thread>

#include "http/get.h"
#include "http/listen.h"
#include "http/raw_client.h"
#include "http/server.h"

namespace doppel::http {
namespace {

using doppel::testing::ask;
using doppel::testing::body_of;
using doppel::testing::post;
using doppel::testing::RawClient;
using doppel::testing::status_of;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::unique_ptr<Server> start(ServerOptions options = {}) {
  if (options.listen == ServerOptions{}.listen) options.listen = "127.0.0.1:0";
  auto server = Server::start(std::move(options));
  EXPECT_TRUE(server.ok()) << server.status();
  (*server)->route("GET", "/hello", [](const Request&) { return Response{.body = "hi\n"}; });
  (*server)->route("POST", "/echo", [](const Request& r) { return Response{.body = std::string(r.body)}; });
  return *std::move(server);
}

// The bodies of all responses in `text`, with bars between them.
std::string bodies(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t end = text.find("\r\n\r\n"), length = text.find(kLength);
    if (end == std::string_view::npos || length > end) return out + "(broken)";
    const size_t size = std::stoul(std::string(text.substr(length + kLength.size(), 20)));
    out += std::string(text.substr(end + 4, size)) + "|";
    text.remove_prefix(std::min(text.size(), end + 4 + size));
  }
  return out;
}

TEST(Connection, TakesManyRequests) {
  const auto server = start();
  const std::string host = " HTTP/1.1\r\nHost: localhost\r\n";
  std::string all, wanted;
  for (int i = 0; i < 200; ++i) {  // one behind the other
    const std::string body = "number " + std::to_string(i);
    all += "GET /hello" + host + "\r\n";
    all += "POST /echo" + host + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    all += "POST /echo" + host +
           "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n";
    wanted += "hi\n|" + body + "|abcde|";
  }
  EXPECT_EQ(bodies(ask(server->port(), all)), wanted);

  // Byte by byte.
  const RawClient slow(server->port());
  for (const char c : all.substr(0, 600)) ASSERT_TRUE(slow.send(std::string_view(&c, 1)));
  slow.finish();
  EXPECT_TRUE(bodies(slow.receive()).starts_with("hi\n|number 0|abcde|hi\n|number 1|abcde|"));

  // A request without a body that is refused does not end the connection.
  const std::string both = ask(server->port(), "GET /nothing" + host + "\r\nGET /hello" + host + "\r\n");
  EXPECT_EQ(status_of(both), 404);
  EXPECT_THAT(both, HasSubstr("hi\n"));
  EXPECT_THAT(ask(server->port(), "GET /hello HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close\r\n"));
}

TEST(Connection, EndsIfItWaitsTooLongForARequest) {
  const auto server = start({.idle = milliseconds(100)});
  const RawClient client(server->port());
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(bodies(client.receive()), "hi\n|");
}

TEST(Connection, IsOfAnyKind) {
  constexpr milliseconds kTime{10'000};
  const auto both = start({.listen = "[::]:0"});
  const std::string port = std::to_string(both->port());
  EXPECT_EQ(both->url(), "http://[::]:" + port);
  for (const std::string host : {"[::1]", "127.0.0.1", "localhost"})
    EXPECT_EQ(get("http://" + host + ":" + port + "/hello", kTime)->body, "hi\n") << host;
  const auto six = start({.listen = "[::1]:0"});
  EXPECT_EQ(get(six->url() + "/hello", kTime)->body, "hi\n");

  std::string folder = (std::filesystem::temp_directory_path() / "doppel-http-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string listen = "unix:" + folder + "/socket";
  {
    const auto server = start({.listen = listen});
    EXPECT_EQ(get(server->url() + "/hello", kTime)->body, "hi\n");
    EXPECT_THAT(std::string(Server::start({.listen = listen}).status().message()), HasSubstr("in use"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/socket"));
  {
    // What a killed daemon left.
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    (folder + "/socket").copy(at.sun_path, sizeof at.sun_path - 1);
    const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ::close(left);
    const auto server = start({.listen = listen});
    EXPECT_EQ(get(server->url() + "/hello", kTime)->body, "hi\n");
  }
  std::filesystem::remove_all(folder);
}

TEST(Hosts, ThatAPageCouldInventAreRefused) {
  const std::vector<std::string> names{"doppel.example.org"};
  for (const std::string_view host :
       {"localhost", "LOCALHOST:9464", "127.0.0.1", "10.1.2.3:9464", "[::1]:9464", "[fd00::1]", "doppel:9464",
        "a.localhost", "doppel.example.org", "Doppel.Example.org.:80", ""})
    EXPECT_EQ(may_be_called(host, names), true) << host;
  for (const std::string_view host :
       {"evil.example", "evil.example:9464", "127.0.0.1.evil.example", "127.0.0.1.nip.io",
        "xlocalhost.example", "example.org", "x.doppel.example.org"})
    EXPECT_EQ(may_be_called(host, names), false) << host;
  for (const std::string_view host :
       {"a b", "a/b", "a:b", "a:", "[::1", "[::1]x", "[x]", "u@localhost", "a:1:2"})
    EXPECT_EQ(may_be_called(host, names), std::nullopt) << host;
  EXPECT_EQ(may_be_called("evil.example", {"*"}), true);

  const auto server = start({.hosts = names});
  const auto status = [&](const std::string& target, const std::string& host) {
    return status_of(ask(server->port(), "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
  };
  EXPECT_EQ(status("/hello", "doppel.example.org"), 200);
  EXPECT_EQ(status("/hello", "evil.example"), 403);
  EXPECT_EQ(status("http://evil.example/hello", "localhost"), 403);
  EXPECT_EQ(status("http://localhost/hello", "evil.example"), 200);  // RFC 9112, 3.2.2
}

std::string gzip(const std::string& text) {
  z_stream z = {};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}
std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(Packed, BodiesAreUnpacked) {
  const auto server = start({.max_body = 300'000});
  const int port = server->port();
  std::string text;
  for (int i = 0; text.size() < 299'000; ++i) text += std::to_string(i) + " ";
  const std::string as_gzip = "Content-Encoding: gzip\r\n", as_zstd = "Content-Encoding: zstd\r\n";
  EXPECT_EQ(body_of(post(port, "/echo", gzip(text), as_gzip)), text);
  EXPECT_EQ(body_of(post(port, "/echo", zstd(text), as_zstd)), text);
  EXPECT_EQ(body_of(post(port, "/echo", gzip("two ") + gzip("members"), as_gzip)), "two members");
  EXPECT_EQ(body_of(post(port, "/echo", zstd("two ") + zstd("frames"), as_zstd)), "two frames");
  EXPECT_EQ(body_of(post(port, "/echo", "plain", "Content-Encoding: identity\r\n")), "plain");
  // The limit counts unpacked bytes.
  const std::string bomb(200 << 20, 'x');
  EXPECT_EQ(status_of(post(port, "/echo", gzip(bomb), as_gzip)), 413);
  EXPECT_EQ(status_of(post(port, "/echo", zstd(bomb), as_zstd)), 413);
  for (const auto& [packed, as] : {std::pair(gzip(text), as_gzip), std::pair(zstd(text), as_zstd)}) {
    EXPECT_EQ(status_of(post(port, "/echo", packed.substr(0, packed.size() / 2), as)), 400);
    EXPECT_EQ(status_of(post(port, "/echo", packed.substr(0, packed.size() - 1), as)), 400);
    EXPECT_EQ(status_of(post(port, "/echo", packed + "more", as)), 400);
    EXPECT_EQ(status_of(post(port, "/echo", "plain", as)), 400);
    EXPECT_EQ(status_of(post(port, "/echo", "", as)), 400);
  }
  const std::string other = post(port, "/echo", "x", "Content-Encoding: br\r\n");
  EXPECT_EQ(status_of(other), 415);
  EXPECT_THAT(other, HasSubstr("Accept-Encoding: gzip, zstd\r\n"));
  EXPECT_EQ(status_of(post(port, "/echo", gzip(zstd("x")), "Content-Encoding: zstd, gzip\r\n")), 415);
}

// A client's share of the memory is as large as the largest body, packed or not.
TEST(Packed, TheLargestBodyFitsIntoTheShareOfItsClient) {
  ServerOptions options;
  options.max_body = options.bodies / 4;
  const auto server = start(options);
  server->route("POST", "/length",
                [](const Request& request) { return Response{.body = std::to_string(request.body.size())}; });
  const std::string largest(options.max_body, 'x'), bomb(options.max_body + 1, 'x');
  for (const bool zstds : {false, true}) {
    const auto pack = [&](const std::string& text) { return zstds ? zstd(text) : gzip(text); };
    const std::string as = std::string("Content-Encoding: ") + (zstds ? "zstd" : "gzip") + "\r\n";
    EXPECT_EQ(body_of(post(server->port(), "/length", pack(largest), as)), std::to_string(largest.size()));
    EXPECT_EQ(status_of(post(server->port(), "/length", pack(bomb), as)), 413);
  }
}

TEST(Stop, AnswersWhatItHasBegun) {
  auto server = start();
  std::latch begun(1), end(1);
  server->route("GET", "/waits", [&](const Request&) {
    begun.count_down();
    end.wait();
    return Response{.body = "done"};
  });
  const RawClient waits(server->port()), idle(server->port());
  idle.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  waits.send("GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  begun.wait();
  std::jthread stop([&] { server->stop(); });
  EXPECT_EQ(bodies(idle.receive()), "hi\n|");  // closed
  end.count_down();
  const std::string answer = waits.receive();
  EXPECT_EQ(bodies(answer), "done|");
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
}

}  // namespace
}  // namespace doppel::http
