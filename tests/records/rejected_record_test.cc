// The record of a rejected document: reading returns what was written, and refuses everything else.
#include "records/events.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace doppel {
namespace {

RC_GTEST_PROP(RejectedRecord, IsReadAsItWasWritten, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  std::deque<std::string> kept;
  const auto text = [&]() -> std::string_view {
    std::string& out = kept.emplace_back(random() % 100, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  Record record;
  std::vector<Header> headers(random() % 4);
  for (Header& header : headers) {
    header.name = text();
    if (random() % 2 == 0) header.value = text();
  }
  record.headers = headers;
  record.value = text();
  record.line = random() >> (random() % 64);
  if (random() % 2 == 0) record.key = text();
  record.whole_file = random() % 2 == 0;
  record.warc = random() % 2 == 0;
  record.null_value = random() % 2 == 0;
  record.row = random() % 2 == 0;
  std::string bytes = "of another";
  encode_rejected(record, bytes);

  Record read{.null_value = true, .key = "of another", .whole_file = true, .row = true, .warc = true};
  std::vector<Header> read_headers(3);
  RC_ASSERT(decode_rejected(bytes, read, read_headers).ok());
  RC_ASSERT(read.value == record.value && read.key == record.key && read.line == record.line);
  RC_ASSERT(read.whole_file == record.whole_file && read.warc == record.warc);
  RC_ASSERT(read.null_value == record.null_value && read.row == record.row);
  RC_ASSERT(read.headers.size() == headers.size());
  for (size_t i = 0; i < headers.size(); ++i)
    RC_ASSERT(read.headers[i].name == headers[i].name && read.headers[i].value == headers[i].value);

  bytes[0] = static_cast<char>(bytes[0] | 0x20);  // no such flag
  RC_ASSERT(!decode_rejected(bytes, read, read_headers).ok());
  bytes[0] = static_cast<char>(bytes[0] & ~0x20);
  RC_ASSERT(!decode_rejected(bytes + "more", read, read_headers).ok());
  for (size_t length = 0; length < bytes.size(); ++length)
    RC_ASSERT(!decode_rejected(std::string_view(bytes).substr(0, length), read, read_headers).ok());
}

// Indexes and topics hold these bytes.
TEST(RejectedRecord, IsTheseBytes) {
  Record record;
  record.key = "k";
  record.warc = true;
  record.line = 7;
  const std::vector<Header> headers = {{.name = "a", .value = "b"}, {.name = "c", .value = {}}};
  record.headers = headers;
  record.value = "text";
  std::string bytes;
  encode_rejected(record, bytes);
  EXPECT_EQ(bytes, std::string("\5\7\1k\2\1a\1\1b\1c\0\4text", 18));
}

}  // namespace
}  // namespace doppel
