// `doppel serve` on files, as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <sstream>

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
  // Documents that came meanwhile are judged, and nothing else is judged again.
  write_file(dir / "in/c.txt", text(2));
  Daemon daemon(arguments);
  EXPECT_THAT(daemon.line(), HasSubstr("c.txt"));
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 0);
}

// Returns the text between `begin` and `end` in a line.
std::string between(const std::string& line, const std::string& begin, const std::string& end) {
  const size_t at = line.find(begin);
  if (at == std::string::npos) return "no " + begin;
  const size_t from = at + begin.size();
  return line.substr(from, line.find(end, from) - from);
}

// Also if it is killed when a better copy is written, but not committed.
TEST(Serve, AnnouncesEachBetterCopyOnce) {
  const auto scored = [](int id, int of, const std::string& score) {
    return R"({"id":"d)" + std::to_string(id) + R"(","score":)" + score + R"(,"text":")" + text(of) + "\"}\n";
  };
  for (const bool dies : {false, true}) {
    TempDir dir;
    fs::create_directories(dir / "in");
    const auto serve = [&](const std::string& until, bool killed) {
      if (killed) ::setenv("DOPPEL_KILL_AT", "after_outputs:1", 1);
      Daemon daemon({"serve", "--state", dir / "state", "-o", dir / "events", "--set",
                     "output.best=score:max", dir / "in"});
      ::unsetenv("DOPPEL_KILL_AT");
      if (!killed) {
        EXPECT_NE(daemon.log("ready"), "");  // discards what the killed one did not commit
        while (read_file(dir / "events").find(until) == std::string::npos) continue;
        daemon.signal(SIGTERM);
      }
      EXPECT_EQ(daemon.wait(), killed ? 128 + SIGKILL : 0);
    };
    write_file(dir / "in/a.jsonl",
               scored(1, 1, "5") + scored(2, 2, "null") + scored(3, 1, "7") + scored(4, 1, "6"));
    if (dies) serve("", true);
    serve(R"("document":{"id":"d4")", false);
    write_file(dir / "in/b.jsonl", scored(5, 1, "7") + scored(6, 2, "1") + scored(7, 1, "9"));
    if (dies) serve("", true);
    serve(R"("value":9,)", false);

    std::string said;
    std::istringstream events(read_file(dir / "events"));
    for (std::string line; std::getline(events, line);) {
      if (line.find(R"("type":"better-copy")") == std::string::npos) continue;
      said += between(line, R"("document":{"id":")", "\"") + " with " + between(line, R"("value":)", ",");
      const std::string before = line.substr(line.find("instead_of"));
      said += " for " + between(before, R"("id":")", "\"") + " with " + between(before, R"("value":)", "}") +
              "\n";
    }
    EXPECT_EQ(said, "d3 with 7 for d1 with 5\nd6 with 1 for d2 with null\nd7 with 9 for d3 with 7\n");
  }
}

// Requests to forget are committed while no document comes, with the position of the input.
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

// A request counts when it is durable. If it cannot become durable, the command says so and leaves nothing.
TEST(Serve, ARequestThatCannotBeSyncedIsNone) {
  if (std::system("strace -qq -o /dev/null true 2>/dev/null") != 0) GTEST_SKIP() << "no strace";  // NOLINT
  TempDir dir;
  fs::create_directories(dir / "state");
  // The search for leaks does not work under strace.
  const std::string trace =
      "env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e trace=fdatasync,fsync -e inject=";
  const std::string forget = "forget --state '" + (dir / "state") + "' --id d1";
  const Ran ran = run_doppel(forget, trace + "fdatasync:error=EIO:when=1");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr(".request.tmp: cannot sync: Input/output error"));
  EXPECT_TRUE(fs::is_empty(dir / "state/requests"));
  EXPECT_EQ(run_doppel(forget, trace + "fsync:error=EIO:when=1").code, 3);
  EXPECT_EQ(run_doppel(forget).code, 0);
  // The command creates no file of the daemon's: if root asks, it would belong to root.
  EXPECT_FALSE(fs::exists(dir / "state/LOCK"));
}

// The daemon is killed between two pieces of a large request: each original is removed once, and the answer
// covers all of them.
TEST(Serve, ForgetsInPiecesThroughACrash) {
  TempDir dir;
  constexpr int kOriginals = 12'000;
  std::string records;
  for (int i = 0; i < kOriginals; ++i) {
    records += fmt::format(R"({{"id":"d{0}","crawl":"one","text":"d{0}"}})", i);
    records += '\n';
  }
  write_file(dir / "in/a.jsonl", records + R"({"id":"last","text":"last"})" + "\n");
  const std::vector<std::string> arguments{"serve",        "--state", dir / "state",      "-o",
                                           dir / "events", "--set",   "input.tags=crawl", dir / "in"};
  {
    Daemon daemon(arguments);
    ASSERT_NE(daemon.log("ready"), "");
    while (run_doppel("forget --state '" + (dir / "state") + "' --id last").code != 0)
      continue;  // not judged yet
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
  }
  const Ran kept = run_doppel("forget --state '" + (dir / "state") + "' --where crawl=one");
  EXPECT_EQ(kept.code, 0);
  EXPECT_THAT(kept.out, HasSubstr("one that starts in time carries it out: the request is kept until"));
  {
    ::setenv("DOPPEL_KILL_AT", "after_outputs:2", 1);
    Daemon daemon(arguments);
    ::unsetenv("DOPPEL_KILL_AT");
    EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
  }
  Daemon daemon(arguments);
  EXPECT_THAT(daemon.log("forgot originals"), HasSubstr(R"(request="tag=crawl=one" originals=12000)"));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  std::istringstream events(read_file(dir / "events"));
  std::set<std::string> removed;
  size_t count = 0;
  for (std::string line; std::getline(events, line); ++count) {
    EXPECT_THAT(line, HasSubstr(R"("type":"original-removed")"));
    removed.insert(line);
  }
  EXPECT_EQ(count, size_t{kOriginals + 1});
  EXPECT_EQ(removed.size(), count);
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
    // Another daemon may use the default port.
    const Ran ran = run_doppel("serve --set http.listen= " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused("", "nothing to read: name files or directories (files.paths), or Kafka (kafka.brokers");
  refused(in, "state.directory: serve needs a directory");
  refused(state + "-o '" + (dir / "in/out") + "' " + in, "doppel would read what it writes");
  refused("--state '" + (dir / "in/state") + "' " + in, "doppel would read what it writes");
  refused(state + "'" + (dir / "no/file.jsonl") + "'", "neither a file nor its directory");
  refused(state + "a,b", "a path with a comma");
  write_file(dir / "mine", "keep this\n");
  refused(state + "-o '" + (dir / "mine") + "' " + in, "not from this index");
  EXPECT_EQ(read_file(dir / "mine"), "keep this\n");
}

// An output is known by what was written into it, not by how its path is spelled.
TEST(Serve, ContinuesOnlyTheFileThatItHasWritten) {
  TempDir dir;
  const std::string events = dir / "events", state = dir / "state", text = "a b c d e f g";
  const auto run = [&](const std::string& output, const std::string& id) {
    write_file(dir / "one", R"({"id":")" + id + R"(","text":")" + text + "\"}\n");
    return run_doppel("serve --set http.listen= --state '" + state + "' -o '" + output + "' - < '" +
                      (dir / "one") + "'");
  };
  ASSERT_EQ(run(events, "1").code, 0);
  EXPECT_EQ(read_file(events), "");
  write_file(dir / "other", "somebody's\n");
  fs::rename(events, dir / "kept");
  fs::rename(dir / "other", events);  // nothing was written yet, but this is another file
  EXPECT_THAT(run(events, "2").err, HasSubstr("this is not the file"));
  EXPECT_EQ(read_file(events), "somebody's\n");
  fs::rename(dir / "kept", events);

  ASSERT_EQ(run(events, "2").code, 0);
  ASSERT_EQ(run(dir / "./events", "3").code, 0);  // the same file
  const std::string written = read_file(events);
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2);
  fs::copy_file(events, dir / "moved");
  ASSERT_EQ(run(dir / "moved", "4").code, 0);  // a copy holds the same
  EXPECT_TRUE(read_file(dir / "moved").starts_with(written));

  std::string foreign;
  for (int i = 0; i < 100; ++i) foreign += "{\"n\":" + std::to_string(i) + ",\"owner\":\"somebody else\"}\n";
  write_file(dir / "moved", foreign);
  const Ran refused = run(dir / "moved", "5");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("moved: this is not the file to which the state in"),
                                 HasSubstr("put that file back")));
  EXPECT_EQ(read_file(dir / "moved"), foreign);
  const Ran scan =
      run_doppel("scan -q --state '" + state + "' -o '" + (dir / "moved") + "' '" + (dir / "one") + "'");
  EXPECT_EQ(scan.code, 2) << scan.err;
  EXPECT_EQ(read_file(dir / "moved"), foreign);
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
  EXPECT_THAT(second.log("http.listen"), HasSubstr("cannot listen on " + place + ": the port is in use"));
  EXPECT_EQ(second.wait(), 2);
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
