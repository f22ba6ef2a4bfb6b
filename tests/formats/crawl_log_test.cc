// Lines of crawl.log become the messages that KafkaCrawlLogFeed would send.
#include "formats/json/json_decoder.h"

#include <gtest/gtest.h>

namespace doppel {
namespace {

// The line has the form of Heritrix' documentation.
constexpr std::string_view kLine =
    "2024-05-06T07:08:09.144Z   200       1456 http://example.com/a LRE http://example.com/ text/html #003 "
    "20240506070809112+31 sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5 - 2t";

TEST(CrawlLog, LinesAreMessages) {
  const std::string place = R"( {"contentSize":1790,"warcFilename":"a.warc.gz","warcFileOffset":345})";
  EXPECT_EQ(crawl_log_message(std::string(kLine) + place),
            R"({"url":"http://example.com/a","status_code":"200","mimetype":"text/html",)"
            R"("content_digest":"sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",)"
            R"("start_time_plus_duration":"20240506070809112+31","timestamp":"2024-05-06T07:08:09.144Z",)"
            R"("warc_filename":"a.warc.gz","warc_offset":345})");
  for (const char* other :
       {"", "a b c", "2024-05-06T07:08:09.144Z x 1456 http://x/ L - text/html #003 1+1 sha1:A",
        "2024-05-06T07:08:09.144Z 200 1456 http://x/ L - text/html #003 1+1"})
    EXPECT_EQ(crawl_log_message(other), "") << other;
}

TEST(CrawlLog, TheFormatReadsBoth) {
  FormatOptions options;
  options.format = "heritrix";
  const std::unique_ptr<Decoder> decoder = make_decoder(options);
  const std::string line = std::string(kLine) + R"( {"warcFilename":"a.warc.gz","warcFileOffset":345})";
  for (std::string value : {line, crawl_log_message(line)}) {
    value.reserve(value.size() + kRecordPadding);
    Record record;
    record.value = value;
    Document document;
    ASSERT_TRUE(decoder->decode(record, document).ok());
    EXPECT_EQ(document.url, "http://example.com/a");
    EXPECT_EQ(document.payload_digest, "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    EXPECT_EQ(document.skip, Reason::no_body);
    ASSERT_TRUE(document.warc);
    EXPECT_EQ(document.warc->filename, "a.warc.gz");
    EXPECT_EQ(document.warc->offset, 345u);
  }
}

}  // namespace
}  // namespace doppel
