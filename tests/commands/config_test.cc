#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;  // stdout and stderr as they came
};

// Runs `doppel ARGUMENTS` through the shell, so `VARIABLE=value` may stand before.
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
                           ":1: threshold: 2 is not between 0 and 1 (0.5 to 0.95 are usual)\n"
                           "doppel config: " +
                           file_ + ":2: state.fsnyc: no such key (did you mean state.fsync?)\n");
  EXPECT_EQ(run("config check " + file_ + ".missing").code, 2);
}

TEST_F(ConfigCommand, PrintsWhatIsInEffectAsAFile) {
  write("max_checks: 10\n");
  std::string flags =
      "--config " + file_ + " --set threshold=0.7 --set threshold=.75 --set input.id='[a, b c]'";
  Result printed = run("config print " + flags, "DOPPEL_THREADS=2");
  EXPECT_EQ(printed.code, 0);
  EXPECT_THAT(printed.out, HasSubstr("threshold:                   0.75 "));
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
