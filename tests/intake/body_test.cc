#include "intake/body.h"

#include <gmock/gmock.h>

#include "http/message.h"
#include "session/same_document.h"

namespace doppel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a body has: its documents, or the status and the message of the refusal.
struct Read {
  explicit Read(std::string body, std::string_view type, std::optional<std::string_view> id = {},
                std::vector<std::pair<std::string, std::string>> query = {}, const FormatOptions& format = {})
      : bytes(std::move(body)) {
    http::Request request{.body = bytes, .query = std::move(query)};
    request.headers.emplace_back("Content-Type", type);
    request.headers.emplace_back("Content-Length", "as long as it is");
    const std::optional<http::Response> refusal = read_body(request, format, id, batch);
    if (refusal) error = std::to_string(refusal->status) + " " + refusal->body;
    bytes.assign(bytes.size(), '#');  // nothing refers to the request any more
    for (const Record& record : batch.records) documents.push_back(record.value);
  }
  std::string bytes, error;
  Batch batch;
  std::vector<std::string_view> documents;
};

TEST(Body, LinesAreDocuments) {
  const Read read("{\"id\":1}\nnot JSON\r\n\n{\"id\":3}", "application/x-ndjson; charset=utf-8");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.documents, ElementsAre("{\"id\":1}", "not JSON\r", "{\"id\":3}"));
  EXPECT_EQ(read.batch.records[2].line, 4U);
  EXPECT_EQ(read.batch.records[2].source, kHttpSource);
  EXPECT_FALSE(read.batch.records[2].whole_file);
  EXPECT_EQ(read.batch.bytes, 8U + 9 + 8);
}

TEST(Body, JsonIsOneDocument) {
  const Read read("{\"id\":\n 1}\n", "application/json");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.documents, ElementsAre("{\"id\":  1}"));
  EXPECT_THAT(Read("{\"id\":1}{\"id\":2}", "application/json").error, HasSubstr("400 "));
  EXPECT_THAT(Read("{\"id\":1}{\"id\":2}", "application/json").error, HasSubstr("has 2 JSON values"));
  EXPECT_THAT(Read("{\"id\":", "application/json").error, HasSubstr("400 "));
  EXPECT_THAT(Read("{\"id\":", "application/json").error, HasSubstr("ends within the value"));
}

TEST(Body, ATextHasWhatTheQuerySays) {
  const Read read("Some text.\nMore.", "text/plain; charset=iso-8859-1", {},
                  {{"id", "a b"}, {"url", "http://x/"}, {"durability", "commit"}});
  EXPECT_EQ(read.error, "");
  ASSERT_THAT(read.documents, ElementsAre("Some text.\nMore."));
  const Record& record = read.batch.records.front();
  EXPECT_TRUE(record.whole_file);
  EXPECT_EQ(record.media_type, "text/plain; charset=iso-8859-1");
  EXPECT_EQ(record.sender->id, "a b");
  EXPECT_EQ(record.sender->url, "http://x/");
}

TEST(Body, AnIdIsOfOneDocument) {
  EXPECT_EQ(Read("{}", "application/json", "mine").batch.records.front().sender->id, "mine");
  EXPECT_THAT(Read("{}\n{}", "application/x-ndjson", "mine").error, HasSubstr("400 "));
  EXPECT_THAT(Read("{}\n{}", "application/x-ndjson", {}, {{"url", "http://x/"}}).error, HasSubstr("400 "));
  EXPECT_THAT(Read("{}", "application/json", "mine", {{"id", "other"}}).error, HasSubstr("400 "));
  EXPECT_THAT(Read("x", "text/plain", {}, {{"crawl", "1"}}).error, HasSubstr("the query has \\\"crawl\\\""));
  EXPECT_THAT(Read("x", "text/plain", {}, {{"id", ""}}).error, HasSubstr("is empty"));
}

TEST(Body, WarcIsReadRecordByRecord) {
  const auto record = [](const std::string& block) {
    return "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://x/\r\nContent-Type: text/plain\r\n"
           "Content-Length: " +
           std::to_string(block.size()) + "\r\n\r\n" + block + "\r\n\r\n";
  };
  const Read read(record("first") + record("second"), "application/warc");
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.documents.size(), 2U);
  EXPECT_TRUE(read.batch.records[1].warc);
  EXPECT_EQ(read.batch.records[1].line, 2U);
  EXPECT_THAT(read.documents[1], HasSubstr("second"));
  EXPECT_THAT(Read(record("first") + record("second").substr(0, 60), "application/warc").error,
              HasSubstr("400 "));
  std::string huge = record("first");
  huge.replace(huge.find("Length: 5"), 9, "Length: 999999999999999999");
  EXPECT_THAT(Read(huge, "application/warc").error, HasSubstr("400 "));
  EXPECT_THAT(Read("\x1f\x8b\x08 and so on", "application/warc").error, HasSubstr("Content-Encoding"));
}

TEST(Body, RefusesWhatItCannotRead) {
  EXPECT_THAT(Read("a=b", "application/x-www-form-urlencoded").error, HasSubstr("415 "));
  EXPECT_THAT(Read("a=b", "").error, HasSubstr("name the type of the documents in Content-Type"));
  EXPECT_THAT(Read("", "text/plain").error, HasSubstr("the body is empty"));
  EXPECT_THAT(Read("\n\n", "application/x-ndjson").error, HasSubstr("there is no document"));
  FormatOptions texts;
  texts.format = "text";
  EXPECT_THAT(Read("{}", "application/json", {}, {}, texts).error, HasSubstr("input.format is text"));
  std::string many;
  for (size_t i = 0; i <= kInsertedMost; ++i) many += "{}\n";
  EXPECT_THAT(Read(many, "application/x-ndjson").error, HasSubstr("413 "));
}

}  // namespace
}  // namespace doppel
