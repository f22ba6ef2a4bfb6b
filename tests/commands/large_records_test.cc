// WARC records that are too large for memory: --keep has every unique one, in any compression, and texts
// among them are compared by their payloads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "commands/run_doppel.h"
#include "packed.h"
#include "zipped.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kLarge = (16 << 20) + 12'345;

std::string random_bytes(uint64_t seed) {
  std::string out(kLarge, '\0');
  std::mt19937_64 random(seed);
  for (size_t i = 0; i + 8 <= out.size(); i += 8) {
    const uint64_t eight = random();
    std::copy_n(reinterpret_cast<const char*>(&eight), 8, out.data() + i);
  }
  return out;
}

std::string long_text(const std::string& word) {
  std::string out = "<p>";
  while (out.size() < kLarge) out += word + " and ";
  return out;
}

std::string record(const std::string& url, const std::string& type, const std::string& body,
                   const std::string& digest = "") {
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\n\r\n";
  return fmt::format(
             "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{0}>\r\nWARC-Target-URI: {0}\r\n"
             "WARC-Date: 2024-05-06T07:08:09Z\r\n{1}Content-Type: application/http; msgtype=response\r\n"
             "Content-Length: {2}\r\n\r\n{3}",
             url, digest.empty() ? "" : "WARC-Payload-Digest: " + digest + "\r\n", http.size() + body.size(),
             http) +
         body + "\r\n\r\n";
}

TEST(LargeRecords, AreKeptWhateverTheyArePackedIn) {
  const std::string video = random_bytes(1);
  const std::string first = record("http://x/1.mp4", "video/mp4", video);
  const std::string small = record("http://x/1", "text/plain", "one two three four five six seven");
  const std::string second = record("http://x/2.mp4", "video/mp4", video);
  const std::string before = record("http://x/0", "text/plain", "eight nine ten eleven twelve thirteen");
  const std::string all = before + first + small + second;
  const std::string kept = before + first + small;
  TempDir dir;
  write_file(dir / "plain.warc", all);
  write_file(dir / "one.warc.zst", zst(all));
  write_file(dir / "members.wacz", zipped({{"archive/a.warc", all}}));
  const std::string keep = dir / "kept.warc";
  for (const std::string& from :
       {dir / "plain.warc", "- <" + (dir / "plain.warc"), dir / "one.warc.zst", dir / "members.wacz"}) {
    const Ran ran = run_doppel("scan -o /dev/null --keep " + keep + " " + from);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err,
                HasSubstr("2 other records compared by payload digest alone: 1 unique, 1 duplicate"));
    EXPECT_TRUE(read_file(keep) == kept) << from;
  }
  // Each record is a member, even if it was streamed; and the kept file has the same records.
  for (const char* name : {"kept.warc.gz", "kept.warc.zst"}) {
    const Ran ran = run_doppel("scan -q -o /dev/null --keep " + (dir / name) + " " + (dir / "plain.warc"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Ran again =
        run_doppel("scan -o /dev/null --keep " + keep + " --cdxj " + (dir / "cdxj") + " " + (dir / name));
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_TRUE(read_file(keep) == kept) << name;
    const std::string cdxj = read_file(dir / "cdxj");
    EXPECT_EQ(std::count(cdxj.begin(), cdxj.end(), '\n'), 3) << cdxj;
  }
}

TEST(LargeRecords, AreKeptInADirectoryThatIsNotThereYet) {
  const std::string video = record("http://x/1.mp4", "video/mp4", random_bytes(3));
  TempDir dir;
  write_file(dir / "a.warc", video);
  const Ran ran = run_doppel("scan -q -o /dev/null --keep " + (dir / "kept/") + " a.warc",
                             "cd " + dir.path().string() + ";");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(read_file(dir / "kept/a.warc") == video);
}

TEST(LargeRecords, OfTextAreComparedByTheirPayloads) {
  const std::string text = long_text("river");
  TempDir dir;
  write_file(dir / "a.warc", record("http://x/1", "text/html", text) +
                                 record("http://x/2", "text/html", text) +
                                 record("http://x/3", "text/html", long_text("lake")));
  const Ran ran = run_doppel("scan --all -o " + (dir / "all") + " --keep " + (dir / "kept.warc") + " " +
                             (dir / "a.warc"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("3 other records compared by payload digest alone: 2 unique, 1 duplicate"),
                    HasSubstr("3 of them because their texts are too large to be held")));
  EXPECT_THAT(read_file(dir / "all"), HasSubstr("\"reason\":\"too_large\""));
  EXPECT_EQ(fs::file_size(dir / "kept.warc"),
            fs::file_size(dir / "a.warc") - record("http://x/2", "text/html", text).size());
}

TEST(LargeRecords, ThatCannotBeKeptAreNamed) {
  TempDir dir;
  write_file(dir / "a.warc", record("http://x/1.mp4", "video/mp4", random_bytes(2)));
  const Ran ran = run_doppel("scan -q -o /dev/null --keep " + (dir / "kept.warc") + " " + (dir / "a.warc"),
                             "ulimit -f 8192;");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("1 unique record is not in " + (dir / "kept.warc") + "; the first: "),
                             HasSubstr("a.warc: byte 0: the record is not kept: ")));
  // Without --keep nothing is needed.
  EXPECT_EQ(run_doppel("scan -q -o /dev/null " + (dir / "a.warc"), "ulimit -f 8192;").code, 0);
}

}  // namespace
}  // namespace doppel::testing
