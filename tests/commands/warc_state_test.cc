// One state directory for records of every kind, in any order of commands: the first WARC record also stores
// how pages in WARC files are read. The index keeps this, and refuses only a different value.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "commands/daemon.h"
#include "commands/run_doppel.h"
#include "packed.h"
#include "zipped.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

std::string words(int number) {
  std::string out;
  for (int i = 0; i < 40; ++i) out += fmt::format("w{0}x{1} ", number, i);
  return out;
}

std::string line(int number, int copy) {
  return fmt::format("{{\"id\":\"{0}-{1}\",\"text\":\"lines {2}\"}}\n", number, copy, words(number));
}

// A page in the frame of one of many sites: only its main text occurs elsewhere.
std::string response(int number, int site) {
  std::string menu;
  for (int i = 0; i < 60; ++i) menu += fmt::format("<li><a href={0}>Chapter {0} of site {1}</a>", i, site);
  const std::string http = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><nav><ul>{}</ul></nav><article><p>{}</p>"
      "<p>{}</p></article></body></html>",
      menu, words(number + 100), words(number + 1'000'000));
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://{}.example/{}\r\n"
      "WARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\n"
      "Content-Length: {}\r\n\r\n{}\r\n\r\n",
      site, number, http.size(), http);
}

std::string conversion(int number) {
  const std::string text = "plain " + words(number + 200);
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://wet.example/{}\r\n"
      "WARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{}\r\n\r\n",
      number, text.size(), text);
}

size_t count(const std::string& text, const std::string& of) {
  size_t out = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++out;
  return out;
}

// Runs commands on one state directory, and knows the earlier documents.
class Life {
 public:
  explicit Life(uint64_t seed) : random_(seed) {}

  void step() {
    static constexpr void (Life::* kSteps[])() = {&Life::lines_file,
                                                  &Life::lines_on_stdin,
                                                  &Life::warc,
                                                  &Life::warc_on_stdin,
                                                  &Life::open_then_renamed,
                                                  &Life::wet,
                                                  &Life::wacz,
                                                  &Life::no_extension,
                                                  &Life::signed_lines,
                                                  &Life::signed_warc,
                                                  &Life::serve};
    (this->*kSteps[random_() % std::size(kSteps)])();
  }
  const std::string& told() const { return told_; }

 private:
  struct Made {
    std::string bytes;
    size_t documents = 0, copies = 0;
  };
  Made made(const std::string& kind, const std::function<std::string(int)>& record) {
    Made out;
    out.documents = 1 + random_() % 4;
    for (size_t i = 0; i < out.documents; ++i) {
      const int number = static_cast<int>(random_() % 6);
      out.bytes += record(number);
      if (!seen_.insert(kind + std::to_string(number)).second) ++out.copies;
    }
    return out;
  }
  Made some_lines() {
    return made("lines", [&](int number) { return line(number, ++copies_); });
  }
  Made some_pages() {
    return made("pages", [&](int number) { return response(number, ++copies_); });
  }
  std::string name(const std::string& end) { return dir_ / fmt::format("in/{:03}{}", ++files_, end); }
  std::string state() const { return dir_ / "state"; }

  void scan(const std::string& what, const std::string& arguments, const Made& expected) {
    told_ += "\n  " + what;
    const Ran ran = run_doppel("scan --all --state " + state() + " " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err << told_;
    EXPECT_EQ(count(ran.out, "\n"), expected.documents) << ran.out << ran.err << told_;
    EXPECT_EQ(count(ran.out, "\"verdict\":\"duplicate\""), expected.copies) << ran.out << told_;
  }
  void file(const std::string& what, const std::string& end, const Made& made) {
    const std::string path = name(end);
    write_file(path, made.bytes);
    scan(what, path, made);
  }
  static Made packed(Made made) {
    made.bytes = gz(made.bytes);
    return made;
  }

  void lines_file() { file("lines", ".jsonl", some_lines()); }
  void warc() { file("warc", ".warc.gz", packed(some_pages())); }
  void no_extension() { file("no extension", "", some_pages()); }
  void wet() { file("wet", ".warc.wet.gz", packed(made("wet", conversion))); }
  void wacz() {
    Made pages = some_pages();
    pages.bytes = zipped({{"archive/a.warc.gz", gz(pages.bytes)}});
    file("wacz", ".wacz", pages);
  }
  void on_stdin(const std::string& what, const Made& made) {
    write_file(dir_ / "stdin", made.bytes);
    scan(what, "- <" + (dir_ / "stdin"), made);
  }
  void lines_on_stdin() { on_stdin("lines on stdin", some_lines()); }
  void warc_on_stdin() { on_stdin("warc on stdin", some_pages()); }
  void open_then_renamed() {
    const std::string path = name(".warc.gz");
    const Made made = packed(some_pages());
    write_file(path + ".open", made.bytes);
    scan(".open", path + ".open", made);
    fs::rename(path + ".open", path);
    scan("renamed", path, {});
  }
  void sign(const std::string& what, const std::string& end, const Made& made) {
    const std::string path = name(end);
    write_file(path, made.bytes);
    const Ran ran = run_doppel("sign -q --state " + state() + " -o " + path + ".signed " + path);
    EXPECT_EQ(ran.code, 0) << ran.err << told_;
    scan(what, "--format signed " + path + ".signed", made);
  }
  void signed_lines() { sign("signed lines", ".jsonl", some_lines()); }
  void signed_warc() { sign("signed warc", ".warc", some_pages()); }
  void serve() {
    const std::string folder = name(".d");
    const Made lines = some_lines(), pages = some_pages();
    write_file(folder + "/a.jsonl", lines.bytes);
    write_file(folder + "/b.warc", pages.bytes);
    told_ += "\n  serve";
    Daemon daemon({"serve", "--state", state(), "--set", "output.verdicts=all", folder});
    std::string out;
    for (size_t i = 0; i < lines.documents + pages.documents; ++i) {
      const std::string event = daemon.line();
      if (event.empty()) break;
      out += event + "\n";
    }
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0) << told_;
    EXPECT_EQ(count(out, "\"type\":\"duplicate-of\""), lines.copies + pages.copies) << out << told_;
  }

  TempDir dir_;
  std::mt19937_64 random_;
  std::set<std::string> seen_;
  int files_ = 0, copies_ = 0;
  std::string told_;
};

TEST(WarcState, CommandsInAnyOrder) {
  const uint64_t seed = std::random_device()();
  for (uint64_t life = 0; life < 6 && !::testing::Test::HasFailure(); ++life) {
    SCOPED_TRACE(fmt::format("seed {}", seed + life));
    Life one(seed + life);
    for (int i = 0; i < 8 && !::testing::Test::HasFailure(); ++i) one.step();
  }
}

// From its first WARC record on, and not before, this state reads pages differently.
TEST(WarcState, IsRefusedOnlyWhereItDiffers) {
  TempDir dir;
  write_file(dir / "a.jsonl", line(1, 1));
  write_file(dir / "b.warc", response(1, 1));
  write_file(dir / "c.jsonl", line(2, 1));
  write_file(dir / "d.warc", response(2, 1));
  write_file(dir / "e.jsonl", line(3, 1));
  const std::string scan = "scan -q --state " + (dir / "state") + " ";
  const auto none = [&](const char* name) { return scan + "--extract none " + (dir / name); };
  EXPECT_EQ(run_doppel(scan + (dir / "a.jsonl")).code, 0);
  EXPECT_EQ(run_doppel(none("b.warc")).code, 0);
  EXPECT_EQ(run_doppel(scan + (dir / "c.jsonl")).code, 0);
  for (int i = 0; i < 2; ++i) {
    const Ran refused = run_doppel(scan + (dir / "d.warc"));
    EXPECT_EQ(refused.code, 3);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr("pages: the index was made with none "));
    EXPECT_THAT(refused.err, HasSubstr("; that was input.extract: none"));
    EXPECT_THAT(refused.err, HasSubstr("with other settings; use those, or a new state directory"));
  }
  EXPECT_EQ(run_doppel(scan + (dir / "e.jsonl")).code, 0);
  EXPECT_EQ(run_doppel(none("d.warc")).code, 0);
}

}  // namespace
}  // namespace doppel::testing
