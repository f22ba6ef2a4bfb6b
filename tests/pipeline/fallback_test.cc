// A page whose text is only a fallback: the result of SIGN, and the events.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "formats/decoder.h"
#include "pipeline/sign_record.h"
#include "records/events.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kMenu =
    "<html><body><nav><a href=/>Home</a> <a href=/news>All the news of the valley</a></nav><p>Loading</p>"
    "<footer><p>This paper is made by people who live in the valley, and it comes out every day.</p></footer>"
    "<script src=app.js></script></body></html>";
constexpr std::string_view kShort =
    "<html><body><h1>Opening hours</h1><p>From nine to five</p></body></html>";

struct Signed {
  SignedDocument document;
  Metadata metadata;
  std::vector<uint8_t> slices = std::vector<uint8_t>(128);
};

Signed sign(std::string_view page, FallbackText fallback, uint64_t offset) {
  FormatOptions format;
  format.format = "html";
  format.fallback_text = fallback;
  Scheme scheme;
  RecordSigner signer(scheme, true, format, {.replace = true});
  Record record;
  record.value = page;
  record.source = "pages";
  record.partition = 0;
  record.offset = offset;
  Signed out;
  signer.sign(record, out.document, out.slices.data());
  EXPECT_TRUE(decode_metadata(out.document.metadata, out.metadata).ok());
  return out;
}

TEST(Fallback, IsUnscoredByDefault) {
  const Signed menu = sign(kMenu, FallbackText::unscored, 1);
  EXPECT_EQ(menu.document.content, Content::empty);
  EXPECT_FALSE(menu.document.replace);
  EXPECT_EQ(menu.metadata.text_source, "fallback");
  const Signed whole = sign(kShort, FallbackText::unscored, 1);
  EXPECT_EQ(whole.document.content, Content::shingled);
  EXPECT_EQ(whole.metadata.text_source, "");
}

TEST(Fallback, IsNeverAnExactCopy) {
  const Signed a = sign(kMenu, FallbackText::near, 1);
  const Signed b = sign(kMenu, FallbackText::near, 2);
  EXPECT_EQ(a.document.content, Content::shingled);
  EXPECT_NE(a.document.digest, b.document.digest);
  EXPECT_EQ(a.slices, b.slices);
  EXPECT_FALSE(a.document.replace);
  // The same record gives the same signature whenever it is read.
  EXPECT_EQ(a.document.digest, sign(kMenu, FallbackText::near, 1).document.digest);
  EXPECT_EQ(sign(kShort, FallbackText::near, 1).document.digest,
            sign(kShort, FallbackText::near, 2).document.digest);
}

TEST(Fallback, EventsSaySo) {
  const Signed menu = sign(kMenu, FallbackText::near, 1);
  std::string line;
  append_verdict(line, menu.metadata, {}, {.verdict = Verdict::unscored}, "");
  EXPECT_THAT(line, HasSubstr(R"("text_source":"fallback")"));
  const Signed original = sign(kShort, FallbackText::near, 2);
  line.clear();
  append_duplicate_of(line, {}, menu.metadata, original.metadata,
                      {.verdict = Verdict::duplicate, .kind = Kind::near, .similarity = {1, 1}});
  EXPECT_THAT(line, HasSubstr(R"("content_type":null,"text_source":"fallback")"));
  EXPECT_THAT(line.substr(line.find("original")), Not(HasSubstr("text_source")));
}

TEST(Fallback, AnotherTreatmentIsAnotherScheme) {
  FormatOptions format;
  format.format = "html";
  const std::string unscored = describe_format(format);
  format.fallback_text = FallbackText::near;
  EXPECT_NE(describe_format(format), unscored);
  format.extract = ExtractPart::visible;
  const std::string visible = describe_format(format);
  format.fallback_text = FallbackText::unscored;
  EXPECT_EQ(describe_format(format), visible);
}

}  // namespace
}  // namespace doppel
