#include "formats/fields.h"

#include <gmock/gmock.h>

namespace doppel {
namespace {

// Returns the record with another text; "" if it does not hold its text as it is compared.
std::string with_text(std::string bytes, std::string_view text, const FormatOptions& options = {},
                      bool whole_file = false) {
  const size_t size = bytes.size();
  bytes.resize(size + kRecordPadding);
  Record record;
  record.value = std::string_view(bytes).substr(0, size);
  record.whole_file = whole_file;
  TextField field(options);
  const auto place = field.find(record);
  return place ? field.replaced(record, *place, text) : "";
}

FormatOptions fields(std::vector<std::string> names) { return {.text_fields = std::move(names)}; }

TEST(TextField, OfJsonIsReplacedAndNothingElse) {
  EXPECT_EQ(with_text(R"( {"id" : 1.50, "text":"a \"b\" \u00e4" ,"x":[{"text":"no"}]} )", "new \"one\""),
            R"( {"id" : 1.50, "text":"new \"one\"" ,"x":[{"text":"no"}]} )");
  EXPECT_EQ(with_text("\xef\xbb\xbf{\"text\":\"a\"}", "b"), "\xef\xbb\xbf{\"text\":\"b\"}");
  EXPECT_EQ(with_text(R"({"text":"first","text":"second"})", "b"), R"({"text":"b","text":"second"})");
  EXPECT_EQ(with_text(R"({"n":1e999,"text":"a"})", "b"), R"({"n":1e999,"text":"b"})");
}

TEST(TextField, IsTheFirstThatIsThere) {
  const std::string line = R"({"body":"no","text":null,"content":"a"})";
  EXPECT_EQ(with_text(line, "b"), R"({"body":"no","text":null,"content":"b"})");
  EXPECT_EQ(with_text(R"({"page":{"text":"a"},"text":"no"})", "b", fields({"/page/text"})),
            R"({"page":{"text":"b"},"text":"no"})");
  EXPECT_EQ(with_text(R"({"text":{"string":"in a union"}})", "b"), "");
  EXPECT_EQ(with_text(R"({"id":"none"})", "b"), "");
}

TEST(TextField, OfALineIsTheLine) {
  const FormatOptions text{.format = "text"};
  EXPECT_EQ(with_text("a line\r", "b", text), "b\r");
  EXPECT_EQ(with_text("{\"text\":\"a file\"}\r\n", "b", {}, true), "b");
}

TEST(TextField, NeedsAFormatThatHoldsTexts) {
  EXPECT_TRUE(check_format_of_plain_texts({}).ok());
  EXPECT_TRUE(check_format_of_plain_texts({.format = "text"}).ok());
  for (const char* format : {"html", "warc", "signed", "ache", "heritrix", "nutch"})
    EXPECT_FALSE(check_format_of_plain_texts({.format = format}).ok()) << format;
  EXPECT_FALSE(check_format_of_plain_texts({.body_encoding = GivenEncoding::base64}).ok());
  EXPECT_FALSE(check_format_of_plain_texts({.extract = ExtractPart::main}).ok());
}

}  // namespace
}  // namespace doppel
