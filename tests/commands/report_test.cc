// doppel report: its counts of captures and copies, as text, table and page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "commands/run_doppel.h"
#include "packed.h"

namespace doppel::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string record(const std::string& uri, const std::string& year, const std::string& type,
                   const std::string& body) {
  const std::string http = "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\n\r\n" + body;
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:{0}:{1}>\r\nWARC-Target-URI: {0}\r\n"
      "WARC-Date: {1}-05-06T07:08:09Z\r\n"
      "Content-Type: application/http; msgtype=response\r\nContent-Length: {2}\r\n\r\n{3}\r\n\r\n",
      uri, year, http.size(), http);
}

TEST(Report, CapturesAndCopiesByHostTypeAndYear) {
  TempDir dir;
  const std::string image(1000, 'i'), large(400'000, 'v');
  write_file(dir / "in/a.warc.gz", gz(record("http://A.org/1", "2023", "image/png", image)) +
                                       gz(record("http://a.org:80/\"<", "2024", "IMAGE/PNG; x=y", image)) +
                                       gz(record("http://b.org/1", "2024", "video/mp4", large)));
  write_file(dir / "in/b.warc", record("http://b.org/2", "2024", "video/mp4", large) +
                                    "WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: "
                                    "http://b.org/3\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
                                    "Content-Length: 0\r\n\r\n\r\n\r\n");
  // What rewriting really saves.
  const uint64_t before = fs::file_size(dir / "in/b.warc");
  EXPECT_EQ(run_doppel("scan -q -o " + (dir / "events") + " " + (dir / "in")).code, 0);
  EXPECT_EQ(
      run_doppel("revisits " + (dir / "events") + " --rewrite " + (dir / "out") + " " + (dir / "in")).code,
      0);
  const uint64_t saved = before - fs::file_size(dir / "out/b.warc");
  EXPECT_EQ(fs::file_size(dir / "in/a.warc.gz"), fs::file_size(dir / "out/a.warc.gz"));
  const Ran ran =
      run_doppel("report " + (dir / "in") + " --csv " + (dir / "r.csv") + " --html " + (dir / "r.html"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("2 WARC files: 4 captures with "), HasSubstr("; 2 are copies by payload"),
                    HasSubstr("(50.0 %); 0 are stored twice; 1 revisit records\n")));
  EXPECT_EQ(
      read_file(dir / "r.csv"),
      fmt::format(
          "group,name,captures,payload_bytes,copies,copied_bytes,revisits,stored_twice,stored_twice_bytes,"
          "saved_bytes\r\n"
          "host,\"b.org\",2,800000,1,400000,1,0,0,{0}\r\nhost,\"a.org:80\",1,1000,1,1000,0,0,0,0\r\n"
          "host,\"a.org\",1,1000,0,0,0,0,0,0\r\n"
          "type,\"video/mp4\",2,800000,1,400000,0,0,0,{0}\r\ntype,\"image/png\",2,2000,1,1000,0,0,0,0\r\n"
          "type,\"warc/revisit\",0,0,0,0,1,0,0,0\r\nyear,\"2023\",1,1000,0,0,0,0,0,0\r\n"
          "year,\"2024\",3,801000,2,401000,1,0,0,{0}\r\n",
          saved));
  EXPECT_THAT(read_file(dir / "r.html"),
              AllOf(HasSubstr("<h2>By host</h2>"), HasSubstr("<th>video/mp4</th>")));
  EXPECT_EQ(run_doppel("report " + (dir / "r.csv")).code, 2);
}

// A capture that was stored twice is no copy: players find an original by URI and second, so rewriting keeps
// it.
TEST(Report, CapturesThatAreStoredTwiceAreNoCopies) {
  TempDir dir;
  const std::string image(5000, 'i'), one = record("http://a.org/1", "2023", "image/png", image);
  write_file(dir / "in/a.warc", one + record("http://a.org/2", "2023", "image/png", image));
  write_file(dir / "in/b.warc", one);
  const Ran ran = run_doppel("report " + (dir / "in"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("3 captures"), HasSubstr("; 1 are copies by payload"),
                             HasSubstr("; 1 are stored twice; ")));
}

}  // namespace
}  // namespace doppel::testing
