// doppel scan --against: indexes that are only read, whose originals come first.
#include <gmock/gmock.h>

#include <random>

#include "daemon.h"
#include "doppel/index.h"
#include "run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string document(const std::string& id, const std::string& text) {
  return R"({"id":")" + id + R"(","url":"http://x.example/)" + id + R"(","text":")" + text + "\"}\n";
}

// Words of a few topics, so that there are copies of every degree within a part and between parts.
std::string part(std::mt19937& random, const std::string& name, int documents) {
  std::string out;
  for (int i = 0; i < documents; ++i) {
    const auto topic = random() % 30, from = random() % 4;
    std::string text;
    for (auto w = from; w < (random() % 6 == 0 ? from + 3 : 60 + random() % 6); ++w)
      text += "t" + std::to_string(topic) + "w" + std::to_string(w) + " ";
    out += document(name + std::to_string(i), text);
  }
  return out;
}

// Returns the lines from the first one of this file on.
std::string of_file(const std::string& lines, const std::string& file) {
  std::istringstream in(lines);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.find(R"("event_id":")" + file) != std::string::npos) out += line + "\n";
  return out;
}

class AgainstTest : public ::testing::Test {
 protected:
  AgainstTest() {
    write_file(dir_ / "key", "00112233445566778899aabbccddeeff\n");
    a_ = part(random_, "a", 150);
    b_ = part(random_, "b", 150);
    write_file(dir_ / "a.jsonl", a_);
    write_file(dir_ / "b.jsonl", b_);
  }
  std::string scan(const std::string& more) const { return "scan -q " + settings_ + " " + more; }
  std::string in(const std::string& name) const { return dir_ / name; }

  unsigned seed_ = std::random_device()();
  std::mt19937 random_{seed_};
  TempDir dir_;
  std::string a_, b_, settings_;
};

TEST_F(AgainstTest, SaysWhatScanningItsDocumentsFirstWouldSay) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (const std::string settings : {"", " --set verify=signature --set num_perm=64 --threshold 0.6",
                                     " --set relations=near,contained,shares --set "
                                     "passage_words=20",
                                     " --set max_listed=2 --set max_checks=1"}) {
    for (const std::string output : {"", "--all "}) {
      settings_ = "--set hash_key_file=" + in("key") + settings;
      fs::remove_all(in("A"));
      ASSERT_EQ(run_doppel(scan("--state " + in("A") + " " + in("a.jsonl"))).code, 0);
      const Ran both = run_doppel(scan(output + in("a.jsonl") + " " + in("b.jsonl")));
      const Ran against = run_doppel(scan(output + "--against " + in("A") + " " + in("b.jsonl")));
      ASSERT_EQ(against.code, 0) << against.err;
      EXPECT_EQ(against.out, of_file(both.out, in("b.jsonl"))) << settings;
      EXPECT_THAT(against.out, HasSubstr("\"a"));
    }
  }
}

TEST_F(AgainstTest, TheKeyIsThatOfTheIndexAndNothingIsWritten) {
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  const auto bytes = [&] {
    std::string out;
    for (const char* name : {"hot", "bodies", "journal"}) out += read_file(in("A") + "/" + name);
    return out;
  };
  const std::string before = bytes();
  fs::permissions(in("A"), fs::perms::owner_read | fs::perms::owner_exec);
  const Ran ran = run_doppel("scan --against " + in("A") + " " + in("a.jsonl"));
  fs::permissions(in("A"), fs::perms::owner_all);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("0 unique, "));
  EXPECT_THAT(ran.err, HasSubstr("0 originals in addition to "));
  EXPECT_EQ(bytes(), before);
}

TEST_F(AgainstTest, AStateGoesOnThoughTheOtherIndexHasGrown) {
  const std::string c = part(random_, "c", 80), more = part(random_, "m", 80);
  write_file(in("c.jsonl"), c);
  write_file(in("m.jsonl"), more);
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  const std::string with = "--state " + in("S") + " --against " + in("A") + " ";
  const Ran first = run_doppel(scan(with + in("b.jsonl")));
  ASSERT_EQ(first.code, 0) << first.err;
  run_doppel(scan("--state " + in("A") + " " + in("m.jsonl")));
  const Ran second = run_doppel(scan("--all " + with + in("b.jsonl") + " " + in("c.jsonl")));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(of_file(second.out, in("b.jsonl")), "");  // it contains nothing new
  // The state has only documents that no index had: another run finds nothing unique.
  const Ran again = run_doppel("scan --against " + in("A") + " --against " + in("S") + " " + in("b.jsonl") +
                               " " + in("c.jsonl"));
  EXPECT_THAT(again.err, HasSubstr("  0 unique")) << again.err;
  EXPECT_THAT(run_doppel("inspect " + in("S")).code, 0);

  const Ran forgotten = run_doppel(scan("--state " + in("S") + " " + in("c.jsonl")));
  EXPECT_EQ(forgotten.code, 3);
  EXPECT_THAT(forgotten.err, HasSubstr("against: the index was made with"));
}

TEST_F(AgainstTest, TheSameDocumentInAnotherIndexIsAnOriginal) {
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  const Ran ran =
      run_doppel(scan("--all --state " + in("S") + " --against " + in("A") + " " + in("a.jsonl")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\"unique\"")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\"again\"")));
}

// A daemon forgets its own originals, but none of the other index, and continues where it stopped.
TEST_F(AgainstTest, ADaemonOnFiles) {
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  const std::string first = a_.substr(0, a_.find('\n') + 1);
  const auto renamed = [](std::string line, const std::string& id) {
    return line.replace(line.find("a0"), 2, id).replace(line.find("example/") + 8, 2, id);
  };
  const std::string own = "one two three four five six seven eight nine ten";
  const std::vector<std::string> arguments{
      "serve", "--state", in("S"), "--set", "against=" + in("A"), "--set", "output.verdicts=all", in("in")};
  write_file(in("in/1.jsonl"), renamed(first, "x0") + document("mine", own));
  {
    Daemon daemon(arguments);
    EXPECT_THAT(daemon.line(), HasSubstr(R"("type":"duplicate-of")"));
    EXPECT_THAT(daemon.line(), HasSubstr(R"("type":"verdict")"));
    EXPECT_EQ(run_doppel("forget --state " + in("S") + " --id a0").code, 1);  // there is none
    EXPECT_EQ(run_doppel("forget --state " + in("S") + " --id mine").code, 0);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
  }
  write_file(in("in/2.jsonl"), renamed(first, "x1") + document("again", own) + document("more", own));
  Daemon daemon(arguments);
  EXPECT_THAT(daemon.line(), HasSubstr(R"("cluster_id":")" + in("a.jsonl") + "/0"));
  EXPECT_THAT(daemon.line(), HasSubstr(R"("verdict":"unique")"));
  EXPECT_THAT(daemon.line(), HasSubstr(R"("id":"again")"));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

// A program names the indexes that an index was made with, and continues it; then so does scan.
TEST_F(AgainstTest, AProgramContinuesIt) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  const std::string both = "--state " + in("B") + " --against " + in("A") + " ";
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  ASSERT_EQ(run_doppel(scan(both + in("b.jsonl"))).code, 0);
  const auto refused = Index::open(in("B"));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("give the directories of the indexes"));
  const std::string begin = R"("text":")";
  const size_t at = a_.find(begin) + begin.size();
  const std::string first = a_.substr(at, a_.find('"', at) - at), fresh = "a text of nobody else at all";
  {
    const auto index = Index::open(in("B"), {.against = {in("A")}}).value();
    const size_t before = index->size();
    EXPECT_EQ(index->insert({.id = "p", .text = first})->duplicate_of, "a0");
    EXPECT_EQ(index->insert({.id = "fresh", .text = fresh})->verdict, Verdict::unique);
    EXPECT_EQ(index->size(), before + 1);
  }
  write_file(dir_ / "c.jsonl", document("c", fresh));
  const Ran again = run_doppel(scan(both + in("c.jsonl")));
  EXPECT_THAT(again.out, HasSubstr(R"("id":"fresh")")) << again.err;
}

TEST_F(AgainstTest, RefusesWhatCannotBe) {
  run_doppel(scan("--state " + in("A") + " " + in("a.jsonl")));
  const auto refused = [&](const std::string& flags) {
    return run_doppel(scan(flags + " " + in("b.jsonl")));
  };
  const std::string against = "--against " + in("A");
  EXPECT_THAT(refused("--against " + in("none")).err, HasSubstr("there is no index in it"));
  EXPECT_THAT(refused(against + " --set shingle_words=3").err,
              HasSubstr("shingle_words: the index was made with 5, now 3"));
  EXPECT_THAT(refused(against + " --set verify=signature").err,
              HasSubstr("verify: the index was made with exact, now signature"));
  EXPECT_THAT(refused(against + " --set expire_after=30d").err, HasSubstr("against: not with expire_after"));
  EXPECT_THAT(refused(against + " --state " + in("A")).err, HasSubstr("that is the index itself"));
  EXPECT_THAT(refused(against + " --keep " + in("A") + "/kept.jsonl").err, HasSubstr("only read"));
  run_doppel(scan("--state " + in("T") + " " + in("a.jsonl")));  // has another key
  EXPECT_THAT(refused(against + " --against " + in("T")).err, HasSubstr("hash_key_fingerprint"));
}

}  // namespace
}  // namespace doppel::testing
