// A signal that comes before a command has begun its work ends it in order, like any later one.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "commands/daemon.h"
#include "commands/run_doppel.h"

namespace doppel::testing {
namespace {

// Returns the exit code of a command that gets this signal before its first instruction.
int stopped_at_once(const std::vector<std::string>& arguments, int signal) {
  Daemon command(arguments);
  command.signal(signal);
  return command.wait();
}

TEST(Stop, BeforeTheFirstInstruction) {
  TempDir dir;
  fs::create_directories(dir / "in");
  write_file(dir / "a.jsonl", "{\"id\":\"a\",\"text\":\"one two three four five six\"}\n");
  // Nobody listens there, so each command would wait for the brokers.
  const std::string brokers = "kafka.brokers=127.0.0.1:1";
  const std::vector<std::string> topics{
      "--set", brokers, "--set", "kafka.topics=documents", "--set", "state.directory=" + (dir / "kafka")};
  const auto with_topics = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), topics.begin(), topics.end());
    return arguments;
  };
  for (const int signal : {SIGTERM, SIGINT}) {
    SCOPED_TRACE(signal);
    EXPECT_EQ(stopped_at_once({"serve", "--state", dir / "state", dir / "in"}, signal), 0);
    EXPECT_EQ(stopped_at_once(with_topics({"serve"}), signal), 0);
    EXPECT_EQ(stopped_at_once(with_topics({"sign", "--to", "signed"}), signal), 0);
    EXPECT_EQ(stopped_at_once({"sign", "-o", dir / "out.signed", dir / "a.jsonl"}, signal), 130);
    EXPECT_EQ(stopped_at_once({"scan", "-o", dir / "out.jsonl", dir / "a.jsonl"}, signal), 130);
  }
}

TEST(Stop, ARebuildThatWaitsForItsBrokersEndsSoon) {
  for (const char* from : {"log", "state", "documents"}) {
    TempDir dir;
    Daemon rebuild({"rebuild", "--from", from, "--state", dir / "state", "--set", "kafka.brokers=127.0.0.1:1",
                    "--set", "kafka.topics=documents"});
    rebuild.log("waiting for Kafka");
    rebuild.signal(SIGTERM);
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(rebuild.wait(), 130) << from;
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5)) << from;
  }
}

}  // namespace
}  // namespace doppel::testing
