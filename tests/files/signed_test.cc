// Signed records in the pipeline: repeated records, the meaning of keys, and the records of rejected
// documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/signed_record.h"
#include "pipeline/pipeline.h"
#include "pipeline/sign_record.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Scheme kScheme{.key = {1, 2}};

// Returns the record that `doppel sign` makes of a message.
std::string signed_message(const Record& record, const Scheme& scheme = kScheme,
                           const FormatOptions& format = {}) {
  RecordSigner signer(scheme, true, format, {.tombstones = true});
  SignedDocument document;
  std::vector<uint8_t> slices(static_cast<size_t>(scheme.num_perm));
  signer.sign(record, document, slices.data());
  code_set(document);
  if (document.content == Content::rejected) encode_rejected(record, document.record);
  std::string out;
  encode_signed_record(
      scheme_fingerprint(scheme),
      {.source = record.source, .partition = record.partition, .begin = 0, .end = record.offset + 1},
      document, slices, out);
  return out;
}

std::string text_of(int number) {
  std::string out;
  for (int i = 0; i < 40; ++i) out += "w" + std::to_string(number * 1000 + i) + " ";
  return "{\"text\":\"" + out + "\"}" + std::string(kRecordPadding, ' ');
}

Record message(const std::string& value, uint64_t offset, const std::string* key = nullptr) {
  Record out{.value = value, .source = "documents", .partition = 0, .offset = offset, .timestamp_ms = 5};
  if (key != nullptr) out.key = *key;
  return out;
}

class OneBatch : public Source {
 public:
  explicit OneBatch(std::vector<std::string> records, size_t per_batch)
      : records_(std::move(records)), per_batch_(per_batch) {}
  absl::StatusOr<bool> next(Batch& batch) override {
    batch = {};
    for (size_t i = 0; i < per_batch_ && at_ < records_.size(); ++i, ++at_)
      batch.records.push_back({.value = records_[at_], .source = "order", .partition = 0, .offset = at_});
    return !batch.records.empty();
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::vector<std::string> records_;
  size_t per_batch_, at_ = 0;
};

// Collects each verdict with its reason.
struct VerdictSink : Sink {
  absl::Status write(const Decided& decided) override {
    for (size_t i = 0; i < decided.batch.records.size(); ++i) {
      const Outcome& outcome = decided.work.resolved.outcomes[i];
      const std::string& reason = decided.work.sign.documents[i].reason;
      said.push_back(std::string(verdict_name(outcome.verdict)) + (reason.empty() ? "" : ": " + reason));
    }
    return absl::OkStatus();
  }
  std::string position() const override { return {}; }
  std::vector<std::string> said;
};

std::vector<std::string> decide(const std::vector<std::string>& records, size_t per_batch,
                                KeyPolicy keys = {}) {
  EngineOptions options;
  options.scheme = kScheme;
  options.rule = make_rule(0.8, 0.995, 128).value();
  options.track_ids = keys.used();
  options.rule.replace = keys.replace;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  OneBatch source(records, per_batch);
  VerdictSink sink;
  Pipeline pipeline{
      .source = source, .engine = engine, .sink = sink, .format = {.format = "signed"}, .keys = keys};
  const auto counters = run_pipeline(pipeline);
  EXPECT_TRUE(counters.ok()) << counters.status();
  return sink.said;
}

// A signer that was killed may sign a document again. The second record is not a copy of the first.
TEST(SignedStream, RepeatedRecordIsNoCopyOfItself) {
  const std::string a = text_of(1), b = text_of(2);
  const std::string first = signed_message(message(a, 7)), copy = signed_message(message(a, 8));
  const std::string other = signed_message(message(b, 9));
  for (const size_t per_batch : {1, 2, 10}) {
    EXPECT_THAT(decide({first, first, copy, other, first, other}, per_batch),
                ElementsAre("unique", "skipped: repeated", "duplicate", "unique", "skipped: repeated",
                            "skipped: repeated"));
  }
}

TEST(SignedStream, ReaderSaysWhatKeysMean) {
  const std::string a = text_of(1), b = text_of(2), key = "k";
  Record gone = message("", 3, &key);
  gone.null_value = true;
  const std::vector<std::string> records{signed_message(message(a, 1, &key)),
                                         signed_message(message(b, 2, &key)), signed_message(gone),
                                         signed_message(message(a, 4)), signed_message(message(b, 5))};
  EXPECT_THAT(decide(records, 2),
              ElementsAre("unique", "unique", "skipped: null_value", "duplicate", "duplicate"));
  EXPECT_THAT(decide(records, 2, {.tombstones = true}),
              ElementsAre("unique", "unique", "removal: null_value", "unique", "unique"));
  EXPECT_THAT(decide(records, 2, {.replace = true}),
              ElementsAre("unique", "unique", "skipped: null_value", "unique", "duplicate"));
}

TEST(SignedStream, WhatCannotBeBelievedIsRejected) {
  const std::string a = text_of(1);
  SignedDocument document{.content = Content::shingled, .metadata = "not metadata"};
  document.coded_set = "no set";
  std::vector<uint8_t> slices(128);
  const auto forged = [&] {
    std::string out;
    encode_signed_record(scheme_fingerprint(kScheme), {.source = "f", .end = 1}, document, slices, out);
    return out;
  };
  std::vector<std::string> records{forged()};
  encode_metadata(metadata_of(message(a, 1), {}), document.metadata);
  records.push_back(forged());
  document.coded_set.clear();
  records.push_back(forged());
  document.content = Content::rejected;
  records.push_back(forged());
  document.reason = "not JSON";
  document.record = "\xff";
  records.push_back(forged());
  Scheme other = kScheme;
  other.num_perm = 64;
  records.push_back(signed_message(message(a, 1), other));
  const std::vector<std::string> said = decide(records, 10);
  ASSERT_EQ(said.size(), 6U);
  EXPECT_THAT(said[0], HasSubstr("rejected: a signed record with impossible metadata"));
  EXPECT_THAT(said[1], HasSubstr("rejected: a signed record whose set cannot be read"));
  EXPECT_THAT(said[2], HasSubstr("rejected: signed without its set"));
  EXPECT_THAT(said[3], HasSubstr("rejected: a signed record of a rejected document that does not say why"));
  EXPECT_THAT(said[4], HasSubstr("rejected: the record of a rejected document is damaged"));
  EXPECT_THAT(said[5], HasSubstr("rejected: signed with another data scheme or hash key"));
}

RC_GTEST_PROP(RejectedRecords, AreReadAsTheyWereWritten, (uint64_t seed)) {
  std::mt19937_64 random(seed);
  const auto bytes = [&](size_t most) {
    std::string out(random() % (most + 1), '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  const std::string value = bytes(500), key = bytes(20);
  std::vector<std::string> texts(6);
  for (std::string& text : texts) text = bytes(20);
  std::vector<Header> headers;
  for (size_t i = random() % 4; i > 0; --i) headers.push_back({texts[i], std::nullopt});
  for (Header& header : headers)
    if (random() % 2 == 0) header.value = texts[random() % 6];
  Record record{.value = value, .headers = headers, .source = "t", .partition = 3, .offset = random() % 1000};
  if (random() % 2 == 0) record.key = key;
  record.line = random() >> (random() % 64);
  record.whole_file = random() % 2 == 0;
  record.warc = random() % 2 == 0;
  record.timestamp_ms = 77;
  SignedDocument document{.content = Content::rejected};
  encode_rejected(record, document.record);
  encode_metadata(metadata_of(record, {}), document.metadata);
  RejectedRecord restored;
  const Record other{.value = "signed"};
  const Record& got = *restored.of(&other, document);
  RC_ASSERT(got.value == record.value && got.key == record.key && got.source == record.source);
  RC_ASSERT(got.partition == record.partition && got.offset == record.offset && got.line == record.line);
  RC_ASSERT(got.whole_file == record.whole_file && got.warc == record.warc && got.timestamp_ms == 77);
  RC_ASSERT(got.headers.size() == headers.size());
  for (size_t i = 0; i < headers.size(); ++i)
    RC_ASSERT(got.headers[i].name == headers[i].name && got.headers[i].value == headers[i].value);
  document.record.clear();
  RC_ASSERT(restored.of(&other, document) == &other);
}

}  // namespace
}  // namespace doppel
