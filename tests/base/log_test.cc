#include "base/log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace doppel {
namespace {

using log::Form;
using log::Level;

constexpr int64_t kTime = 1767323045678;

TEST(Log, TextForm) {
  EXPECT_EQ(log::line(Form::text, kTime, Level::info, "batch done", {}),
            "2026-01-02T03:04:05.678Z INFO batch done\n");
  EXPECT_EQ(log::line(Form::text, kTime, Level::warn, "a\nb",
                      {{"n", -3},
                       {"u", uint64_t{18446744073709551615u}},
                       {"d", 0.5},
                       {"yes", true},
                       {"path", "/a/b"},
                       {"name", std::string("with space")},
                       {"empty", ""},
                       {"eq", "a=b"}}),
            "2026-01-02T03:04:05.678Z WARN a b n=-3 u=18446744073709551615 d=0.500 yes=true path=/a/b "
            "name=\"with space\" empty=\"\" eq=\"a=b\"\n");
}

TEST(Log, JsonForm) {
  EXPECT_EQ(log::line(Form::json, kTime + 1000, Level::error, "say \"no\"",
                      {{"n", 7}, {"bad", std::string("a\xff\x01\n\\z\xc3\xa4")}, {"nan", std::nan("")}}),
            R"({"time":"2026-01-02T03:04:06.678Z","level":"error","message":"say \"no\"","n":7,)"
            "\"bad\":\"a\xef\xbf\xbd\\u0001\\n\\\\z\xc3\xa4\",\"nan\":null}\n");
}

TEST(Log, NothingBreaksALine) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  for (Form form : {Form::text, Form::json}) {
    const std::string line = log::line(form, kTime, Level::info, all, {{"all", all}});
    EXPECT_EQ(line.find('\n'), line.size() - 1);
  }
}

TEST(Log, HalfCharactersAndSurrogatesAreReplaced) {
  for (const char* wrong :
       {"\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe0\x80\x80"}) {
    const std::string line = log::line(Form::json, kTime, Level::info, wrong, {});
    EXPECT_NE(line.find("\xef\xbf\xbd"), std::string::npos) << line;
    EXPECT_EQ(line.find(wrong), std::string::npos) << line;
  }
}

TEST(Log, Levels) {
  log::configure(Form::text, Level::warn);
  testing::internal::CaptureStderr();
  log::info("not shown");
  log::warn("shown");
  const std::string out = testing::internal::GetCapturedStderr();
  log::configure(Form::text, Level::info);
  EXPECT_EQ(out.find("not shown"), std::string::npos);
  EXPECT_NE(out.find("WARN shown\n"), std::string::npos);
}

TEST(Log, AnotherProgramReceivesLinesOfEveryLevel) {
  static std::vector<std::pair<Level, std::string>> received;
  log::set_receiver([](Level level, std::string_view text) { received.emplace_back(level, text); });
  testing::internal::CaptureStderr();
  log::debug("de\nbug");
  log::warn("two", {{"n", 3}, {"name", "with space"}});
  log::set_receiver(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(received, (std::vector<std::pair<Level, std::string>>{
                          {Level::debug, "de bug"}, {Level::warn, "two n=3 name=\"with space\""}}));
}

TEST(Log, LinesOfThreadsStayWhole) {
  const std::string filler(9000, 'x');  // more than a pipe takes at once
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) log::info("m", {{"t", t}, {"i", i}, {"filler", filler}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream in(testing::internal::GetCapturedStderr());
  std::set<std::string> seen;
  for (std::string line; std::getline(in, line);) {
    const size_t t = line.find(" t=");
    ASSERT_NE(t, std::string::npos);
    ASSERT_TRUE(line.ends_with(" filler=" + filler));
    seen.insert(line.substr(t, line.find(" filler=") - t));
  }
  EXPECT_EQ(seen.size(), 200u);
}

}  // namespace
}  // namespace doppel
