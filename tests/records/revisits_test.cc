// Revisit records, byte for byte, and the events that ask for them.
#include "records/revisits.h"

#include <gtest/gtest.h>

#include <string>

namespace doppel {
namespace {

const std::string kProfile =
    "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n";

std::string event_with(const std::string& document, const std::string& original,
                       const std::string& relation = R"({"same_payload":true})") {
  return R"({"type":"duplicate-of","event_id":"e/1","document":)" + document + R"(,"original":)" + original +
         R"(,"relation":)" + relation + "}";
}

const std::string kDocument =
    R"({"id":"b","url":"http://x/b","date":"2024-01-02T00:00:00Z","digest":"sha1:D","file":"b.warc","offset":9,)"
    R"("warc":{"record_id":"urn:b","target_uri":"http://y/b","date":"2024-01-03T00:00:00Z","filename":"b","offset":70,"payload_digest":"md5:E"}})";
const std::string kOriginal = R"({"url":"http://x/a","date":"2023-01-02T00:00:00Z","digest":"sha1:D"})";

TEST(Revisits, AnEventNamesBothRecords) {
  const auto copy = payload_copy_of_event(event_with(kDocument, kOriginal));
  ASSERT_TRUE(copy.ok()) << copy.status();
  ASSERT_TRUE(copy->has_value());
  EXPECT_EQ((*copy)->event_id, "e/1");
  const NamedRecord& record = (*copy)->copy;
  EXPECT_EQ(record.file, "b.warc");
  EXPECT_EQ(record.filename, "b");
  EXPECT_EQ(record.offset, 70U);
  EXPECT_EQ(record.record_id, "urn:b");
  // What the WARC record states comes before what the event states.
  EXPECT_EQ(record.target_uri, "http://y/b");
  EXPECT_EQ(record.date, "2024-01-03T00:00:00Z");
  EXPECT_EQ(record.digest, "sha1:D");
  const NamedRecord& original = (*copy)->original;
  EXPECT_EQ(original.target_uri, "http://x/a");
  EXPECT_EQ(original.date, "2023-01-02T00:00:00Z");
  EXPECT_EQ(original.file + original.filename + original.record_id, "");
  EXPECT_EQ(original.offset, std::nullopt);
  EXPECT_EQ(original.written_digest, "");
  EXPECT_EQ(record.written_digest, "md5:E");
}

// Playback needs the copy itself unless the payloads are known to be equal.
TEST(Revisits, OtherCopiesAreKept) {
  const auto none = [](const std::string& event) {
    const auto copy = payload_copy_of_event(event);
    return copy.ok() && !copy->has_value();
  };
  EXPECT_TRUE(none(event_with(kDocument, kOriginal, R"({"same_payload":false})")));
  EXPECT_TRUE(none(event_with(kDocument, kOriginal, "{}")));
  EXPECT_TRUE(
      none(event_with(kDocument, R"({"url":"http://x/a","date":"2023-01-02T00:00:00Z","digest":"sha1:E"})")));
  EXPECT_TRUE(
      none(event_with(R"({"url":"u","date":"d","digest":null})", R"({"url":"u","date":"d","digest":null})")));
  EXPECT_TRUE(none(R"({"type":"original-removed"})"));
  EXPECT_TRUE(none(R"({"type":"duplicate-of","relation":{"same_payload":true},"document":{}})"));
  EXPECT_TRUE(none(R"({"type":"duplicate-of","relation":{"same_payload":true},"original":{}})"));
}

TEST(Revisits, EventsThatDoNotSayEnough) {
  const auto error = [](const std::string& event) {
    const auto copy = payload_copy_of_event(event);
    return copy.ok() ? std::string() : std::string(copy.status().message());
  };
  EXPECT_NE(error("{"), "");
  EXPECT_NE(error("{}").find("not an event"), std::string::npos);
  for (const char* original :
       {R"({"url":"","date":"d","digest":"sha1:D"})", R"({"url":"u","digest":"sha1:D"})"})
    EXPECT_NE(error(event_with(kDocument, original)).find("lacks a URL or a date"), std::string::npos);
  // A line end would begin another header.
  for (const char* original :
       {R"({"url":"u\n","date":"d","digest":"sha1:D"})", R"({"url":"u","date":"d\r","digest":"sha1:D"})",
        R"({"url":"u","date":"d","digest":"sha1:D","warc":{"record_id":"\u0000"}})",
        R"({"url":"u","date":"d","digest":"sha1:D","warc":{"payload_digest":"a\n"}})"})
    EXPECT_NE(error(event_with(kDocument, original)).find("line end"), std::string::npos);
}

TEST(Revisits, ARevisitRecord) {
  NamedRecord copy{.target_uri = "http://x/b", .date = "2024-01-03T00:00:00Z", .digest = "sha1:D"};
  NamedRecord original{.record_id = "urn:a", .target_uri = "http://x/a", .date = "2023-01-02T00:00:00Z"};
  const std::string record = revisit_record(copy, original, "e/1");
  const size_t id = record.find("<urn:uuid:"), id_end = record.find('>', id);
  ASSERT_NE(id, std::string::npos);
  EXPECT_EQ(record.substr(0, id) + record.substr(id_end + 1),
            "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Record-ID: \r\nWARC-Date: 2024-01-03T00:00:00Z\r\n"
            "WARC-Target-URI: http://x/b\r\nWARC-Payload-Digest: sha1:D\r\n" +
                kProfile +
                "WARC-Refers-To: <urn:a>\r\nWARC-Refers-To-Target-URI: http://x/a\r\n"
                "WARC-Refers-To-Date: 2023-01-02T00:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n");
  // A UUID of version 8 (RFC 9562), which depends on the name alone.
  const std::string uuid = record.substr(id + 10, id_end - id - 10);
  ASSERT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '8');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
  EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos);
  EXPECT_EQ(revisit_record(copy, original, "e/1"), record);
  EXPECT_NE(revisit_record(copy, original, "e/2"), record);
  original.record_id.clear();
  EXPECT_EQ(revisit_record(copy, original, "e/1").find("WARC-Refers-To: "), std::string::npos);
  original.written_digest = "sha256:00FF";
  EXPECT_NE(revisit_record(copy, original, "e/1").find("WARC-Payload-Digest: sha256:00FF\r\n"),
            std::string::npos);
}

TEST(Revisits, WhichRecordIsNamed) {
  WarcRecord record{.record_id = "urn:b", .target_uri = "http://y/b", .payload_digest = "sha1:D"};
  NamedRecord named{.record_id = "urn:b", .target_uri = "http://y/b", .digest = "sha1:D"};
  EXPECT_TRUE(named.is(record));
  named.record_id.clear();  // the event does not state it
  EXPECT_TRUE(named.is(record));
  named.record_id = "urn:c";
  EXPECT_FALSE(named.is(record));
  named.record_id = "urn:b";
  named.target_uri = "http://y/c";
  EXPECT_FALSE(named.is(record));
  named.target_uri = "http://y/b";
  // The same SHA-1 in hex digits and in Base32.
  record.payload_digest = "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709";
  named.digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
  EXPECT_TRUE(named.is(record));
  named.digest = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  EXPECT_FALSE(named.is(record));
  // A record without SHA-1: the event has the one that was computed.
  record.payload_digest = "sha256:0";
  EXPECT_TRUE(named.is(record));
}

// The id identifies a record; without it the place in the file does, and without that URL and date.
TEST(Revisits, TheKeyOfACapture) {
  NamedRecord one{
      .file = "a", .offset = 7, .record_id = "urn:1", .target_uri = "u", .date = "1970-01-01T00:00:05Z"};
  EXPECT_EQ(one.capture().time_ms, 5000);
  const auto key = [&] { return one.capture().key; };
  const auto with_id = key();
  one.offset = 8;
  EXPECT_EQ(key(), with_id);
  one.record_id.clear();
  const auto with_offset = key();
  EXPECT_NE(with_offset, with_id);
  one.target_uri = "v";
  EXPECT_EQ(key(), with_offset);
  one.offset = 9;
  EXPECT_NE(key(), with_offset);
  one.offset.reset();
  const auto with_uri = key();
  one.file = "b";
  EXPECT_EQ(key(), with_uri);
  one.date = "no date";
  EXPECT_NE(key(), with_uri);
  EXPECT_EQ(one.capture().time_ms, std::nullopt);
}

TEST(Revisits, VerdictLines) {
  EXPECT_TRUE(is_verdict_line(R"({"id":"a","verdict":"unique"})"));
  EXPECT_FALSE(is_verdict_line(R"({"type":"verdict","id":"a","verdict":"unique"})"));
  EXPECT_FALSE(is_verdict_line(R"({"id":"\"verdict\""})"));
  EXPECT_FALSE(is_verdict_line(R"({"type":"duplicate-of"})"));
  EXPECT_FALSE(is_verdict_line(R"({"verdict")"));
}

TEST(Revisits, ARecordThatReplacesAResponse) {
  const std::string head =
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://x/b>\r\nWARC-Date: "
      "2024-01-03T00:00:00Z\r\n"
      "warc-block-digest: sha1:BLOCK\r\nWARC-Record-ID: <urn:b>\r\nWARC-Refers-To: <urn:old>\r\n"
      "X-Mine: kept\r\nContent-Length: 999\r\n\r\n";
  const std::string http = "HTTP/1.1 200 OK\r\nServer: s\r\n\r\n";
  WarcRecord original{.record_id = "urn:a", .target_uri = "http://x/a", .date = "2023-01-02T00:00:00Z"};
  const std::string kept =
      "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://x/b\r\nWARC-Date: 2024-01-03T00:00:00Z\r\n"
      "WARC-Record-ID: <urn:b>\r\nX-Mine: kept\r\n";
  const std::string rest = kProfile +
                           "WARC-Refers-To: <urn:a>\r\nWARC-Refers-To-Target-URI: http://x/a\r\n"
                           "WARC-Refers-To-Date: 2023-01-02T00:00:00Z\r\nContent-Length: 30\r\n\r\n" +
                           http + "\r\n\r\n";
  ASSERT_EQ(http.size(), 30U);
  EXPECT_EQ(revisit_of_record(head, http, original, "sha1:NEW").value(),
            kept + "WARC-Payload-Digest: sha1:NEW\r\n" + rest);
  // Players look the original up by the digest as the original writes it.
  const std::string with_digest = "WARC/1.1\r\nWARC-Payload-Digest: sha256:00ff\r\n\r\n";
  original.payload_digest = "sha1:OLD";
  EXPECT_EQ(revisit_of_record(with_digest, http, original, "sha1:NEW").value(),
            "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Payload-Digest: sha1:OLD\r\n" + rest);
  WarcRecord bad = original;
  bad.target_uri = "http://x/\n";
  EXPECT_FALSE(revisit_of_record(head, http, bad, "sha1:NEW").ok());
}

}  // namespace
}  // namespace doppel
