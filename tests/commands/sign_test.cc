// doppel sign, and the readers of its records: the same verdicts, byte for byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "commands/daemon.h"
#include "commands/run_doppel.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Ran;
namespace fs = testing::fs;
using testing::numbered_words;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

// Templates with different ends: copies of every degree.
std::vector<std::string> texts(uint64_t seed, int documents) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (int i = 0; i < documents; ++i) {
    const int from = static_cast<int>(random() % 30) * 100;
    std::string text = numbered_words(from, from + 60 + static_cast<int>(random() % 12));
    if (random() % 3 == 0) text += " " + numbered_words(9000 + static_cast<int>(random() % 50), 9060);
    if (random() % 20 == 0) text = "";
    if (random() % 30 == 0) text = "word1 word2";
    if (random() % 40 == 0)
      text = numbered_words(from, from + 800 + static_cast<int>(random() % 10));  // a large set
    out.push_back(text);
  }
  return out;
}

// Removes the epochs, which differ from index to index.
std::string without_epochs(std::string events) {
  for (size_t at = 0; (at = events.find(",\"epoch\":", at)) != std::string::npos;)
    events.erase(at, std::min(events.find('}', at), events.size()) - at);
  return events;
}

// Lines of every kind: rejected, without a text, in a scope, with members that events repeat.
std::string lines(uint64_t seed, int documents) {
  std::string out;
  int i = 0;
  for (const std::string& text : texts(seed, documents)) {
    ++i;
    if (i % 41 == 0) out += "{\"id\":\"cut\",\"text\":\"wo\n";
    if (i % 57 == 0) out += "[\"no object\"]\n";
    out += "{\"id\":\"d" + std::to_string(i) + "\",\"text\":\"" + text + "\",\"site\":\"s" +
           std::to_string(i % 2) + "\",\"date\":\"2024-05-" + std::to_string(10 + i % 20) +
           "\",\"url\":\"http://h/" + std::to_string(i) + "\"}\n";
  }
  return out;
}

std::string page(const std::string& text) {
  return "<html><head><title>T</title></head><body><nav>home about</nav><article><p>" + text +
         "</p></article></body></html>\n";
}

std::string warc(uint64_t seed, int documents) {
  std::string out;
  int i = 0;
  for (const std::string& text : texts(seed, documents)) {
    const std::string type = ++i % 11 == 0 ? "image/png" : "text/html";
    const std::string body = page(text);
    const std::string block = fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n\r\n{}", type, body);
    out += "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:" + std::to_string(i) +
           ">\r\nWARC-Date: 2024-05-06T07:08:09Z\r\nWARC-Target-URI: http://h/" + std::to_string(i) +
           "\r\nWARC-Payload-Digest: sha1:" + std::to_string(std::hash<std::string>()(body)) +
           "\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: " +
           std::to_string(block.size()) + "\r\n\r\n" + block + "\r\n\r\n";
  }
  return out;
}

// Expects the same output of scan for documents and for their signed records.
void expect_same(const TempDir& dir, const std::string& input, const std::string& flags,
                 const std::string& name = "signed") {
  const std::string records = dir / name;
  const Ran sign = run_doppel("sign -q " + flags + " " + input + " -o " + records);
  ASSERT_LE(sign.code, 1) << sign.err;
  // The flags about the format are the signer's.
  for (const std::string output : {"--all", "", "--clusters", "--set verify=signature --all"}) {
    const Ran texts = run_doppel(fmt::format("scan -q {} {} {}", output, flags, input));
    const Ran decided = run_doppel(fmt::format("scan -q {} {} --format signed {}", output, flags, records));
    EXPECT_EQ(decided.out, texts.out) << flags << " " << output << decided.err;
    EXPECT_EQ(decided.code, texts.code) << flags << " " << output << decided.err;
    EXPECT_FALSE(texts.out.empty()) << output << texts.err;
  }
}

TEST(Sign, LinesGetTheSameVerdicts) {
  TempDir dir;
  write_file(dir / "in.jsonl", lines(1, 400));
  const std::string in = dir / "in.jsonl";
  expect_same(dir, in, "");
  expect_same(dir, in, "--threads 1 --set num_perm=64");
  expect_same(dir, in, "--set input.scope=site --set input.passthrough=site,date --set input.tags=site");
  expect_same(dir, in,
              "--set min_shingles=20 --set shingle_words=3 --set sketch=classic --set max_record=1024");
  expect_same(dir, in, "--set expire_after=3d --set max_listed=2 --set max_checks=2");
  expect_same(dir, in, "--set max_documents=20", "packed.zst");
  expect_same(dir, in, "", "packed.gz");
}

TEST(Sign, PagesAndFilesAndArchivesGetTheSameVerdicts) {
  TempDir dir;
  int i = 0;
  for (const std::string& text : texts(2, 60)) {
    write_file(dir / "text/" + std::to_string(i) + ".txt", text);
    write_file(dir / "html/" + std::to_string(i++) + ".html", page(text));
  }
  write_file(dir / "a.warc", warc(3, 200));
  expect_same(dir, dir / "text", "");
  expect_same(dir, dir / "html", "--format html");
  expect_same(dir, dir / "html", "--format html --extract visible");
  expect_same(dir, dir / "a.warc", "");
  expect_same(dir, dir / "a.warc", "--format warc --extract none");
  expect_same(dir, (dir / "a.warc") + " " + (dir / "text"), "");
}

TEST(Sign, SharedIndexGoesOnWithTheSameVerdicts) {
  TempDir dir;
  write_file(dir / "a.warc", warc(4, 200));
  write_file(dir / "b.jsonl", lines(5, 300));
  const std::string key = "--set hash_key_file=" + (dir / "key");
  write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
  const auto scan = [&](const std::string& flags) {
    const Ran ran = run_doppel("scan -q " + key + " " + flags);
    EXPECT_LE(ran.code, 1) << ran.err;
    return ran.out;
  };
  for (const char* name : {"a.warc", "b.jsonl"}) {
    const Ran signed_one =
        run_doppel("sign -q " + key + " " + (dir / name) + " -o " + (dir / name) + ".signed");
    EXPECT_LE(signed_one.code, 1) << signed_one.err;
  }
  // The archive comes first: its pages become a part of the stored scheme.
  const std::string first = scan("--state " + (dir / "texts") + " --all " + (dir / "a.warc"));
  const std::string second = scan("--state " + (dir / "texts") + " --all " + (dir / "b.jsonl"));
  const std::string records = "--format signed --state " + (dir / "records") + " --all ";
  EXPECT_EQ(scan(records + (dir / "a.warc.signed")), first);
  EXPECT_EQ(scan(records + (dir / "b.jsonl.signed")), second);
  EXPECT_THAT(scan(records + (dir / "b.jsonl.signed")), IsEmpty()) << "it was read";
  // An index of documents accepts signed records, and the other way round.
  EXPECT_EQ(
      without_epochs(scan("--format signed --state " + (dir / "texts") + " " + (dir / "b.jsonl.signed"))),
      without_epochs(scan("--state " + (dir / "records") + " " + (dir / "b.jsonl"))));
}

TEST(Sign, KilledScanGoesOn) {
  TempDir dir;
  write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
  write_file(dir / "in.jsonl", lines(6, 1500));
  const std::string common =
      "--set hash_key_file=" + (dir / "key") + " --set batch_documents=32 --threads 1 ";
  ASSERT_EQ(run_doppel("sign -q " + common + (dir / "in.jsonl") + " -o " + (dir / "in.signed.zst")).code, 1);
  const std::string whole = run_doppel("scan -q --all " + common + (dir / "in.jsonl")).out;
  const std::string go_on = "scan -q --format signed --all " + common + "--state " + (dir / "state") +
                            " -o " + (dir / "out") + " " + (dir / "in.signed.zst");
  int killed = 0;
  for (const char* at : {"before_outputs:3", "after_outputs:2", "before_outputs:9", "after_outputs:7"})
    killed += run_doppel(go_on, std::string("DOPPEL_KILL_AT=") + at).code == 137 ? 1 : 0;
  EXPECT_EQ(killed, 4);
  EXPECT_EQ(run_doppel(go_on).code, 1);
  EXPECT_EQ(read_file(dir / "out"), whole);
}

TEST(Sign, PipesAndRejectedLines) {
  TempDir dir;
  write_file(dir / "in.jsonl", lines(7, 300));
  const std::string texts =
      run_doppel("scan -q --all --rejects " + (dir / "texts.rejects") + " " + (dir / "in.jsonl")).out;
  const Ran piped =
      run_doppel("sign -q " + (dir / "in.jsonl") + " | '" DOPPEL_BINARY "' scan -q --all --rejects " +
                 (dir / "rejects") + " --format signed -");
  EXPECT_EQ(piped.out, texts);
  EXPECT_EQ(read_file(dir / "rejects"), read_file(dir / "texts.rejects"));
  EXPECT_THAT(read_file(dir / "rejects"), HasSubstr("{\"id\":\"cut\",\"text\":\"wo\n"));
  // Messages name the line of the document.
  ASSERT_EQ(run_doppel("sign -q " + (dir / "in.jsonl") + " -o " + (dir / "r")).code, 1);
  const std::string said = run_doppel("scan --format signed " + (dir / "r")).err;
  EXPECT_THAT(said, HasSubstr("in.jsonl:41 (byte "));
  // Concatenated files are one file.
  write_file(dir / "more.jsonl", lines(8, 20));
  ASSERT_LE(run_doppel("sign -q " + (dir / "more.jsonl") + " -o " + (dir / "more")).code, 1);
  write_file(dir / "both", read_file(dir / "r") + read_file(dir / "more"));
  const Ran both = run_doppel("scan -q --all --format signed " + (dir / "both"));
  EXPECT_THAT(both.out, ::testing::StartsWith(texts));
  EXPECT_GT(both.out.size(), texts.size());
}

TEST(Sign, DaemonOnFilesSaysTheSame) {
  TempDir dir;
  write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
  write_file(dir / "in.jsonl", lines(9, 300));
  const std::string key = "hash_key_file=" + (dir / "key");
  ASSERT_EQ(
      run_doppel("sign -q --set " + key + " " + (dir / "in.jsonl") + " -o " + (dir / "in.signed.zst")).code,
      1);
  const std::string events = run_doppel("scan -q --set " + key + " " + (dir / "in.jsonl")).out;
  fs::create_directory(dir / "drop");
  testing::Daemon daemon({"serve", "--set", key, "--set", "input.format=signed", "--set",
                          "state.directory=" + (dir / "state"), "--set", "files.paths=" + (dir / "drop"),
                          "--set", "files.rejects=" + (dir / "rejects")});
  ASSERT_THAT(daemon.log("ready"), Not(IsEmpty()));
  // A file without signed records is named, and the daemon continues.
  write_file(dir / "other.jsonl", lines(1, 3));
  fs::rename(dir / "other.jsonl", dir / "drop/other.jsonl");
  EXPECT_THAT(daemon.log("other.jsonl"), HasSubstr("not signed records, which input.format: signed expects"));
  fs::rename(dir / "in.signed.zst", dir / "drop/in.signed.zst");
  for (size_t at = 0; at < events.size(); at = events.find('\n', at) + 1) {
    const std::string expected = without_epochs(events.substr(at, events.find('\n', at) - at));
    ASSERT_EQ(without_epochs(daemon.line()), expected);
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_THAT(read_file(dir / "rejects"), HasSubstr("{\"id\":\"cut\",\"text\":\"wo\n"));
}

// ---- bad input

class SignBadInput : public ::testing::Test {
 protected:
  SignBadInput() {
    write_file(dir / "in.jsonl", lines(10, 100));
    sign("", "good");
    good = read_file(dir / "good");
    all = run_doppel("scan -q --all " + (dir / "in.jsonl")).out;
  }
  void sign(const std::string& flags, const std::string& name) {
    const Ran ran = run_doppel("sign -q " + flags + " " + (dir / "in.jsonl") + " -o " + (dir / name));
    EXPECT_LE(ran.code, 1) << ran.err;
  }
  Ran scan(const std::string& bytes) {
    write_file(dir / "bad", bytes);
    return scan_file("bad");
  }
  Ran scan_file(const std::string& name, const std::string& flags = "") {
    return run_doppel("scan --all --format signed " + flags + " " + (dir / name));
  }

  TempDir dir;
  std::string good, all;
};

TEST_F(SignBadInput, CutAnywhereWhatIsBeforeIsDecided) {
  std::mt19937_64 random(1);
  const uint64_t seed = random();
  SCOPED_TRACE(seed);
  for (const size_t length : {good.size() - 1, good.size() - 8, good.size() - 9, good.size() / 2,
                              good.size() / 3, size_t{300}, size_t{9}, size_t{3}}) {
    const Ran ran = scan(good.substr(0, length));
    EXPECT_EQ(ran.code, 1) << length;
    EXPECT_EQ(all.substr(0, ran.out.size()), ran.out) << length;
    EXPECT_THAT(ran.err, ::testing::ContainsRegex("bad: byte [0-9]+: the file ends")) << length << ran.err;
  }
  EXPECT_EQ(scan(good.substr(0, good.size() - 8)).out, all) << "only the end is missing";
  EXPECT_THAT(scan(good.substr(0, good.size() - 8)).err, HasSubstr("without its end"));
  EXPECT_THAT(scan("").err, HasSubstr("bad: byte 0: an empty file"));
}

TEST_F(SignBadInput, FlippedBitIsOneRejectedRecord) {
  const Ran ran = scan([&] {
    std::string bytes = good;
    bytes[bytes.size() / 2] ^= 4;
    return bytes;
  }());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("no signed record, or a damaged one: wrong checksum"));
  EXPECT_THAT(ran.err, HasSubstr("bad"));
  const auto count = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(count(ran.out), count(all)) << "the records behind it are decided";
}

TEST_F(SignBadInput, DamagedFrameHeadStopsThereAndSaysWhere) {
  std::string bytes = good;
  const size_t second = good.find("in.jsonl", good.find("in.jsonl") + 8);
  bytes.replace(good.size() - 8, 8, "XXXXXXXX");
  const Ran ran = scan(bytes);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, all);
  EXPECT_THAT(ran.err,
              HasSubstr("bad: byte " + std::to_string(good.size() - 8) + ": the file is damaged here"));
  EXPECT_NE(second, std::string::npos);
}

TEST_F(SignBadInput, OtherSchemesAreNamed) {
  write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
  sign("--set num_perm=64 --set shingle_words=4", "other");
  Ran ran = scan_file("other");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("num_perm: the records were signed with 64, this run expects 128"));
  EXPECT_THAT(ran.err, HasSubstr("shingle_words: the records were signed with 4, this run expects 5"));
  sign("--set hash_key_file=" + (dir / "key"), "other");
  EXPECT_THAT(scan_file("other").err, HasSubstr("hash_key_fingerprint: the records were signed with"));
  EXPECT_EQ(scan_file("other", "--set hash_key_file=" + (dir / "key")).out, all);
  // Without sets, nothing can be verified by them.
  sign("--set verify=signature", "other");
  ran = scan_file("other");
  EXPECT_THAT(ran.err, HasSubstr("signed without its set (verify: signature); sign it with verify: exact"));
  EXPECT_EQ(scan_file("other", "--set verify=signature").code, 1);
  // Records of one file in the middle of another one.
  const Ran mixed = scan(good.substr(0, good.size() - 8) + read_file(dir / "other").substr(300));
  EXPECT_EQ(mixed.code, 1);
}

TEST_F(SignBadInput, OneKindForTheOther) {
  Ran ran = scan_file("in.jsonl");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("in.jsonl: not signed records, which input.format: signed expects"));
  ran = run_doppel("scan " + (dir / "good"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              HasSubstr("good: signed records, made by doppel sign; read them with input.format: signed"));
  write_file(dir / "named.jsonl", good);
  EXPECT_THAT(run_doppel("scan " + (dir / "named.jsonl")).err,
              HasSubstr("signed records, made by doppel sign"));
  EXPECT_EQ(scan_file("named.jsonl").out, all);
  EXPECT_THAT(scan("WARC/1.1\r\n").err, HasSubstr("not signed records"));
  std::string newer = good;
  newer[8] = 2;
  EXPECT_THAT(scan(newer).err, HasSubstr("bad: byte 0: a file of signed records of version 2"));
}

TEST_F(SignBadInput, WhatNeedsTheDocumentsIsRefused) {
  for (const char* flag : {"--keep kept.jsonl", "--keep kept/", "--keep-files kept", "--cdxj kept.cdxj"}) {
    const Ran ran = scan_file("good", flag);
    EXPECT_EQ(ran.code, 2) << flag;
    EXPECT_THAT(ran.err, HasSubstr("not with input.format: signed")) << flag;
  }
  Ran ran = run_doppel("config check --set input.format=signed --set files.unique=u.jsonl");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err + ran.out, HasSubstr("files.unique: u.jsonl: not with input.format: signed"));
  EXPECT_EQ(run_doppel("config check --set input.format=signed --set output.unique_topic=u").code, 2);
  ran = run_doppel("sign --format signed " + (dir / "good"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("signed records contain no texts"));
  EXPECT_EQ(run_doppel("text --format signed " + (dir / "good")).code, 2);
  EXPECT_EQ(run_doppel("sign " + (dir / "in.jsonl") + " -o " + (dir / "in.jsonl")).code, 2);
}

TEST_F(SignBadInput, NothingIsThereUntilAllIsSigned) {
  testing::Daemon sign({"sign", "-o", dir / "half", "-"});
  sign.say(lines(1, 2000));  // more than a pipe holds, so it is reading
  sign.signal(SIGTERM);
  EXPECT_EQ(sign.wait(), 130);
  EXPECT_FALSE(fs::exists(dir / "half"));
}

}  // namespace
}  // namespace doppel
