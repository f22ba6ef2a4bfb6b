#include "formats/schema/avro.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <simdjson.h>

#include <array>
#include <cmath>
#include <fstream>
#include <random>

#include "base/status.h"
#include "formats/decoder.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;
using testing::HasSubstr;

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

std::shared_ptr<const RecordSchema> schema_of(std::string_view json) {
  auto schema = make_avro_schema(std::array{json});
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *schema : refused_schema("");
}

std::string refusal(std::string_view json) {
  return std::string(std_sv(make_avro_schema(std::array{json}).status().message()));
}

// Returns {"f": the value}, or the error.
std::string read(std::string_view type, std::string_view bytes) {
  std::string out;
  const auto schema =
      schema_of(fmt::format(R"({{"type":"record","name":"R","fields":[{{"name":"f","type":{}}}]}})", type));
  const absl::Status status = schema->to_json(bytes, out);
  return status.ok() ? out : std::string(std_sv(status.message()));
}

// Whether two values are equal; a 32-bit number equals the nearest 64-bit number.
bool same(dom::element a, dom::element b) {
  if (a.is_object() && b.is_object()) {
    const dom::object x = a, y = b;
    if (x.size() != y.size()) return false;
    for (const auto [key, value] : x) {
      dom::element other;
      if (y.at_key(key).get(other) != simdjson::SUCCESS || !same(value, other)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    const dom::array x = a, y = b;
    auto other = y.begin();
    for (const dom::element value : x) {
      if (!(other != y.end()) || !same(value, *other)) return false;
      ++other;
    }
    return !(other != y.end());
  }
  if (a.is_number() && b.is_number()) {
    const double x = a.get_double(), y = b.get_double();
    return x == y ? simdjson::to_string(a) == simdjson::to_string(b) || std::abs(x) < 1e15
                  : static_cast<float>(x) == static_cast<float>(y);
  }
  return simdjson::to_string(a) == simdjson::to_string(b);
}

struct AvroCase {
  std::string schema, bytes, json;
};

// Records that fastavro wrote, with their values as JSON.
const std::vector<AvroCase>& cases_of_fastavro() {
  static const std::vector<AvroCase> cases = [] {
    std::vector<AvroCase> out;
    std::ifstream in(DOPPEL_SOURCE_DIR "/tests/formats/data/avro/cases.jsonl");
    dom::parser parser;
    for (std::string line; std::getline(in, line);) {
      const dom::element one = parser.parse(line);
      out.push_back({std::string(one["schema"].get_string().value()),
                     from_hex(one["hex"].get_string().value()), simdjson::to_string(one["json"].value())});
    }
    return out;
  }();
  return cases;
}

TEST(Avro, RecordsOfFastavroAreWhatItsValuesAre) {
  dom::parser made, wanted;
  for (const AvroCase& each : cases_of_fastavro()) {
    std::string out;
    const absl::Status status = schema_of(each.schema)->to_json(each.bytes, out);
    ASSERT_TRUE(status.ok()) << status << "\n" << each.schema;
    EXPECT_TRUE(same(made.parse(out), wanted.parse(each.json))) << out << "\n" << each.json;
  }
  EXPECT_EQ(cases_of_fastavro().size(), 310U);
}

// Every proper beginning of a record is refused, and so is every record with one byte more.
TEST(Avro, RecordsThatEndTooEarlyOrTooLate) {
  for (const AvroCase& each : cases_of_fastavro()) {
    const auto schema = schema_of(each.schema);
    std::string out;
    for (size_t size = 0; size < each.bytes.size(); ++size) {
      const std::string part(each.bytes, 0, size);  // its own memory, so that a sanitizer sees its end
      EXPECT_FALSE(schema->to_json(part, out).ok()) << each.schema << size;
    }
    EXPECT_THAT(std::string(std_sv(schema->to_json(each.bytes + "x", out).message())),
                HasSubstr("bytes are left after the record (1)"));
  }
}

TEST(Avro, BrokenRecordsAreJsonOrRefused) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  dom::parser parser;
  size_t read = 0;
  for (const AvroCase& each : cases_of_fastavro()) {
    const auto schema = schema_of(each.schema);
    for (int i = 0; i < 20 && !each.bytes.empty(); ++i) {
      std::string bytes = each.bytes, out;
      for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
      if (!schema->to_json(bytes, out).ok()) continue;
      ++read;
      dom::element root;
      EXPECT_EQ(parser.parse(out).get(root), simdjson::SUCCESS) << out;
    }
  }
  EXPECT_GT(read, 0U);
}

TEST(Avro, WhatIsWrongIsNamed) {
  EXPECT_EQ(read("\"string\"",
                 "\x08"
                 "abc"),
            "avro: byte 1, /f: a value of 4 bytes where 3 are left");
  EXPECT_EQ(read("\"string\"", "\x01"), "avro: byte 1, /f: a value of less than 0 bytes");
  EXPECT_EQ(read("\"string\"", "\x02\xff"), "avro: byte 2, /f: a string is not UTF-8");
  EXPECT_EQ(read("\"int\"", "\xfe\xff\xff\xff\x1f"), "avro: byte 5, /f: an int has more than 32 bits");
  EXPECT_EQ(read("\"long\"", std::string(11, '\xff')), "avro: byte 0, /f: a number has more than 64 bits");
  EXPECT_EQ(read("\"long\"", "\xff"), "avro: byte 0, /f: the record ends within a number");
  EXPECT_EQ(read("\"boolean\"", "\x02"), "avro: byte 1, /f: a boolean is neither 0 nor 1");
  EXPECT_EQ(read(R"(["null","int"])", "\x04"), "avro: byte 1, /f: branch 2 of a union with 2");
  EXPECT_EQ(read(R"({"type":"enum","name":"E","symbols":["a"]})", "\x01"),
            "avro: byte 1, /f: symbol -1 of an enum with 1");
  EXPECT_EQ(read(R"({"type":"array","items":"boolean"})", "\x04\x01\x07"),
            "avro: byte 3, /f/1: a boolean is neither 0 nor 1");
  EXPECT_EQ(read(R"({"type":"map","values":"boolean"})", "\x02\x02k\x07"),
            "avro: byte 4, /f/k: a boolean is neither 0 nor 1");
}

TEST(Avro, AFewBytesNeverCostMuch) {
  // 2^62 nulls.
  const std::string count("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
  EXPECT_THAT(read(R"({"type":"array","items":"null"})", count),
              HasSubstr("too_large: the record has more than"));
  EXPECT_THAT(read(R"({"type":"fixed","name":"F","size":9223372036854775807})", "abc"),
              HasSubstr("where 3 are left"));
  const std::string least("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  EXPECT_FALSE(read(R"({"type":"array","items":"null"})", least).starts_with("{"));
  // A record that only contains itself.
  std::string out;
  const auto endless = schema_of(R"({"type":"record","name":"R","fields":[{"name":"r","type":"R"}]})");
  EXPECT_THAT(std::string(std_sv(endless->to_json("", out).message())),
              HasSubstr("values are nested more than 200 deep"));
}

TEST(Avro, ARootThatIsAUnion) {
  const auto schema = schema_of(R"(["null",{"type":"map","values":"int"}])");
  std::string out;
  ASSERT_TRUE(schema->to_json(std::string_view("\x02\x02\x02k\x04\x00", 6), out).ok());
  EXPECT_EQ(out, R"({"k":2})");
  EXPECT_EQ(std::string(std_sv(schema->to_json(std::string_view("\0", 1), out).message())),
            "avro: byte 1: the value is neither a record nor a map");
}

TEST(Avro, BlocksMayNameTheirBytes) {
  EXPECT_EQ(read(R"({"type":"array","items":"boolean"})", std::string("\x03\x04\x01\x00\x02\x01\x00", 7)),
            R"({"f":[true,false,true]})");
}

TEST(Avro, TimesOutsideTheCalendarStayNumbers) {
  EXPECT_EQ(read(R"({"type":"int","logicalType":"date"})", "\xff\xff\xff\xff\x0f"), R"({"f":-2147483648})");
  EXPECT_EQ(read(R"({"type":"int","logicalType":"time-millis"})", "\x01"), R"({"f":-1})");
  EXPECT_EQ(read(R"({"type":"long","logicalType":"timestamp-millis"})", std::string("\x01", 1)),
            R"({"f":"1969-12-31T23:59:59.999Z"})");
}

TEST(Avro, SchemasThatCannotBeUsed) {
  EXPECT_THAT(refusal("{"), HasSubstr("it is not JSON"));
  EXPECT_EQ(refusal("7"), "a type is neither a name, a list nor an object");
  EXPECT_EQ(refusal("\"string\""), "it is neither a record nor a map, so it has no fields");
  EXPECT_EQ(refusal("\"other.Type\""), "the type \"other.Type\" is not defined");
  EXPECT_EQ(refusal("[]"), "a union is empty");
  EXPECT_EQ(refusal(R"({"type":"record","name":"R"})"), "a record has no \"fields\"");
  EXPECT_EQ(refusal(R"({"type":"record","fields":[]})"), "a record, enum or fixed has no \"name\"");
  EXPECT_EQ(refusal(R"({"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array"}}]})"),
            "field a: an array or map has no \"items\"");
  EXPECT_EQ(refusal(R"({"type":"record","name":"R","fields":[{"name":"a","type":
            {"type":"enum","name":"R","symbols":[]}}]})"),
            "field a: \"R\" is defined twice");
  std::string deep = "\"null\"";
  for (int i = 0; i < 200; ++i) deep = fmt::format(R"({{"type":"array","items":{}}})", deep);
  EXPECT_THAT(refusal(deep), HasSubstr("it is nested more than 100 deep"));
}

TEST(Avro, ASchemaUsesNamesOfOthers) {
  const std::array<std::string_view, 2> definitions{
      R"({"type":"record","name":"Part","namespace":"a.b","fields":[{"name":"x","type":"boolean"}]})",
      R"({"type":"record","name":"Whole","namespace":"a.b","fields":[{"name":"part","type":"Part"},
          {"name":"other","type":["null","a.b.Part"]}]})"};
  const auto schema = make_avro_schema(definitions);
  ASSERT_TRUE(schema.ok()) << schema.status();
  std::string out;
  ASSERT_TRUE((*schema)->to_json(std::string_view("\x01\x02\x00", 3), out).ok());
  EXPECT_EQ(out, R"({"part":{"x":true},"other":{"x":false}})");
}

// ---- as a format

constexpr std::string_view kDocument = R"({"type":"record","name":"Doc","fields":[
    {"name":"id","type":"string"},
    {"name":"meta","type":{"type":"record","name":"Meta","fields":[
        {"name":"text","type":["null","string"]},
        {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}},
    {"name":"page","type":"bytes"}]})";
const std::string kRecord(
    "\x02"
    "7"
    "\x02\x0awords\xd0\x0f\x10<p>hi&lt;",
    20);

struct Decoded {
  Decoded(const FormatOptions& options, std::string value, const RecordSchema* schema) {
    memory = std::move(value);
    Record record{.value = memory};
    record.schema = schema;
    decoder = make_decoder(options);
    status = decoder->decode(record, document);
  }
  std::string reason() const { return std::string(std_sv(status.message())); }

  std::string memory;
  std::unique_ptr<Decoder> decoder;
  Document document;
  absl::Status status;
};

FormatOptions avro_options() {
  FormatOptions options;
  options.format = "avro";
  options.text_fields = {"/meta/text"};
  options.date_fields = {"/meta/at"};
  options.passthrough_fields = {"id"};
  return options;
}

TEST(AvroFormat, FieldsAreNamedLikeThoseOfJson) {
  const auto schema = schema_of(kDocument);
  const Decoded d(avro_options(), std::string("\0\0\0\0\x07", 5) + kRecord, schema.get());
  ASSERT_TRUE(d.status.ok()) << d.reason();
  EXPECT_EQ(d.document.id, "7");
  EXPECT_EQ(d.document.text, "words");
  EXPECT_EQ(d.document.timestamp_ms, 1000);
  EXPECT_EQ(d.document.passthrough, R"("id":"7")");
}

TEST(AvroFormat, BytesAreReadAsBase64) {
  const auto schema = schema_of(kDocument);
  FormatOptions options = avro_options();
  options.text_fields = {"page"};
  EXPECT_EQ(Decoded(options, std::string("\0\0\0\0\x07", 5) + kRecord, schema.get()).reason(),
            "text: field \"page\" is an object, not a string");
  options.text_fields = {"/page/base64"};
  options.body_encoding = GivenEncoding::base64;
  options.extract = ExtractPart::visible;
  const Decoded d(options, std::string("\0\0\0\0\x07", 5) + kRecord, schema.get());
  ASSERT_TRUE(d.status.ok()) << d.reason();
  EXPECT_THAT(std::string(d.document.text), HasSubstr("hi<"));
}

TEST(AvroFormat, WithoutFrameOrSchema) {
  const auto schema = schema_of(kDocument);
  EXPECT_THAT(Decoded(avro_options(), kRecord, schema.get()).reason(), HasSubstr("not_framed"));
  EXPECT_THAT(Decoded(avro_options(), "", schema.get()).reason(), HasSubstr("not_framed"));
  EXPECT_THAT(Decoded(avro_options(), std::string("\0\0\0\0\x07", 5) + kRecord, nullptr).reason(),
              HasSubstr("schema_unknown"));
  const auto refused = refused_schema("schema_unknown: the registry has no schema 7");
  EXPECT_EQ(Decoded(avro_options(), std::string("\0\0\0\0\x07", 5), refused.get()).reason(),
            "schema_unknown: the registry has no schema 7");
}

TEST(AvroFormat, TheSchemaOfAFile) {
  const TemporaryDirectory dir;
  FormatOptions options = avro_options();
  options.schema_file = dir / "doc.avsc";
  EXPECT_THAT(std::string(std_sv(check_format(options).message())), HasSubstr("input.schema_file"));
  std::ofstream(options.schema_file) << "{}";
  EXPECT_THAT(std::string(std_sv(check_format(options).message())), HasSubstr("an object has no \"type\""));
  std::ofstream(options.schema_file) << kDocument;
  EXPECT_TRUE(check_format(options).ok());
  EXPECT_EQ(Decoded(options, std::string("\0\0\0\0\x07", 5) + kRecord, nullptr).document.text, "words");
  options.framing = AvroFraming::none;
  EXPECT_EQ(Decoded(options, kRecord, nullptr).document.text, "words");
  options.schema_file.clear();
  EXPECT_THAT(std::string(std_sv(check_format(options).message())), HasSubstr("input.framing"));
}

}  // namespace
}  // namespace doppel
