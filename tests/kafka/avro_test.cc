// Documents in Avro, written by Confluent's serializer, with the schemas of a real registry (Apicurio). nginx
// stands in front of the registry, for TLS and passwords. scripts/registry fetches and starts both.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "fetch/nginx.h"
#include "kafka/broker.h"
#include "kafka/index_setup.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the last line of a command's output.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  std::string said;
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) said.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << said;
  while (said.ends_with('\n')) said.pop_back();
  return said.substr(said.rfind('\n') + 1);
}

std::string registry(const std::string& arguments) {
  return output_of(fmt::format("'{}/scripts/registry' {}", DOPPEL_SOURCE_DIR, arguments));
}

// A registry for this process.
class Registry {
 public:
  Registry() : url(registry(fmt::format("start --port 0 --dir '{}'", dir_ / "r"))) {}
  ~Registry() { registry(fmt::format("stop --dir '{}'", dir_ / "r")); }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  TempDir dir_;

 public:
  const std::string url;
};

// nginx with TLS that asks for user and password, and passes requests on to the registry.
class Guard {
 public:
  explicit Guard(const std::string& registry)
      : port(free_port()), url(fmt::format("https://127.0.0.1:{}/apis/ccompat/v7", port)) {
    fs::permissions(dir_.path(), fs::perms::all);
    output_of(
        fmt::format("cd '{}' && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
                    "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out ca.pem 2>&1",
                    dir_.path().string()));
    write_file(dir_ / "users", "reader:{PLAIN}secret\n");
    server_ = fmt::format(
        "ssl_certificate {0}/ca.pem; ssl_certificate_key {0}/key.pem; auth_basic registry; "
        "auth_basic_user_file {0}/users; location / {{ proxy_pass {1}; }}",
        dir_.path().string(), registry.substr(0, registry.find("/apis")));
  }
  void open() {
    nginx_ = std::make_unique<Nginx>(dir_.path().string(), port, server_, "ssl");
    ASSERT_TRUE(nginx_->running) << "nginx did not start (Debian: nginx-light)";
  }
  std::string ca() const { return dir_ / "ca.pem"; }

 private:
  TempDir dir_;
  std::string server_;
  std::unique_ptr<Nginx> nginx_;

 public:
  const int port;
  const std::string url;
};

TEST(Avro, DocumentsWithTheSchemasOfARegistry) {
  const Registry registry_of_schemas;
  Guard guard(registry_of_schemas.url);
  TempDir dir;
  write_file(dir / "credentials", "reader:wrong\n");
  IndexSetup setup(Broker::shared().bootstrap(),
                   {{"input.format", "avro"},
                    {"input.id", "number"},
                    {"input.text", "/meta/text"},
                    {"input.date", "/meta/at"},
                    {"input.tags", "[/labels/site]"},
                    {"schema_registry.url", guard.url},
                    {"schema_registry.ca_file", guard.ca()},
                    {"schema_registry.credentials_file", dir / "credentials"}},
                   1);
  output_of(fmt::format("'{}' '{}/tests/kafka/registry/produce.py' {} {} {} 2>&1", registry("python"),
                        DOPPEL_SOURCE_DIR, setup.bootstrap(), registry_of_schemas.url, setup.input()));
  // Records that nobody can read: an unknown id, bytes that end too early, and a value without an id.
  std::vector<Message> broken;
  const std::vector<Message> good = read_all(setup.bootstrap(), setup.input());
  ASSERT_EQ(good.size(), 20U);
  broken.push_back({.value = std::string("\0\xff\xff\xff\xff\x02", 6)});
  broken.push_back({.value = good[0].value->substr(0, 50)});
  broken.push_back({.value = "{\"number\":1}"});
  Client(setup.bootstrap()).produce(setup.input(), broken);

  const Ran away = setup.run("config check --connect");
  EXPECT_EQ(away.code, 3) << away.err;
  EXPECT_THAT(away.err, HasSubstr("https://127.0.0.1"));
  const auto daemon = setup.serve();
  ASSERT_TRUE(daemon->await_line("ready")) << daemon->said();
  // First the registry is away, then it refuses the password, then it answers.
  ASSERT_TRUE(daemon->await_line("waiting for the schema registry")) << daemon->said();
  guard.open();
  const Ran refused = setup.run("config check --connect");
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("schema_registry.credentials_file names a user without"));
  write_file(dir / "credentials", "reader:secret\n");
  const Ran fine = setup.run("config check --connect");
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_THAT(fine.out, AllOf(HasSubstr("schema registry " + guard.url), HasSubstr("AVRO")));
  ASSERT_TRUE(setup.await_all(*daemon)) << daemon->said();
  daemon->terminate();
  ASSERT_EQ(daemon->await_exit(), 0) << daemon->said();
  EXPECT_THAT(daemon->said(), HasSubstr("the schema registry answers again"));

  const std::vector<Message> events = read_all(setup.bootstrap(), setup.options().output.topic);
  ASSERT_EQ(events.size(), 10U) << daemon->said();
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_THAT(*events[i].value,
                AllOf(HasSubstr(fmt::format(R"("document":{{"id":"{}")", 2 * i + 1)),
                      HasSubstr(fmt::format(R"("date":"2026-01-31T12:00:{:02}Z")", 2 * i + 1))));
  }
  std::map<std::string, std::string> letters;
  for (const Message& m : read_all(setup.bootstrap(), setup.options().output.dead_letters)) {
    letters[m.header("__connect.errors.offset")] = m.header("__connect.errors.exception.message");
  }
  EXPECT_EQ(letters.size(), 3U);
  EXPECT_THAT(letters["20"], HasSubstr("schema_unknown: the registry has no schema 4294967295"));
  EXPECT_THAT(letters["21"], AllOf(HasSubstr("avro: byte "), HasSubstr("/meta/text: a value of")));
  EXPECT_THAT(letters["22"], HasSubstr("not_framed"));
  EXPECT_EQ(setup.compare_with_rebuilt(), "");

  // An index that is rebuilt from the documents is the same.
  const Ran rebuilt = setup.run(
      fmt::format("rebuild --from documents --set kafka.index_log={}-again --set state.directory={}",
                  setup.options().kafka.index_log, dir / "again"));
  EXPECT_EQ(rebuilt.code, 0) << rebuilt.err;
  EXPECT_THAT(rebuilt.err, HasSubstr("duplicates=10 rejected=3"));
  // A signer reads them, too, and writes a rejected record for each unreadable one.
  const std::string signed_topic = setup.options().kafka.index_log + "-signed";
  Daemon signer({"sign", "--config", setup.config_file(), "--to", signed_topic},
                {{"DOPPEL_HASH_KEY", kHashKey}});
  ASSERT_TRUE(signer.await_line("signing")) << signer.said();
  EXPECT_EQ(Reader(setup.bootstrap(), signed_topic).read(23).size(), 23U);
  signer.terminate();
  EXPECT_EQ(signer.await_exit(), 0) << signer.said();
  EXPECT_THAT(signer.said(), HasSubstr("3 of them rejected"));
}

}  // namespace
}  // namespace doppel::testing
