// HTTP in TLS: who may connect, new certificates, and clients that are slow or speak something else.

#include "http/tls.h"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "http/certificates.h"
#include "http/get.h"
#include "http/raw_client.h"
#include "http/server.h"

namespace doppel::http {
namespace {

using doppel::testing::make_authority;
using doppel::testing::make_certificate;
using doppel::testing::RawClient;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr milliseconds kLong{20'000};

class TlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string place = fs::temp_directory_path() / "doppel-tls-XXXXXX";
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    folder_ = place + "/";
    make_authority(folder_ + "ca");
    make_authority(folder_ + "other-ca");
    make_certificate(folder_ + "server", folder_ + "ca");
    make_certificate(folder_ + "next", folder_ + "ca");
    make_certificate(folder_ + "stranger", folder_ + "other-ca");
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static TlsFiles files(const std::string& name, const std::string& client_ca = "") {
    return {folder_ + name + ".pem", folder_ + name + ".key",
            client_ca.empty() ? "" : folder_ + client_ca + ".pem"};
  }
  static std::unique_ptr<Server> start(ServerOptions options) {
    options.listen = "127.0.0.1:0";
    auto server = Server::start(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    (*server)->route("GET", "/hello", [](const Request&) { return Response{.body = "hi\n"}; });
    (*server)->route("GET", "/large",
                     [](const Request&) { return Response{.body = std::string(3 << 20, 'x')}; });
    (*server)->route("GET", "/live", [](const Request&) { return Response{.body = "yes\n"}; }, Access::probe);
    (*server)->route("POST", "/echo", [](const Request& r) { return Response{.body = std::string(r.body)}; });
    return *std::move(server);
  }
  static std::string body(const Server& server, const std::string& path, const TlsFiles& as = {}) {
    const absl::StatusOr<Answer> answer = get(server.url() + path, kLong, as);
    return answer.ok() ? answer->body : "failed: " + std::string(answer.status().message());
  }

  inline static std::string folder_;
};

// A client that sends in TLS what a test wants.
class Client {
 public:
  explicit Client(int port) : raw_(port), stream_(*Tls::of_client({}), raw_.fd(), Stream::Side::client) {
    block_sigpipe();
  }
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = stream_.write(text);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  std::string receive() {
    std::string out;
    std::array<char, 65536> piece{};
    for (ssize_t n = 0; (n = stream_.read(piece.data(), piece.size())) > 0;)
      out.append(piece.data(), static_cast<size_t>(n));
    return out;
  }

 private:
  RawClient raw_;  // it blocks
  Stream stream_;
};

TEST_F(TlsTest, Answers) {
  const auto server = start({.tls = files("server")});
  EXPECT_TRUE(server->url().starts_with("https://127.0.0.1:")) << server->url();
  EXPECT_EQ(body(*server, "/hello"), "hi\n");
  EXPECT_EQ(body(*server, "/large"), std::string(3 << 20, 'x'));
  // Many requests on a connection, one behind the other, some of them larger than a record of TLS.
  const std::string large(40'000, 'y');
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string& sent = i % 2 == 0 ? large : "small";
    all += "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(sent.size()) + (i == 19 ? "\r\nConnection: close" : "") + "\r\n\r\n" + sent;
  }
  Client client(server->port());
  ASSERT_TRUE(client.send(all));
  const std::string got = client.receive();
  size_t ok = 0, larges = 0;
  for (size_t at = 0; (at = got.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) ++ok;
  for (size_t at = 0; (at = got.find(large, at)) != std::string::npos; at += large.size()) ++larges;
  EXPECT_EQ(ok, 20u);
  EXPECT_EQ(larges, 10u);
  EXPECT_TRUE(got.ends_with("small"));
  // A refused body: the client sees why before the connection ends.
  Client refused(server->port());
  refused.send("POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx");
  EXPECT_THAT(refused.receive(), HasSubstr("HTTP/1.1 405 "));
}

TEST_F(TlsTest, ClosesConnectionsThatSpeakSomethingElse) {
  const auto server = start({.tls = files("server")});
  EXPECT_EQ(testing::get(server->port(), "/hello").find("HTTP/1.1 200"), std::string::npos);
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 300 + 1, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (i % 2 == 0) bytes = std::string("\x16\x03\x01", 3) + bytes;  // it looks like TLS
    const RawClient client(server->port());
    client.send(bytes);
    client.finish();
    EXPECT_EQ(client.receive().find("HTTP"), std::string::npos);
  }
  EXPECT_EQ(body(*server, "/hello"), "hi\n");
  const auto plain = start({});
  EXPECT_TRUE(
      absl::IsUnavailable(get("https://127.0.0.1:" + std::to_string(plain->port()) + "/", kLong).status()));
}

TEST_F(TlsTest, ASlowHandshakeIsASlowHead) {
  const auto server = start({.connections = 4, .time_out = milliseconds(300), .tls = files("server")});
  const RawClient silent(server->port()), slow(server->port());
  slow.send(std::string_view("\x16\x03\x01", 3));
  EXPECT_EQ(silent.receive(), "");  // closed after the time for a head
  EXPECT_EQ(slow.receive(), "");
  // Those that wait longest make room for others.
  const auto patient = start({.connections = 4, .time_out = milliseconds(60'000), .tls = files("server")});
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 12; ++i) crowd.push_back(std::make_unique<RawClient>(patient->port()));
  EXPECT_EQ(body(*patient, "/hello"), "hi\n");
  EXPECT_EQ(crowd.front()->receive(), "");
}

TEST_F(TlsTest, AsksClientsForCertificates) {
  const auto server = start({.tls = files("server", "ca")});
  EXPECT_THAT(body(*server, "/hello"), HasSubstr("failed: "));
  EXPECT_THAT(body(*server, "/live"), HasSubstr("failed: "));
  EXPECT_THAT(body(*server, "/hello", files("stranger", "ca")), HasSubstr("failed: "));
  EXPECT_EQ(body(*server, "/hello", files("next", "ca")), "hi\n");
}

TEST_F(TlsTest, ReadsItsFilesAgain) {
  const auto put = [](const std::string& pair) {
    for (const char* end : {".pem", ".key"})
      fs::copy_file(folder_ + pair + end, folder_ + "mine" + end, fs::copy_options::overwrite_existing);
  };
  put("server");
  const auto server = start({.tls = files("mine", "ca")});
  EXPECT_EQ(body(*server, "/hello", files("next", "ca")), "hi\n");
  // A connection from before goes on.
  std::ofstream(folder_ + "mine.key") << "no key\n";
  ::testing::internal::CaptureStderr();
  ServedTls::read_all_again();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("http.tls_key: " + folder_ + "mine.key"));
  EXPECT_EQ(body(*server, "/hello", files("next", "ca")), "hi\n");
  put("stranger");
  fs::copy_file(folder_ + "other-ca.pem", folder_ + "ca.pem", fs::copy_options::overwrite_existing);
  ServedTls::read_all_again();
  EXPECT_EQ(body(*server, "/hello", files("stranger", "ca")), "hi\n");
  EXPECT_THAT(body(*server, "/hello", files("next", "ca")), HasSubstr("failed: "));
}

TEST_F(TlsTest, SaysWhatIsWrongWithAFile) {
  const auto said = [](const TlsFiles& files) {
    return std::string(Server::start({.listen = "127.0.0.1:0", .tls = files}).status().message());
  };
  const std::string good = folder_ + "server", other = folder_ + "next";
  EXPECT_THAT(said({folder_ + "none.pem", good + ".key", ""}),
              HasSubstr("http.tls_certificate: " + folder_ +
                        "none.pem: there is no certificate in PEM to read "
                        "(No such file or directory)"));
  EXPECT_THAT(said({good + ".key", good + ".key", ""}),
              HasSubstr("http.tls_certificate: " + good + ".key: there is"));
  EXPECT_THAT(
      said({good + ".pem", other + ".key", ""}),
      HasSubstr("http.tls_key: " + other + ".key: this key does not belong to the certificate in " + good));
  EXPECT_THAT(said({good + ".pem", good + ".pem", ""}),
              HasSubstr("http.tls_key: " + good + ".pem: there is no key"));
  EXPECT_THAT(said({good + ".pem", good + ".key", folder_ + "none"}),
              HasSubstr("http.tls_client_ca: " + folder_ + "none: there is no certificate"));
  testing::run_openssl("ec -aes256 -passout pass:secret -in " + good + ".key -out " + folder_ + "locked.key");
  EXPECT_THAT(said({good + ".pem", folder_ + "locked.key", ""}), HasSubstr("without a password, to read"));
}

}  // namespace
}  // namespace doppel::http
