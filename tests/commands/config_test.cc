#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "kafka/librdkafka/connect.h"

namespace doppel {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;  // stdout and stderr as they came
};

// Runs `doppel ARGUMENTS` in the shell; `VARIABLE=value` may precede it.
Result run(const std::string& arguments, const std::string& environment = "") {
  Result result;
  std::string command = environment + " '" DOPPEL_BINARY "' " + arguments + " 2>&1 </dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, n);
  int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::string library() { return kafka::library_version(); }

class ConfigCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/doppel_config_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    file_ = directory_ + "/doppel.yaml";
  }
  void TearDown() override {
    unlink(file_.c_str());
    rmdir(directory_.c_str());
  }
  void write(const std::string& yaml) { std::ofstream(file_) << yaml; }

  std::string directory_, file_;
};

TEST(Doppel, TeachesAndNamesItself) {
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_THAT(run("--help").out, ::testing::ContainsRegex("config +check settings"));
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("").code, 2);
  EXPECT_THAT(run("--version").out, StartsWith("doppel 0."));
  EXPECT_EQ(run("help config").out, run("config --help").out);
  EXPECT_THAT(run("help config").out, HasSubstr("Usage: doppel config"));
}

TEST(Doppel, UnknownCommandsNameTheNearest) {
  EXPECT_EQ(run("confg").code, 2);
  EXPECT_EQ(run("confg").out,
            "doppel: confg: no such command (did you mean config?); 'doppel --help' lists them\n");
  EXPECT_EQ(run("help confg").out, run("confg").out);
}

TEST(Doppel, WrongUsageEndsWith2) {
  EXPECT_EQ(run("config print --bogus").code, 2);
  EXPECT_THAT(run("config print --bogus").out, HasSubstr("--bogus; 'doppel config --help' shows the flags"));
  EXPECT_THAT(run("config print --confg=x").out, HasSubstr("--confg=x (did you mean --config?);"));
  EXPECT_EQ(run("config").code, 2);
  EXPECT_EQ(run("config check").code, 2);
  EXPECT_THAT(run("config print --set threshold").out, HasSubstr("expected KEY=VALUE"));
}

TEST_F(ConfigCommand, ChecksAFile) {
  write("threshold: 0.80\n");
  EXPECT_EQ(run("config check " + file_).code, 0);
  EXPECT_EQ(run("config check " + file_).out, file_ + " is fine: all settings are the defaults\n");
  write("threshold: 0.9\nstate: {fsync: commit}\n");
  EXPECT_EQ(run("config check " + file_).out, file_ +
                                                  " is fine: 2 settings differ from the defaults\n"
                                                  "  threshold: 0.9 (default: 0.8)\n"
                                                  "  state.fsync: commit (default: checkpoint)\n");
  write("threshold: 2\nstate: {fsnyc: commit}\n");
  Result wrong = run("config check " + file_);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "doppel config: " + file_ +
                           ":1: threshold: 2 is not between 0.000001 and 1 (0.5 to 0.95 are usual)\n"
                           "doppel config: " +
                           file_ + ":2: state.fsnyc: no such key (did you mean state.fsync?)\n");
  EXPECT_EQ(run("config check " + file_ + ".missing").code, 2);
}

// Without asking any broker.
TEST_F(ConfigCommand, ChecksTheSettingsOfKafka) {
  const auto wrong = [&](const std::string& kafka, const std::string& why) {
    write("kafka:\n  brokers: localhost\n  topics: [documents]\n" + kafka);
    const Result result = run("config check " + file_);
    EXPECT_EQ(result.code, 2) << kafka;
    EXPECT_THAT(result.out, HasSubstr(why)) << kafka;
  };
  const auto property = [](const std::string& text) { return "  properties: {" + text + "}\n"; };
  wrong(property("sasl.mechanisn: PLAIN"), "kafka.properties: sasl.mechanisn: librdkafka " + library() +
                                               " has no such property (did you mean sasl.mechanism?)");
  wrong(
      property("producer.lingr.ms: 5, fetch.min.bytes: none"),
      "kafka.properties: producer.lingr.ms: librdkafka " + library() + " has no such property (did you mean");
  wrong(property("producer.lingr.ms: 5, fetch.min.bytes: none"), "kafka.properties: fetch.min.bytes: ");
  wrong(property("security.protocol: SASL_SLL"), "Invalid value \"SASL_SLL\" for configuration property");
  wrong(property(
            "security.protocol: SASL_SSL, sasl.mechanism: SCRAM-SHA-1, sasl.username: u, sasl.password: p"),
        "sasl.mechanism: SCRAM-SHA-1 is not known to librdkafka (" + library() + ")");
  wrong(property("security.protocol: SASL_SSL, sasl.mechanism: PLAIN"),
        "sasl.username and sasl.password must be set");
  wrong(property("security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER"),
        "sasl.mechanism: OAUTHBEARER needs a source of tokens: set sasl.oauthbearer.method to oidc");
  for (const std::string name : {"ssl.ca.location", "ssl.key.location", "ssl.certificate.location",
                                 "ssl.keystore.location", "sasl.kerberos.keytab"}) {
    wrong(property("security.protocol: SSL, " + name + ": /missing/file"),
          "kafka.properties: " + name + ": /missing/file: No such file or directory");
  }
  for (const std::string broker :
       {"kafka://localhost:9092", "http://localhost:9092/", "localhost:port", ":9092"}) {
    write("kafka: {brokers: '" + broker + "', topics: [documents]}\n");
    const Result result = run("config check " + file_);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.out, HasSubstr("kafka.brokers: " + broker)) << broker;
    EXPECT_THAT(result.out, HasSubstr("a broker is host:port, such as localhost:9092"));
  }
  write("kafka: {brokers: 'localhost:9092'}\n");
  EXPECT_EQ(run("config check " + file_).out, "doppel config: kafka.topics: name at least one input topic\n");
  write("kafka: {brokers: 'localhost, [::1]:9092,SASL_SSL://b:1', topics: [documents]}\n");
  EXPECT_EQ(run("config check " + file_).code, 0);
}

TEST_F(ConfigCommand, ChecksTheEnvironmentToo) {
  write("threshold: 0.9\n");
  const Result both = run("config check " + file_ + " --set num_perm=64", "DOPPEL_STATE_FSYNC=commit");
  EXPECT_THAT(both.out, HasSubstr("3 settings differ"));
  EXPECT_EQ(run("config check " + file_, "DOPPEL_THRESHOLD=7").code, 2);
  EXPECT_EQ(run("config check --connect " + file_).out,
            "doppel config: kafka.brokers is empty: there is nothing to connect to\n");
}

TEST_F(ConfigCommand, PrintsWhatIsInEffectAsAFile) {
  write("max_checks: 10\n");
  std::string flags =
      "--config " + file_ + " --set threshold=0.7 --set threshold=.75 --set input.id='[a, b c]'";
  Result printed = run("config print " + flags, "DOPPEL_THREADS=2");
  EXPECT_EQ(printed.code, 0);
  EXPECT_THAT(printed.out, ContainsRegex("threshold: +0[.]75 "));
  EXPECT_THAT(printed.out, HasSubstr("# " + file_ + ":1\n"));
  EXPECT_THAT(printed.out, HasSubstr("# environment DOPPEL_THREADS\n"));
  EXPECT_EQ(run("config print", "DOPPEL_CONFIG=" + file_).out, run("config print --config " + file_).out);
  write(printed.out);
  EXPECT_THAT(run("config check " + file_).out, HasSubstr("4 settings differ"));
}

TEST(Doppel, ListsEveryKey) {
  EXPECT_EQ(run("config keys").code, 0);
  EXPECT_THAT(run("config keys").out,
              HasSubstr("state.fsync\n    one of none, checkpoint, commit; default: checkpoint"));
}

}  // namespace
}  // namespace doppel
