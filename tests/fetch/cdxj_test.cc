// CDXJ files: keys as tools write them, the search against a walk through all lines, and records that are
// fetched through the search.

#include "formats/warc/cdxj.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "base/status.h"
#include "fetch/fetch_source.h"
#include "files/files_testing.h"

namespace doppel {
namespace {

using testing::HasSubstr;

TEST(Cdxj, Lines) {
  const auto line = parse_cdxj_line(
      R"(com,example)/a 20240506070809 {"url":"http://example.com/a","filename":"a.warc.gz","offset":"12"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->key, "com,example)/a");
  EXPECT_EQ(line->filename, "a.warc.gz");
  EXPECT_EQ(line->offset, 12u);
  EXPECT_EQ(format_time(line->time_ms), "2024-05-06T07:08:09Z");
  for (const char* cdx :
       {"com,example)/a 20240506070809 http://example.com/a text/html 200 ABC - - 345 12 a.warc.gz",
        "com,example)/a 20240506070809 http://example.com/a text/html 200 ABC - 12 a.warc.gz"}) {
    const auto columns = parse_cdxj_line(cdx);
    ASSERT_TRUE(columns) << cdx;
    EXPECT_EQ(columns->key, "com,example)/a");
    EXPECT_EQ(columns->url, "http://example.com/a");
    EXPECT_EQ(columns->filename, "a.warc.gz");
    EXPECT_EQ(columns->offset, 12u);
  }
  for (const char* bad :
       {"", "a b", "!meta {}", "com,x)/ 2024 {}", "com,x)/ 20240506070809 {\"filename\":\"a\"}",
        " CDX N b a m s k r M S V g", "com,x)/ 20240506070809 http://x.com/ text/html 200 A - 1x a.warc.gz",
        "com,x)/ 20240506070809 {\"filename\":\"a\",\"offset\":\"1x\"}",
        "com,x)/ 20240506070809 {\"filename\":\"a\",\"offset\":\"\"}",
        "com,x)/ 20240506070809 {\"filename\":\"a\",\"offset\":\"18446744073709551616\"}",
        "com,x)/ 20240506070809 {\"filename\":\"a\",\"offset\":18446744073709551616}",
        "com,x)/ 20240506070809 http://x.com/ text/html 200 A - 18446744073709551616 a.warc.gz",
        "com,x)/ 20240506070809 ["})
    EXPECT_FALSE(parse_cdxj_line(bad)) << bad;
}

TEST(Cdxj, SearchFindsWhatAWalkFinds) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines(random() % 60);
    for (std::string& line : lines) {
      for (size_t n = random() % 4; n > 0; --n) line += static_cast<char>('a' + random() % 3);
      line += ' ' + std::string(random() % 20 == 0 ? 6000 + random() % 4000 : random() % 30, 'x');
    }
    std::sort(lines.begin(), lines.end());
    std::string file;
    for (const std::string& line : lines) file += line + '\n';
    if (!file.empty() && random() % 2 == 0) file.pop_back();
    const ReadAt read = [&](uint64_t at, size_t size) -> absl::StatusOr<std::string> {
      return file.substr(at, size);
    };
    for (int question = 0; question < 20; ++question) {
      std::string prefix;
      for (size_t n = random() % 4; n > 0; --n) prefix += static_cast<char>('a' + random() % 3);
      prefix += ' ';
      std::vector<std::string> expected, found;
      for (const std::string& line : lines)
        if (line.starts_with(prefix)) expected.push_back(line);
      ASSERT_TRUE(visit_sorted_lines(read, file.size(), prefix, [&](std::string_view line) {
                    found.emplace_back(line);
                    return true;
                  }).ok());
      ASSERT_EQ(found, expected) << prefix;
    }
  }
}

std::string record_of(std::string_view type, std::string_view uri, std::string_view date,
                      std::string_view text, std::string_view more = "") {
  const std::string block = fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{}", text);
  return fmt::format(
      "WARC/1.1\r\nWARC-Type: {}\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Target-URI: {}\r\nWARC-Date: "
      "{}\r\n{}"
      "Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{}\r\n\r\n",
      type, type, uri, date, more, block.size(), block);
}

class OneBatch final : public Source {
 public:
  explicit OneBatch(std::vector<std::string> values) : values_(std::move(values)) {
    for (std::string& value : values_) value.reserve(value.size() + kRecordPadding);
  }
  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    for (const std::string& value : values_) {
      Record& record = batch.records.emplace_back();
      record.value = value;
      record.source = "log";
      record.offset = batch.records.size() - 1;
    }
    return std::exchange(more_, false);
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::vector<std::string> values_;
  bool more_ = true;
};

struct Judged {
  std::string said;
  Document document;  // its views are invalid, except the text, which is `said`
  std::string target, record_id;
};

std::vector<Judged> fetched(const std::vector<std::string>& messages, const FetchOptions& options) {
  OneBatch inner(messages);
  auto source = make_fetch_source(inner, options);
  EXPECT_TRUE(source.ok()) << source.status();
  auto decoder = make_decoder(options.format);
  std::vector<Judged> out;
  Batch batch;
  while (*(*source)->next(batch)) {
    for (const Record& record : batch.records) {
      Judged& judged = out.emplace_back();
      absl::Status status = decoder->decode(record, judged.document);
      judged.said = !status.ok()                           ? std::string(std_sv(status.message()))
                    : judged.document.skip == Reason::none ? std::string(judged.document.text)
                                                           : message_of(judged.document.skip);
      if (judged.document.warc) {
        judged.target = judged.document.warc->target_uri;
        judged.record_id = judged.document.warc->record_id;
      }
    }
  }
  return out;
}

// Such a line is truncated, and the lines after it are found.
TEST(Cdxj, SearchGoesPastALineThatIsTooLong) {
  for (const size_t longest : {(1 << 20) - 3, 1 << 20, (1 << 20) + 4095, 5 << 20}) {
    const std::string file = "a 1\nb 1\nb 2" + std::string(longest, 'b') + "\nb 3\nc 1\n";
    const ReadAt read = [&](uint64_t at, size_t size) -> absl::StatusOr<std::string> {
      return file.substr(std::min(at, file.size()), size);
    };
    std::string found;
    ASSERT_TRUE(visit_sorted_lines(read, file.size(), "b ", [&](std::string_view line) {
                  found += line.substr(2, 1);
                  return true;
                }).ok());
    EXPECT_EQ(found, "123") << longest;
  }
}

TEST(Cdxj, FetchesWithoutAPlaceAndFollowsRevisits) {
  TemporaryDirectory directory;
  const std::string url = "http://www.example.com/page?b=1&a=2";
  const std::string first = gz(record_of("response", url, "2024-05-06T07:08:09Z", "<p>first</p>"));
  const std::string second = gz(record_of("response", url, "2024-06-06T07:08:09Z", "<p>second</p>"));
  const std::string revisit = gz(record_of(
      "revisit", "http://example.com/copy", "2024-07-01T00:00:00Z", "",
      fmt::format("WARC-Refers-To-Target-URI: {}\r\nWARC-Refers-To-Date: 2024-05-06T07:08:09Z\r\n", url)));
  write_file(directory / "warcs/a.warc.gz", first + second + revisit);
  const auto line = [&](const char* key, const char* time, std::string_view of, uint64_t offset) {
    return fmt::format("{} {} {{\"url\":\"{}\",\"filename\":\"a.warc.gz\",\"offset\":\"{}\"}}\n", key, time,
                       of, offset);
  };
  write_file(directory / "cdx/a.cdxj",
             "!meta {\"format\":\"cdxj\"}\n" +
                 line("com,example)/copy", "20240701000000", "http://example.com/copy",
                      first.size() + second.size()) +
                 line("com,example)/page?a=2&b=1", "20240506070809", url, 0) +
                 line("com,example)/page?a=2&b=1", "20240606070809", url, first.size()) +
                 line("com,example)/zzz", "20240506070809", "http://example.com/zzz", 0));
  FetchOptions options{.roots = {directory / "warcs"}, .cdxj = {directory / "cdx"}};
  options.format.format = "heritrix";
  const auto message = [](std::string_view of, const char* time) {
    return fmt::format(
        R"({{"url":"{}","status_code":200,"mimetype":"text/html","start_time_plus_duration":"{}000+5",)"
        R"("warc_filename":null,"warc_offset":null}})",
        of, time);
  };
  const std::vector<Judged> got =
      fetched({message(url, "20240506070809"), message(url, "20240606070810"), message(url, "20250101000000"),
               message("http://example.com/copy", "20240701000000"),
               message("http://example.com/none", "20240701000000"),
               message("http://example.com/zzz", "20240506070809")},
              options);
  ASSERT_EQ(got.size(), 6u);
  EXPECT_THAT(got[0].said, HasSubstr("first"));
  EXPECT_EQ(got[0].target, url);
  EXPECT_THAT(got[1].said, HasSubstr("second"));
  EXPECT_THAT(got[2].said, HasSubstr("fetch_failed: no CDXJ file has a capture of http://www.example.com"));
  EXPECT_THAT(got[3].said, HasSubstr("first"));
  EXPECT_EQ(got[3].target, "http://example.com/copy");
  EXPECT_EQ(got[3].record_id, "");
  EXPECT_THAT(got[4].said, HasSubstr("fetch_failed"));
  EXPECT_THAT(got[5].said, HasSubstr("warc_mismatch"));
  // Without CDXJ files the record cannot be found.
  options.cdxj.clear();
  EXPECT_EQ(fetched({message(url, "20240506070809")}, options)[0].said, "no_body");
  options.cdxj = {directory / "nothing"};
  OneBatch none({});
  EXPECT_THAT(make_fetch_source(none, options).status().ToString(), HasSubstr("warc.cdxj"));
}

}  // namespace
}  // namespace doppel
