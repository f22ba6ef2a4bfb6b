// `doppel serve` on files, as a user runs it.
#include <gmock/gmock.h>

#include "commands/daemon.h"
#include "commands/run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string text(int i) {
  std::string out;
  for (int w = 0; w < 40; ++w) out += "word" + std::to_string(i * 100 + w) + " ";
  return out;
}
std::string record(int id, int of) {
  return R"({"id":"d)" + std::to_string(id) + R"(","text":")" + text(of) + "\"}\n";
}

TEST(Serve, ADirectoryThatFills) {
  TempDir dir;
  fs::create_directories(dir / "in");
  const std::vector<std::string> arguments{
      "serve", "--state", dir / "state", "--set", "output.verdicts=all", dir / "in"};
  {
    Daemon daemon(arguments);
    ASSERT_THAT(daemon.log("ready"), HasSubstr("epoch="));
    write_file(dir / "in/a.jsonl", record(1, 1) + record(2, 2));
    EXPECT_THAT(daemon.line(), HasSubstr(R"("type":"verdict")"));
    EXPECT_THAT(daemon.line(), HasSubstr(R"("id":"d2")"));
    write_file(dir / "in/b.txt", text(1));
    const std::string event = daemon.line();
    EXPECT_THAT(event, HasSubstr(R"("type":"duplicate-of")"));
    EXPECT_THAT(event, HasSubstr(R"("id":"d1")"));

    Daemon second(arguments);
    EXPECT_THAT(second.log("ERROR"), HasSubstr("the state directory is in use by process"));
    EXPECT_EQ(second.wait(), 3);

    daemon.signal(SIGTERM);
    EXPECT_THAT(daemon.log("stopped"), HasSubstr("documents=3 unique=2 duplicates=1"));
    EXPECT_EQ(daemon.wait(), 0);
  }
  // What came while nobody looked is judged, and nothing again.
  write_file(dir / "in/c.txt", text(2));
  Daemon daemon(arguments);
  EXPECT_THAT(daemon.line(), HasSubstr("c.txt"));
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 0);
}

// What is forgotten while nothing comes is committed too, and the place in the input with it.
TEST(Serve, ForgetsWhileNothingComes) {
  TempDir dir;
  write_file(dir / "in/a.jsonl", record(1, 1));
  const std::vector<std::string> arguments{
      "serve", "--state", dir / "state", "--set", "output.verdicts=all", dir / "in"};
  {
    Daemon daemon(arguments);
    EXPECT_THAT(daemon.line(), HasSubstr(R"("id":"d1")"));
    EXPECT_EQ(run_doppel("forget --state '" + (dir / "state") + "' --id d1").code, 0);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
  }
  Daemon daemon(arguments);
  ASSERT_THAT(daemon.log("ready"), HasSubstr("epoch="));
  write_file(dir / "in/b.jsonl", record(2, 1));
  const std::string verdict = daemon.line();
  EXPECT_THAT(verdict, HasSubstr(R"("id":"d2")"));
  EXPECT_THAT(verdict, HasSubstr("unique"));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

TEST(Serve, StdinEndsAndIsJudgedLikeAScan) {
  TempDir dir;
  std::string records;
  for (int i = 0; i < 60; ++i) records += record(i, i % 23);
  Daemon daemon({"serve", "--state", dir / "state", "-o", dir / "events", "--keep", dir / "unique",
                 "--rejects", dir / "bad", "-"});
  daemon.say(records + "no JSON\n");
  daemon.close_input();
  EXPECT_THAT(daemon.log("WARN -:61"), HasSubstr("byte"));
  EXPECT_EQ(daemon.wait(), 0);
  write_file(dir / "in.jsonl", records);
  const Ran scan = run_doppel("scan -q --keep '" + (dir / "kept") + "' - < '" + (dir / "in.jsonl") + "'");
  EXPECT_EQ(std::count(scan.out.begin(), scan.out.end(), '\n'), 37);
  const std::string events = read_file(dir / "events");
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 37);
  EXPECT_EQ(read_file(dir / "unique"), read_file(dir / "kept"));
  EXPECT_EQ(read_file(dir / "bad"), "no JSON\n");
}

TEST(Serve, ReadsItsSettingsAgain) {
  TempDir dir;
  fs::create_directories(dir / "in");
  const std::string settings =
      "state: {directory: " + (dir / "state") + "}\nfiles: {paths: [" + (dir / "in") + "]}\n";
  write_file(dir / "doppel.yaml", settings + "log: {format: json}\n");
  Daemon daemon({"serve", "--config", dir / "doppel.yaml"});
  ASSERT_THAT(daemon.log("ready"), HasSubstr(R"("level":"info","message":"ready")"));
  write_file(dir / "doppel.yaml", settings + "log: {level: debug}\nthreshold: 0.9\n");
  daemon.signal(SIGHUP);
  EXPECT_THAT(daemon.log("settings read again"), HasSubstr("log_level=debug needs_restart=threshold"));
  write_file(dir / "doppel.yaml", "nonsense: 1\n");
  daemon.signal(SIGHUP);
  EXPECT_THAT(daemon.log("nothing changes"), HasSubstr("nonsense"));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

TEST(Serve, RefusesWhatCannotWork) {
  TempDir dir;
  fs::create_directories(dir / "in");
  const std::string in = "'" + (dir / "in") + "'", state = " --state '" + (dir / "state") + "' ";
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const Ran ran = run_doppel("serve " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused("", "nothing to read: name files or directories (files.paths), or Kafka (kafka.brokers");
  refused(in, "state.directory: serve needs a place");
  refused(state + "-o '" + (dir / "in/out") + "' " + in, "what is written there would come back");
  refused("--state '" + (dir / "in/state") + "' " + in, "what is written there would come back");
  refused(state + "'" + (dir / "no/file.jsonl") + "'", "neither a file nor its directory");
  refused(state + "a,b", "a path with a comma");
  write_file(dir / "mine", "keep this\n");
  refused(state + "-o '" + (dir / "mine") + "' " + in, "not from this index");
  EXPECT_EQ(read_file(dir / "mine"), "keep this\n");
}

TEST(Serve, SaysWhatIsWrongWithTheServer) {
  TempDir dir;
  fs::create_directories(dir / "in");
  const auto arguments = [&](const std::string& state, const std::string& setting) {
    return std::vector<std::string>{"serve", "--state", dir / state, "--set", setting, dir / "in"};
  };
  Daemon first(arguments("one", "http.listen=127.0.0.1:0"));
  const std::string listening = first.log("listening");
  const size_t at = listening.find("url=http://");
  ASSERT_NE(at, std::string::npos) << listening;
  const std::string place = listening.substr(at + 11);
  Daemon second(arguments("two", "http.listen=" + place));
  EXPECT_THAT(second.log("ERROR"),
              HasSubstr("http.listen: cannot listen on " + place + ": the port is taken"));
  EXPECT_EQ(second.wait(), 3);
  Daemon third(arguments("two", "http.listen=nonsense"));
  EXPECT_THAT(third.log("http.listen"), HasSubstr("not of the form host:port"));
  EXPECT_EQ(third.wait(), 2);
  write_file(dir / "token", "short");
  Daemon fourth({"serve", "--state", dir / "two", "--set", "http.listen=127.0.0.1:0", "--set",
                 "http.token_file=" + (dir / "token"), dir / "in"});
  EXPECT_THAT(fourth.log("http.token_file"), HasSubstr("at least 16 characters"));
  EXPECT_EQ(fourth.wait(), 2);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
}

}  // namespace
}  // namespace doppel::testing
