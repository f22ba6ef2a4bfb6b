// The names of outputs decide their form: compressed, records of WARC files in members, or a file for each
// input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "commands/run_doppel.h"
#include "packed.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

std::string text(int from) {
  std::string out;
  for (int i = from; i < from + 40; ++i) out += "word" + std::to_string(i) + " ";
  return out;
}
std::string line(const std::string& id, int from) {
  return R"({"id":")" + id + R"(","text":")" + text(from) + "\"}\n";
}

std::string unpacked(const std::string& tool, const std::string& path) {
  TempDir dir;
  const std::string command = tool + " -dc <" + path + " >" + (dir / "out");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(cert-env33-c)
  return read_file(dir / "out");
}

TEST(PackedOutput, IsWhatItsNameSaysAlsoWhenItIsGoneOnWith) {
  for (const auto& [end, tool] : {std::pair{".gz", "gzip"}, {".zst", "zstd -q"}}) {
    TempDir dir;
    const std::string keep = dir / ("keep.jsonl" + std::string(end)),
                      out = dir / ("out.jsonl" + std::string(end));
    const std::string run = fmt::format("scan --state {} --keep {} -o {} --rejects {} {}", dir / "idx", keep,
                                        out, dir / "no.gz", dir / "in.jsonl");
    write_file(dir / "in.jsonl", line("a", 0) + line("b", 0));
    ASSERT_EQ(run_doppel(run).code, 0);
    EXPECT_EQ(unpacked(tool, keep), line("a", 0));
    EXPECT_EQ(unpacked("gzip", dir / "no.gz"), "") << "nothing, but a file that can be unpacked";
    write_file(dir / "in.jsonl", line("a", 0) + line("b", 0) + line("c", 500) + line("d", 500));
    ASSERT_EQ(run_doppel(run).code, 0);
    EXPECT_EQ(unpacked(tool, keep), line("a", 0) + line("c", 500));
    const std::string events = unpacked(tool, out);
    EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 2);
  }
}

std::string warc_record(const std::string& url, int from) {
  const std::string block = text(from);
  return "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: " + url +
         "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(block.size()) + "\r\n\r\n" +
         block + "\r\n\r\n";
}

TEST(PackedOutput, RecordsOfWarcFilesAreMembers) {
  TempDir dir;
  const std::string a = warc_record("http://x/a", 0), b = warc_record("http://x/b", 500);
  write_file(dir / "in.warc.gz", gz(a) + gz(warc_record("http://x/copy", 0)) + gz(b));
  ASSERT_EQ(
      run_doppel("scan -o /dev/null --keep " + (dir / "keep.warc.gz") + " " + (dir / "in.warc.gz")).code, 0);
  EXPECT_EQ(unpacked("gzip", dir / "keep.warc.gz"), a + b);
  EXPECT_EQ(read_file(dir / "keep.warc.gz"), gz(a) + gz(b)) << "a member each";

  write_file(
      dir / "events.jsonl",
      R"({"type":"duplicate-of","event_id":"e/1","document":{"id":"b","url":"http://b/","date":)"
      R"("2026-01-01T00:00:00Z","digest":"sha1:AAAA"},"original":{"id":"a","event_id":"e/0","url":"http://a/",)"
      R"("date":"2026-01-01T00:00:00Z","digest":"sha1:AAAA"},"cluster_id":"e/0","kind":"exact",)"
      R"("similarity":1,"relation":{"same_payload":true}})"
      "\n");
  ASSERT_EQ(run_doppel("revisits " + (dir / "events.jsonl") + " -o " + (dir / "r.warc.gz")).code, 0);
  const Ran plain = run_doppel("revisits " + (dir / "events.jsonl"));
  EXPECT_THAT(plain.out, HasSubstr("WARC-Type: revisit"));
  EXPECT_EQ(unpacked("gzip", dir / "r.warc.gz").size(), plain.out.size());
}

TEST(PackedOutput, ADirectoryHoldsAFileForEachInput) {
  TempDir dir;
  write_file(dir / "one.jsonl", line("a", 0) + line("b", 500));
  write_file(dir / "deep/two.jsonl.gz", gz(line("c", 0) + line("d", 900)));
  write_file(dir / "copies.jsonl", line("e", 0));
  const std::string in = "cd " + dir.path().string() + " && timeout 20";
  const std::string run = "scan -o /dev/null --keep kept/ one.jsonl deep copies.jsonl ";
  // The file to be kept may already exist, as a link to an input.
  write_file(dir / "kept/x", "");
  testing::fs::create_hard_link(dir / "one.jsonl", dir / "kept/one.jsonl");
  const Ran ran = run_doppel(run + "one.jsonl", in);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(dir / "one.jsonl"), line("a", 0) + line("b", 500));
  EXPECT_EQ(read_file(dir / "kept/one.jsonl"), line("a", 0) + line("b", 500));
  EXPECT_EQ(unpacked("gzip", dir / "kept/deep/two.jsonl.gz"), line("d", 900));
  EXPECT_TRUE(testing::fs::exists(dir / "kept/copies.jsonl"));
  EXPECT_EQ(read_file(dir / "kept/copies.jsonl"), "");
  EXPECT_THAT(run_doppel("scan --state idx --keep kept one.jsonl", in).err, HasSubstr("name a file"));
  EXPECT_EQ(run_doppel("scan --keep . one.jsonl", in).code, 2) << "it would be written over";
  write_file(dir / "below/one.jsonl", line("e", 0));
  EXPECT_THAT(
      run_doppel("scan -o /dev/null --keep kept/ one.jsonl ../one.jsonl", "cd '" + (dir / "below") + "' &&")
          .err,
      HasSubstr("would both be kept"));
}

}  // namespace
}  // namespace doppel
