// Every command with a stdout that nobody reads or that is full, and with a stderr that is closed, that
// nobody reads, or that is full: users meet these with `| head`, full disks and supervisors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::TempDir;
using testing::write_file;

constexpr int kClosed = 128 + SIGPIPE;

std::string text(int from) {
  std::string out;
  for (int i = from; i < from + 40; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}

class Streams : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string a = R"({"id":"a","text":")" + text(0) + "\"}\n",
                      b = R"({"id":"b","text":")" + text(0) + "\"}\n";
    write_file(dir_ / "in.jsonl", a + b);
    write_file(dir_ / "a.txt", text(0));
    write_file(dir_ / "b.txt", text(1));
    write_file(dir_ / "c.yaml", "threshold: 0.7\n");
    write_file(
        dir_ / "events.jsonl",
        R"({"type":"duplicate-of","event_id":"e/1","document":{"id":"b","url":"http://b/","date":)"
        R"("2026-01-01T00:00:00Z","digest":"sha1:AAAA"},"original":{"id":"a","event_id":"e/0","url":"http://a/",)"
        R"("date":"2026-01-01T00:00:00Z","digest":"sha1:AAAA"},"cluster_id":"e/0","kind":"exact",)"
        R"("similarity":1,"relation":{"same_payload":true}})"
        "\n");
    run("scan -q --state idx in.jsonl", "/dev/null", "/dev/null");
    if (testing::kLab) {
      run("lab sets --sets 20", "sets", "/dev/null");
      run("lab map <sets | LC_ALL=C sort", "buckets", "/dev/null");
    }
  }

  // `out` and `err` are the targets of stdout and stderr, in the shell's notation after > and 2>. &9 is a
  // pipe that nobody reads.
  int run(const std::string& arguments, const std::string& out, const std::string& err) {
    int pipe[2];
    EXPECT_EQ(::pipe(pipe), 0);
    ::close(pipe[0]);
    ::dup2(pipe[1], 9);
    ::close(pipe[1]);
    // SIGPIPE has a shell's default, whatever runs the test.
    const std::string command = "cd " + dir_.path().string() +
                                " && DOPPEL_HTTP_LISTEN= timeout 60 '" DOPPEL_BINARY "' " + arguments +
                                " 2>" + err + " >" + out;
    std::signal(SIGPIPE, SIG_DFL);
    const int status = std::system(command.c_str());  // NOLINT(cert-env33-c)
    ::close(9);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string file(const std::string& name) { return read_file(dir_ / name); }

  TempDir dir_;
};

class StandardStreams : public Streams, public ::testing::WithParamInterface<std::string> {};
TEST_P(StandardStreams, NeverAbort) {
  const std::string& arguments = GetParam();
  const int code = run(arguments, "whole", "err");
  ASSERT_EQ(code, 0) << file("err");
  const std::string whole = file("whole");
  ASSERT_FALSE(whole.empty());

  // Like grep: prints nothing, and returns a code that tells why.
  EXPECT_EQ(run(arguments, "&9", "err"), kClosed) << file("err");
  EXPECT_EQ(file("err"), "") << "said to nobody";

  EXPECT_EQ(run(arguments, "/dev/full", "err"), 3);
  EXPECT_THAT(file("err"), HasSubstr("stdout"));
  EXPECT_THAT(file("err"), HasSubstr("No space left on device"));
  EXPECT_THAT(file("err"), HasSubstr("doppel"));

  EXPECT_EQ(run(arguments, "&-", "err"), 3);
  EXPECT_THAT(file("err"), HasSubstr("Bad file descriptor"));

  for (const std::string err : {"&9", "/dev/full", "&-"}) {
    EXPECT_EQ(run(arguments, "out", err), 0) << err;
    // An experiment prints how long it took, and a request is named after the number of its process.
    if (arguments != "lab theory --quick" && !arguments.starts_with("forget ")) {
      EXPECT_EQ(file("out").size(), whole.size()) << err;
    }
    // Both streams fail.
    EXPECT_EQ(run(arguments, "/dev/full", err), 3) << err;
  }
  EXPECT_EQ(run(arguments, "&9", "&9"), kClosed);
  EXPECT_EQ(run(arguments, "&-", "&-"), 3);
}

INSTANTIATE_TEST_SUITE_P(Commands, StandardStreams,
                         ::testing::ValuesIn(testing::with_lab({"--help",
                                                                "--version",
                                                                "help scan",
                                                                "help completion",
                                                                "completion bash",
                                                                "completion man",
                                                                "scan --help",
                                                                "serve --help",
                                                                "scan -q in.jsonl",
                                                                "scan -q --all in.jsonl",
                                                                "scan -q --clusters - <in.jsonl",
                                                                "scan -q -o /dev/null --keep - in.jsonl",
                                                                "clusters --events events.jsonl",
                                                                "tune",
                                                                "tune --json",
                                                                "tune --svg -",
                                                                "tune --sample in.jsonl --json",
                                                                "explain a.txt b.txt",
                                                                "explain a.txt b.txt --json",
                                                                "explain a.txt b.txt --html -",
                                                                "config keys",
                                                                "config print",
                                                                "config check c.yaml",
                                                                "inspect idx",
                                                                "inspect --json idx",
                                                                "forget --state idx --id a"},
                                                               {"lab sets --sets 20", "lab map <sets",
                                                                "lab pairs -t 0.1 <sets",
                                                                "lab theory --quick"})));

// Commands that always write to stderr, too: neither stream affects the other.
class Talking : public Streams, public ::testing::WithParamInterface<std::string> {};
TEST_P(Talking, TheStreamsAreIndependent) {
  const int code = run(GetParam(), "whole", "err");
  ASSERT_LE(code, 2);
  ASSERT_NE(file("err"), "");
  const std::string whole = file("whole");
  for (const std::string err : {"&9", "/dev/full", "&-"}) {
    EXPECT_EQ(run(GetParam(), "out", err), code) << err;
    EXPECT_EQ(file("out").size(), whole.size()) << err;
  }
  EXPECT_EQ(run(GetParam(), "&9", "&9"), whole.empty() ? code : kClosed);
  EXPECT_EQ(run(GetParam(), "/dev/full", "err"), whole.empty() ? code : 3);
}
INSTANTIATE_TEST_SUITE_P(Commands, Talking,
                         ::testing::ValuesIn(testing::with_lab(
                             {"scan in.jsonl", "scan -o out.jsonl in.jsonl", "scan no.jsonl", "no-command",
                              "scan --no-flag", "revisits events.jsonl", "revisits -o r.warc events.jsonl",
                              "explain a.txt", "tune --set no=1", "config check no.yaml",
                              "clusters --events in.jsonl", "inspect nowhere", "rebuild", "forget --id x",
                              "health --set http.listen="},
                             {"lab reduce <buckets"})));

// A daemon's supervisor must see that it failed.
TEST_F(Streams, ServeEndsWithAnErrorThatItsLogNames) {
  for (const auto& [out, why] : {std::pair{"&9", "Broken pipe"}, {"/dev/full", "No space left on device"}}) {
    EXPECT_EQ(run(std::string("serve --state s - <in.jsonl"), out, "err"), 3) << out;
    EXPECT_THAT(file("err"), HasSubstr(why));
  }
  EXPECT_EQ(run("serve --state t - <in.jsonl", "out", "&9"), 0);
  EXPECT_THAT(file("out"), HasSubstr("duplicate-of"));
}

// No file of ours gets the number of a closed stream.
TEST_F(Streams, ClosedOnesAreNoFiles) {
  EXPECT_EQ(run("scan -o out.jsonl in.jsonl <&-", "&-", "&-"), 0);
  const std::string out = file("out.jsonl");
  EXPECT_THAT(out, HasSubstr("duplicate-of"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << "messages went into it: " << out;
}

}  // namespace
}  // namespace doppel
