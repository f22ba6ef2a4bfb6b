// The metadata of an original: reading returns what was written, and refuses what was cut.
#include "records/metadata.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "metadata_testing.h"

namespace doppel {
namespace {

using records_test::encoded;

// A document with some of all fields, and the bytes that its views refer to.
class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}

  Metadata metadata() {
    static const std::string_view sources[] = {"", "data", kFallbackText};
    Metadata m;
    m.source = text();
    if (even()) m.partition = static_cast<int32_t>(random_() % 1'000);
    if (even()) m.incarnation = 1 + static_cast<uint32_t>(random_() % 300);
    if (even()) m.moved = static_cast<uint32_t>(random_() % m.incarnation);
    m.offset = number();
    m.id = text();
    m.url = text();
    if (even()) m.date_ms = static_cast<int64_t>(random_());
    if (even()) m.arrival_ms = static_cast<int64_t>(random_());
    m.whole_file = even();
    m.text_source = sources[random_() % 3];
    if (even()) m.key = text();
    m.content_type = text();
    m.payload_digest = text();
    if (even()) m.payload = {number(), number()};
    if (even()) {
      m.warc = {.record_id = text(), .target_uri = text(), .date = text(), .filename = text(), .offset = {}};
      if (even()) m.warc->offset = number();
      m.warc->payload_digest = text();
    }
    m.tags = text();
    m.passthrough = text();
    if (even()) {
      m.best = {.tag = static_cast<uint32_t>(random_()), .value = {}};
      if (even()) m.best->value = static_cast<double>(random_() % 1'000'000) / 7;
    }
    return m;
  }

 private:
  bool even() { return random_() % 2 == 0; }
  uint64_t number() { return random_() >> (random_() % 64); }
  std::string_view text() {
    std::string& out = kept_.emplace_back(random_() % 3 == 0 ? 0 : random_() % 200, '\0');
    for (char& c : out) c = static_cast<char>(random_());
    return out;
  }

  std::mt19937_64 random_;
  std::deque<std::string> kept_;
};

RC_GTEST_PROP(Metadata, IsReadAsItWasWritten, (uint64_t seed)) {
  Random random(seed), other(seed + 1);
  const Metadata m = random.metadata();
  const std::string bytes = encoded(m);
  Metadata read = other.metadata();  // values of an earlier document must not remain
  RC_ASSERT(decode_metadata(bytes, read).ok());
  RC_ASSERT(read.source == m.source && read.partition == m.partition && read.offset == m.offset);
  RC_ASSERT(read.incarnation == m.incarnation && read.moved == m.moved);
  RC_ASSERT(read.id == m.id && read.url == m.url && read.key == m.key);
  RC_ASSERT(read.date_ms == m.date_ms && read.arrival_ms == m.arrival_ms);
  RC_ASSERT(read.whole_file == m.whole_file && read.text_source == m.text_source);
  RC_ASSERT(read.content_type == m.content_type && read.payload_digest == m.payload_digest);
  RC_ASSERT(read.payload == m.payload && payload_of_metadata(bytes) == m.payload);
  RC_ASSERT(read.best == m.best && best_of_metadata(bytes) == m.best);
  RC_ASSERT(read.tags == m.tags && read.passthrough == m.passthrough);
  RC_ASSERT(read.warc.has_value() == m.warc.has_value());
  if (m.warc) {
    RC_ASSERT(read.warc->record_id == m.warc->record_id && read.warc->target_uri == m.warc->target_uri);
    RC_ASSERT(read.warc->date == m.warc->date && read.warc->filename == m.warc->filename);
    RC_ASSERT(read.warc->offset == m.warc->offset);
    RC_ASSERT(read.warc->payload_digest == m.warc->payload_digest);
  }
}

// The value of the best copy has no flag: it is there if bytes are left.
RC_GTEST_PROP(Metadata, IsRefusedIfItWasCut, (uint64_t seed)) {
  Random random(seed);
  Metadata m = random.metadata();
  m.best.reset();
  const std::string bytes = encoded(m);
  for (size_t length = 0; length < bytes.size(); ++length) {
    Metadata read;
    RC_ASSERT(!decode_metadata(std::string_view(bytes).substr(0, length), read).ok());
  }
}

// Two documents are the same record of Kafka only if all four parts of the place are equal, or only the
// incarnation differs, it was the same topic, and so is the text.
RC_GTEST_PROP(Metadata, NamesTheRecordOfKafka, (uint64_t seed)) {
  Random random(seed);
  Metadata m = random.metadata(), other = random.metadata();
  m.partition = static_cast<int32_t>(seed % 5);
  other.source = m.source, other.partition = m.partition;
  other.offset = m.offset, other.incarnation = m.incarnation;
  const std::string bytes = encoded(m);
  RC_ASSERT(is_same_record(bytes, encoded(other), false));
  Metadata changed = other;
  ++changed.offset;
  RC_ASSERT(!is_same_record(bytes, encoded(changed), true));
  changed = other, ++changed.partition;
  RC_ASSERT(!is_same_record(bytes, encoded(changed), true));
  changed = other, changed.partition = -1;
  RC_ASSERT(!is_same_record(encoded(changed), encoded(changed), true));  // files
  for (const uint32_t later : {1, 2, 3}) {
    changed = other, changed.incarnation += later;
    for (changed.moved = 0; changed.moved < 4; ++changed.moved) {
      RC_ASSERT(is_same_record(bytes, encoded(changed), true) == (changed.moved >= later));
      RC_ASSERT(!is_same_record(bytes, encoded(changed), false));
      RC_ASSERT(!is_same_record(encoded(changed), bytes, true));
    }
  }
}

TEST(Metadata, TheNameIsThatOfTheFormatTheKeyTheFileOrThePlace) {
  Metadata m{.source = "documents", .partition = 3, .incarnation = 2, .offset = 17};
  EXPECT_EQ(m.event_id(), "documents@2/3/17");
  EXPECT_EQ(m.name(), "documents@2/3/17");
  m.key = "k";
  EXPECT_EQ(m.name(), "k");
  m.key = "\xff";
  EXPECT_EQ(m.name(), "b64:/w==");
  m.id = "stated";
  EXPECT_EQ(m.name(), "stated");
  const Metadata file{.source = "a/b.html", .whole_file = true};
  EXPECT_EQ(file.name(), "a/b.html");
  EXPECT_EQ(file.event_id(), "a/b.html/0");
}

}  // namespace
}  // namespace doppel
