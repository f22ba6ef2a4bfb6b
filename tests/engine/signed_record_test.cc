// Signed records: reading returns what was written, and refuses everything else.
#include "engine/signed_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/checksums.h"
#include "sketch/compact_set.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;

constexpr int kNumPerm = 64;
constexpr uint64_t kFingerprint = 0x1234567890abcdef;

struct Whole {
  SignedOrigin origin;
  SignedDocument document;
  std::vector<uint8_t> slices = std::vector<uint8_t>(kNumPerm);
};

std::string bytes_of(std::mt19937_64& random, size_t most) {
  std::string out(random() % (most + 1), '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

Whole random_record(uint64_t seed) {
  static const std::string sources[] = {"documents", "a/b.jsonl", "", "crawl\n1"};
  std::mt19937_64 random(seed);
  Whole out;
  out.origin = {.source = sources[random() % 4],
                .partition = static_cast<int32_t>(random() % 40) - 1,
                .begin = random() >> (random() % 64),
                .end = 0};
  out.origin.end = out.origin.begin + random() % 1000;
  SignedDocument& d = out.document;
  d.content = static_cast<Content>(random() % 5);
  if (d.content == Content::shingled) {
    for (uint8_t& slice : out.slices) slice = static_cast<uint8_t>(random());
    d.set_left_out = random() % 8 == 0;
    for (size_t i = random() % 700; i > 0 && !d.set_left_out; --i)
      d.tops.push_back(static_cast<uint32_t>(random()));
  }
  if (d.content <= Content::digest_only) d.digest = {random(), random()};
  if (random() % 2 == 0) d.payload = {random(), random()};
  if (random() % 2 == 0) d.id_tag = random();
  if (random() % 2 == 0) d.timestamp_ms = static_cast<int64_t>(random() >> 20);
  if (d.content == Content::skipped && d.id_tag != 0 && random() % 2 == 0)
    d.action = SignedDocument::Action::remove;
  d.metadata = bytes_of(random, 300);
  d.reason = bytes_of(random, 20);
  if (d.content == Content::rejected) d.record = bytes_of(random, 2000);
  code_set(d);
  return out;
}

std::string encoded(const Whole& w) {
  std::string out;
  encode_signed_record(kFingerprint, w.origin, w.document, w.slices, out);
  return out;
}

absl::Status decode(std::string_view bytes, Whole& out) {
  return decode_signed_record(bytes, kFingerprint, kNumPerm, out.origin, out.document, out.slices.data());
}

// Sets a right checksum, whatever the content.
std::string resealed(std::string bytes) {
  store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
  return bytes;
}

RC_GTEST_PROP(SignedRecord, IsReadAsItWasWritten, (uint64_t seed)) {
  const Whole w = random_record(seed);
  const std::string bytes = encoded(w);
  Whole read;
  // Values of an earlier document must not remain.
  read.document = random_record(seed + 1).document;
  read.document.tops = {1, 2};
  read.document.prints.push_back({});
  const absl::Status status = decode(bytes, read);
  RC_ASSERT(status.ok());
  RC_ASSERT(read.origin == w.origin);
  const SignedDocument &a = read.document, &b = w.document;
  RC_ASSERT(a.action == b.action && a.content == b.content && a.set_left_out == b.set_left_out);
  RC_ASSERT(a.digest == b.digest && a.payload == b.payload && a.id_tag == b.id_tag);
  RC_ASSERT(a.timestamp_ms == b.timestamp_ms && a.coded_set == b.coded_set);
  RC_ASSERT(a.tops.empty() && a.prints.empty());
  RC_ASSERT(a.metadata == b.metadata && a.reason == b.reason && a.record == b.record);
  RC_ASSERT(b.content != Content::shingled || read.slices == w.slices);
  RC_ASSERT(encoded(read) == bytes);
}

RC_GTEST_PROP(SignedRecord, EveryFlippedBitAndEveryCutIsSeen, (uint64_t seed)) {
  std::string bytes = encoded(random_record(seed));
  Whole read;
  std::mt19937_64 random(seed);
  const std::string cut = bytes.substr(0, random() % bytes.size());
  RC_ASSERT(absl::IsInvalidArgument(decode(cut, read)));
  bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
  RC_ASSERT(absl::IsInvalidArgument(decode(bytes, read)));
}

// Anyone can compute a checksum: a right one must not make a record trusted.
RC_GTEST_PROP(SignedRecord, ForgedOnesAreReadOrRefused, (uint64_t seed)) {
  std::string bytes = encoded(random_record(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) {
    std::string forged =
        bytes.substr(0, random() % 4 == 0 ? 13 + random() % (bytes.size() - 12) : bytes.size());
    forged[4 + random() % (forged.size() - 4)] = static_cast<char>(random());
    forged = resealed(forged);
    Whole read;
    const absl::Status status = decode(forged, read);
    RC_ASSERT(status.ok() || absl::IsInvalidArgument(status));
    if (!status.ok()) continue;
    Whole again;
    const std::string rewritten = encoded(read);
    RC_ASSERT(decode(rewritten, again).ok());
    RC_ASSERT(again.document.metadata == read.document.metadata && again.origin == read.origin);
  }
}

TEST(SignedRecord, SaysWhatIsWrong) {
  std::string bytes = encoded(random_record(1));
  Whole read;
  EXPECT_THAT(decode("", read).ToString(), HasSubstr("too short"));
  EXPECT_THAT(decode("{\"id\":\"a\",\"text\":\"b\"}", read).ToString(), HasSubstr("wrong checksum"));
  bytes[4] = 2;
  EXPECT_THAT(decode(resealed(bytes), read).ToString(),
              HasSubstr("of version 2; this doppel reads version 1"));
  bytes[4] = 1;
  EXPECT_TRUE(decode(resealed(bytes), read).ok());
  bytes[5] ^= 1;
  EXPECT_THAT(decode(resealed(bytes), read).ToString(), HasSubstr("another data scheme or hash key"));
  Whole other = random_record(2);
  other.document.content = Content::shingled;
  other.slices.resize(kNumPerm / 2);
  EXPECT_THAT(decode(encoded(other), read).ToString(), HasSubstr("32 slices in place of 64"));
  Whole removal;
  removal.document.action = SignedDocument::Action::remove;
  for (const auto& [content, id_tag] : {std::pair(Content::skipped, 0), std::pair(Content::empty, 7)}) {
    removal.document.content = content;
    removal.document.id_tag = static_cast<uint64_t>(id_tag);
    EXPECT_THAT(decode(encoded(removal), read).ToString(), HasSubstr("a removal that names nothing"));
  }
}

TEST(SignedRecord, FingerprintIsThatOfTheScheme) {
  Scheme a{.key = {1, 2}}, b = a, c = a;
  b.num_perm = 64;
  c.key = {1, 3};
  EXPECT_EQ(scheme_fingerprint(a), a.key.derive(a.describe()));
  EXPECT_NE(scheme_fingerprint(a), scheme_fingerprint(b));
  EXPECT_NE(scheme_fingerprint(a), scheme_fingerprint(c));
}

TEST(SignedFile, HeaderIsReadAsItWasWritten) {
  const SignedFileHeader header{.scheme = "num_perm=128\n", .text = "html=3\n", .format = "html"};
  std::string bytes;
  append_signed_header(header, bytes);
  ASSERT_TRUE(signed_header_size(bytes).ok());
  EXPECT_EQ(*signed_header_size(bytes), bytes.size());
  ASSERT_TRUE(parse_signed_header(bytes).ok());
  EXPECT_EQ(*parse_signed_header(bytes), header);
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] ^= static_cast<char>(1 << i % 8);
    EXPECT_FALSE(parse_signed_header(damaged).ok()) << "bit " << i;
  }
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_signed_header(bytes.substr(0, length)).ok()) << length;
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_THAT(signed_header_size(newer).status().ToString(),
              HasSubstr("of version 2; this doppel reads version 1"));
}

TEST(SignedFile, FrameHeadsAreChecked) {
  for (uint32_t length : {0u, 1u, 1100u, 0x7fffffffu, 0xffffffffu}) {
    std::string head;
    append_frame_head(length, head);
    ASSERT_EQ(head.size(), kFrameHead);
    EXPECT_EQ(parse_frame_head(head), length);
    for (size_t i = 0; i < head.size() * 8; ++i) {
      std::string damaged = head;
      damaged[i / 8] ^= static_cast<char>(1 << i % 8);
      EXPECT_EQ(parse_frame_head(damaged), std::nullopt);
    }
  }
  EXPECT_EQ(parse_frame_head(kSignedMagic), std::nullopt) << "a header is no frame";
  EXPECT_EQ(parse_frame_head(std::string(8, '\0')), std::nullopt) << "a hole in a file is no end";
}

// With prints, a record contains the order of its set's values.
TEST(SignedRecord, KeepsTheOrderOfShinglesWherePrintsNeedIt) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::string text;
    for (uint64_t w = 5 + random() % (round % 10 == 0 ? 20'000 : 900); w > 0; --w)
      text += "w" + std::to_string(random() % (round % 3 == 0 ? 3 : 10'000)) + " ";
    Scheme scheme{.key = {random(), random()}, .num_perm = kNumPerm};
    scheme.passage = static_cast<uint32_t>(1 + random() % 200);
    Signer signer(scheme);
    Whole whole;
    signer.sign(text, "", whole.document, whole.slices.data());
    ASSERT_FALSE(whole.document.prints.empty());
    CompactSet set;
    make_compact_set(whole.document.tops, set);
    code_set(whole.document);
    std::string bytes;
    encode_signed_record(kFingerprint, whole.origin, whole.document, whole.slices, bytes);
    Whole read;
    ASSERT_TRUE(
        decode_signed_record(bytes, kFingerprint, kNumPerm, read.origin, read.document, read.slices.data())
            .ok());
    ASSERT_EQ(read.document.prints, whole.document.prints);
    ASSERT_EQ(read.document.tops.size(), whole.document.tops.size());
    for (size_t i = 0; i < read.document.tops.size(); ++i)
      ASSERT_EQ(read.document.tops[i] >> (32 - set.bits), whole.document.tops[i] >> (32 - set.bits)) << i;
    // A change that the checksum does not reveal is found or harmless.
    const size_t at = 5 + random() % (bytes.size() - 5);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    store(bytes.data(), crc32c(std::string_view(bytes).substr(4)));
    Whole other;
    (void)decode_signed_record(bytes, kFingerprint, kNumPerm, other.origin, other.document,
                               other.slices.data());
  }
}

}  // namespace
}  // namespace doppel
