#include "formats/decoder.h"

#include <gmock/gmock.h>

#include <random>

#include "base/status.h"

namespace doppel {
namespace {

using testing::HasSubstr;

// Decodes a copy of the record followed only by padding, in memory of exactly that size.
class Decoded {
 public:
  explicit Decoded(std::string_view json, const FormatOptions& options = {}, bool whole_file = false,
                   std::string_view behind = {})
      : memory_(json) {
    memory_.append(behind);
    memory_.append(kRecordPadding, '\0');
    memory_.shrink_to_fit();
    EXPECT_TRUE(check_format(options).ok());
    decoder_ = make_decoder(options);
    Record record;
    record.value = std::string_view(memory_).substr(0, json.size());
    record.whole_file = whole_file;
    status = decoder_->decode(record, document);
  }
  std::string reason() const { return std::string(std_sv(status.message())); }

  Document document;
  absl::Status status;

 private:
  std::string memory_;
  std::unique_ptr<Decoder> decoder_;
};

FormatOptions json_options() {
  FormatOptions options;
  options.format = "json";
  return options;
}

TEST(Json, AllFields) {
  Decoded d(
      R"({"id": "a", "url": "http://x/", "date": "2024-05-06", "text": "words \u00e4\n", "x": {"text": 1}})");
  ASSERT_TRUE(d.status.ok()) << d.reason();
  EXPECT_EQ(d.document.id, "a");
  EXPECT_EQ(d.document.url, "http://x/");
  EXPECT_EQ(d.document.text, "words \xc3\xa4\n");
  EXPECT_EQ(d.document.timestamp_ms, 1714953600000);
  EXPECT_EQ(d.document.scope, "");
}

TEST(Json, TheFirstThatIsThereAndNotNull) {
  EXPECT_EQ(Decoded(R"({"body": "b", "content": "c"})").document.text, "c");
  EXPECT_EQ(Decoded(R"({"body": "b", "text": null})").document.text, "b");
  EXPECT_EQ(Decoded(R"({"body": "b", "text": []})").document.text, "b");
  EXPECT_EQ(Decoded(R"({"text": "first", "text": "second"})").document.text, "first");
  EXPECT_EQ(Decoded(R"({"text": null, "text": "second"})").document.text, "");
  Decoded nothing(R"({"text": null, "id": 1})");
  EXPECT_TRUE(nothing.status.ok());
  EXPECT_EQ(nothing.document.text, "");
  EXPECT_EQ(Decoded(R"({"id": 1, "art\u001bicle": "a"})").reason(),
            R"(text: no field "text", "content" or "body"; the fields are "id", "art\u001bicle"; )"
            "input.text (--text-field) names the right one");
  EXPECT_EQ(Decoded("{}").reason(),
            R"(text: no field "text", "content" or "body"; the object has no fields)");
  std::string many = "{\"" + std::string(1000, 'n') + "\":0";
  for (int i = 0; i < 20; ++i) many += ",\"f" + std::to_string(i) + "\":0";
  EXPECT_THAT(Decoded(many + "}").reason(),
              HasSubstr(R"(are "f0", "f1", "f2", "f3", "f4", "f5", "f6", ...; )"));
}

TEST(Json, WrongTypes) {
  EXPECT_EQ(Decoded(R"({"content": {"a": 1}})").reason(),
            R"(text: field "content" is an object, not a string)");
  EXPECT_EQ(Decoded(R"({"text": 7})").reason(), R"(text: field "text" is a number, not a string)");
  EXPECT_EQ(Decoded(R"({"text": ["a", "b"]})").reason(), R"(text: field "text" is an array, not a string)");
  EXPECT_EQ(Decoded(R"({"text": true})").reason(), R"(text: field "text" is true or false, not a string)");
  EXPECT_EQ(Decoded(R"({"text": "", "id": {}})").reason(),
            R"(id: field "id" is an object, not a string or a number)");
  Decoded lenient(R"({"text": "t", "url": 5, "date": {"x": 1}})");
  EXPECT_TRUE(lenient.status.ok());
  EXPECT_EQ(lenient.document.url, "");
  EXPECT_EQ(lenient.document.timestamp_ms, std::nullopt);
}

TEST(Json, OneElementArraysAreTheirElement) {
  Decoded d(R"({"id": [5], "text": ["t"], "url": ["u"], "date": [1714979289]})");
  ASSERT_TRUE(d.status.ok()) << d.reason();
  EXPECT_EQ(d.document.id, "5");
  EXPECT_EQ(d.document.text, "t");
  EXPECT_EQ(d.document.url, "u");
  EXPECT_EQ(d.document.timestamp_ms, 1714979289000);
}

TEST(Json, NumbersAsIds) {
  EXPECT_EQ(Decoded(R"({"text": "", "id": 9007199254740993})").document.id, "9007199254740993");
  EXPECT_EQ(Decoded(R"({"text": "", "id": 18446744073709551615})").document.id, "18446744073709551615");
  EXPECT_EQ(Decoded(R"({"text": "", "id": -3})").document.id, "-3");
  EXPECT_EQ(Decoded(R"({"text": "", "id": 1.5})").document.id, "1.5");
}

TEST(Json, Dates) {
  EXPECT_EQ(Decoded(R"({"text": "", "timestamp": 1714979289123})").document.timestamp_ms, 1714979289123);
  EXPECT_EQ(Decoded(R"({"text": "", "timestamp": 1714979289.5})").document.timestamp_ms, 1714979289500);
  EXPECT_EQ(Decoded(R"({"text": "", "date": "yesterday", "timestamp": 5})").document.timestamp_ms,
            std::nullopt);
}

TEST(Json, Pointers) {
  FormatOptions options;
  options.text_fields = {"/page/parts/1", "/a~1b"};
  options.id_fields = {"/m~0/id"};
  EXPECT_EQ(Decoded(R"({"page": {"parts": ["x", "y"]}, "m~": {"id": "i"}})", options).document.text, "y");
  EXPECT_EQ(Decoded(R"({"page": {"parts": ["x", "y"]}, "m~": {"id": "i"}})", options).document.id, "i");
  EXPECT_EQ(Decoded(R"({"page": 3, "a/b": "z"})", options).document.text, "z");
  EXPECT_EQ(Decoded(R"({"page": []})", options).reason(),
            R"(text: no field "/page/parts/1" or "/a~1b"; the fields are "page"; )"
            "input.text (--text-field) names the right one");
}

TEST(Json, Scopes) {
  FormatOptions options;
  options.scope_fields = {"lang"};
  EXPECT_EQ(Decoded(R"({"text": "", "lang": "de"})", options).document.scope, "de");
  EXPECT_EQ(Decoded(R"({"text": "", "lang": 7})", options).document.scope, "7");
  EXPECT_EQ(Decoded(R"({"text": ""})", options).document.scope, "");
  EXPECT_THAT(Decoded(R"({"text": "", "lang": {}})", options).reason(),
              HasSubstr("scope: field \"lang\" is an object"));
  options.scope_fields = {"lang", "/site/name", "n"};
  EXPECT_EQ(
      Decoded(R"({"text": "", "lang": "de", "site": {"name": "1:,"}, "n": true})", options).document.scope,
      "2:de,3:1:,,4:true,");
  EXPECT_EQ(Decoded(R"({"text": "", "n": ""})", options).document.scope, "-,-,0:,");
}

TEST(Json, WhatIsRejectedAndWhy) {
  const std::pair<std::string, const char*> table[] = {
      {"", "not JSON: it is empty"},
      {"  \r", "not JSON: it is empty"},
      {"{\"text\": \"x\"} trailing", "something follows"},
      {"{\"text\": \"x\"}{}", "something follows"},
      {"{\"text\": \"x\"", "it is truncated"},
      {"{\"text\": \"x", "a string is not closed"},
      {"{\"text\": \"\xff\"}", "not JSON: it is not valid UTF-8 (field \"text\")"},
      {"{\"a\": [\"{,\\\"\"], \"b\": {\"c\": \"x\xc3\"}, \"d\": 1}", "UTF-8 (field \"b\")"},
      {"{\"\xff\": 1}", "it is not valid UTF-8"},
      {R"({"text": "\ud800"})", "surrogate"},
      {R"({"text": "\ude00x"})", "surrogate"},
      {R"({"text": "\q"})", "escape"},
      {"{\"text\": \"a\nb\"}", "control character"},
      {R"({"text": "x", "n": 1e400, "m": 01})", "number"},
      {R"({"text": "x", "n": 123456789012345678901, "m": "\q"})", "escape"},
      {R"({"text": "x", "n": 01})", "number"},
      {"{'text': 1}", "not JSON"},
      {R"({"text": "x",})", "not JSON"},
      {R"(["text"])", "an array instead of an object"},
      {R"("text")", "a string instead of an object"},
      {"17", "a number instead of an object"},
      {"null", "null instead of an object"},
      {R"({"text": "x", "a": )" + std::string(2000, '[') + std::string(2000, ']') + "}", "nested"},
  };
  for (const auto& [json, reason] : table) {
    Decoded d(json);
    EXPECT_FALSE(d.status.ok()) << json;
    EXPECT_THAT(d.reason(), HasSubstr(reason)) << json;
  }
}

// Numbers and halves of surrogate pairs that no parser accepts cost the record only if they are used.
TEST(Json, WhatIsNotUsedMayHoldAnyNumberAndHalfOfASurrogatePair) {
  FormatOptions options = json_options();
  options.tag_fields = {"site"};
  options.passthrough_fields = {"p", "/meta/n"};
  const std::string big = "123456789012345678901234567890";
  for (const std::string& bad :
       {big, std::string("-1e400"), std::string(R"("a\ud800")"), std::string(R"("\udc00\ud83d\ude00\ud83d")"),
        std::string(R"({"\ud800": [1e999, "\udfff", {"text": 1e999}]})")}) {
    for (const std::string& before :
         {R"({"n": )" + bad + R"(, "text": "x)", R"({"meta":{"id":7,"o": [)" + bad + R"(]}, "text": "x)"}) {
      Decoded d(before + R"(\ud83d\ude00", "id": "i", "content": )" + bad + R"(, "id": )" + bad + "}",
                options);
      ASSERT_TRUE(d.status.ok()) << before << ": " << d.reason();
      EXPECT_EQ(d.document.text, "x\xf0\x9f\x98\x80");
      EXPECT_EQ(d.document.id, "i");
    }
  }
  // If it is used: any length works as a name, and passed-through values stay as they are.
  EXPECT_EQ(Decoded(R"({"text": "x", "id": )" + big + "}", options).document.id, big);
  EXPECT_EQ(Decoded(R"({"text": "x", "site": -)" + big + "}", options).document.tags, "site=-" + big + "\n");
  EXPECT_EQ(Decoded(R"({"text": "x", "p": [ 1e400 , {"a b" : )" + big +
                        R"(, "c": "\ud800 \\" }], "meta": {"n": 1e999}})",
                    options)
                .document.passthrough,
            R"("p":[1e400,{"a b":)" + big + R"(,"c":"\ufffd \\"}],"n":1e999)");
  EXPECT_EQ(Decoded(R"({"text": "x", "date": 1e400})", options).document.timestamp_ms, std::nullopt);
  const std::pair<std::string, const char*> table[] = {
      {R"({"text": "a\ud800b"})", "text: field \"text\" holds half of a surrogate pair"},
      {R"({"text": 1e400})", "text: field \"text\" is a number, not a string"},
      {R"({"text": "x", "id": 1e400})", "id: field \"id\" holds a number that does not fit into 64 bits"},
      {R"({"text": "x", "url": "\udc00"})", "url: field \"url\" holds half of a surrogate pair"},
      {R"({"text": "x", "site": "\udc00"})", "tags: field \"site\" holds half of a surrogate pair"}};
  for (const auto& [json, reason] : table) EXPECT_EQ(Decoded(json, options).reason(), reason);
}

// The bytes after a record in memory must not matter, wherever the record was cut.
TEST(Json, IsNotCompletedByWhatFollows) {
  std::string json = R"({"text": "a\u00e9\"b", "n": [true, -12.5e3, null], "id": "x", "o": {"k": false}})";
  for (size_t cut = 0; cut < json.size(); ++cut) {
    for (const std::string& behind :
         {json.substr(cut), json.substr(cut) + json, std::string("\"}]}"), std::string("\n")}) {
      EXPECT_FALSE(Decoded(json.substr(0, cut), {}, false, behind).status.ok()) << cut;
    }
  }
  EXPECT_TRUE(Decoded(json, {}, false, "\"}]").status.ok());
}

TEST(Json, ByteOrderMarkCarriageReturnAndPrettyPrinted) {
  EXPECT_EQ(Decoded("\xef\xbb\xbf{\"text\": \"x\"}\r").document.text, "x");
  EXPECT_EQ(Decoded("{\n  \"text\":\n\t\"x\"\n}\n", json_options(), true).document.text, "x");
}

TEST(Json, ViewsOfThePreviousRecordDoNotLeak) {
  auto decoder = make_decoder(json_options());
  Document document;
  for (std::string json : {R"({"id": "a", "text": "b", "url": "c", "date": 5})", R"({"text": "x"})"}) {
    std::string memory = json + std::string(kRecordPadding, ' ');
    Record record;
    record.value = std::string_view(memory).substr(0, json.size());
    ASSERT_TRUE(decoder->decode(record, document).ok());
  }
  EXPECT_TRUE(document.id.empty() && document.url.empty() && !document.timestamp_ms);
}

TEST(Text, IsTheRecord) {
  FormatOptions options;
  options.format = "text";
  EXPECT_EQ(Decoded("\xef\xbb\xbf{\"a\"}\r", options).document.text, "{\"a\"}");
  EXPECT_EQ(Decoded("a\r", options, true).document.text, "a\r");
  EXPECT_EQ(Decoded("", options, true).document.id, "");
}

TEST(Auto, JsonForLinesTextForFiles) {
  std::string json = R"({"text": "x"})";
  EXPECT_EQ(Decoded(json).document.text, "x");
  EXPECT_EQ(Decoded(json, {}, true).document.text, json);
  EXPECT_EQ(Decoded(json, json_options(), true).document.text, "x");
}

TEST(Auto, AWholeFileThatBeginsAsAPageIsAPage) {
  const std::string article = "<p>An article of some length, which has a second clause and a third one.</p>";
  for (const std::string begin : {"<!DOCTYPE html>", "<html lang=\"en\">",
                                  "\xef\xbb\xbf \n<!-- saved --><?xml version=\"1.0\"?><!doctype HTML>"}) {
    const std::string page = begin + "<nav><a href=\"/\">Home</a></nav>" + article + "<script>x()</script>";
    const Decoded d(page, {}, true);
    ASSERT_TRUE(d.status.ok()) << d.reason();
    EXPECT_TRUE(d.document.page) << begin;
    EXPECT_THAT(d.document.text, HasSubstr("An article of some length"));
    EXPECT_THAT(d.document.text, testing::Not(HasSubstr("script")));
  }
  FormatOptions visible;
  visible.extract = ExtractPart::none;
  EXPECT_THAT(Decoded("<html>" + article, visible, true).document.text, HasSubstr("<p>An"));
  // Texts that mention markup, and other XML.
  for (const std::string text :
       {"A text about <html> and <p>.", "<htmlx>", "<!-- # A heading in Markdown -->\n# Title", "<html",
        "<?xml version=\"1.0\"?><rss><title>a</title></rss>", "<div>part of a template</div>"}) {
    const Decoded d(text, {}, true);
    EXPECT_FALSE(d.document.page) << text;
    EXPECT_EQ(d.document.text, text);
  }
  FormatOptions text;
  text.format = "text";
  EXPECT_EQ(Decoded("<!DOCTYPE html>" + article, text, true).document.text, "<!DOCTYPE html>" + article);
}

TEST(Auto, AWholeFileIsDecoded) {
  const Decoded d("caf\xe9, with a few words behind it", {}, true);
  EXPECT_EQ(d.document.text, "caf\xc3\xa9, with a few words behind it");
  EXPECT_TRUE(d.document.charset_guessed);
  EXPECT_EQ(Decoded("caf\xc3\xa9", {}, true).document.charset, "");
}

TEST(Options, AreChecked) {
  FormatOptions options;
  options.format = "xml";
  EXPECT_THAT(check_format(options).ToString(),
              HasSubstr("input.format: \"xml\" is not one of auto, json, avro, text"));
  options = {};
  options.url_fields = {"url", "/a/~2"};
  EXPECT_THAT(check_format(options).ToString(), HasSubstr("input.url: \"/a/~2\" is not a JSON pointer"));
  options = {};
  options.scope_fields = {""};
  EXPECT_THAT(check_format(options).ToString(), HasSubstr("input.scope: a field without a name"));
  options = {};
  options.text_fields = {};
  EXPECT_THAT(check_format(options).ToString(), HasSubstr("input.text: at least one"));
}

}  // namespace
}  // namespace doppel
