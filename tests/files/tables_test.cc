// Tables of several writers, against the rows that were written (tools/make-parquet-fixtures).
#include <gmock/gmock.h>

#include <algorithm>

#include "files/tables/table_reader.h"
#include "files/tables_testing.h"

namespace doppel {
namespace {

using testing::Contains;
using testing::IsEmpty;

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/";

// Returns the paths below kData up to the dot. Next to each file lies a .jsonl file.
std::vector<std::string> fixtures(const std::string& kind) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kData + kind)) {
    if (entry.path().extension() == ".jsonl") out.push_back(kind + "/" + entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> all_fixtures() {
  std::vector<std::string> out = fixtures("parquet"), more = fixtures("arrow");
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::string table_of(const std::string& fixture) {
  return kData + fixture + "." + fixture.substr(0, fixture.find('/'));
}

TEST(TableColumns, SayWhyTheyAreUnreadable) {
  const tables::Column plain{.name = "element", .unreadable = "an interval"};
  const tables::Column of{.name = "element", .unreadable = "of an unknown type"};
  const auto around = [](tables::Kind kind, const tables::Column& child) {
    return tables::why_unreadable({.name = "outer", .kind = kind, .children = {child}});
  };
  EXPECT_EQ(around(tables::Kind::list, plain), "a list of an interval");
  EXPECT_EQ(around(tables::Kind::list, of), "a list of values of an unknown type");
  EXPECT_EQ(around(tables::Kind::structure, of),
            "a structure of several columns with \"element\", of an unknown type");
}

class TableFixture : public testing::TestWithParam<std::string> {};

TEST_P(TableFixture, EachRowIsItsLineOfJson) {
  const Taken taken = take_all(of(table_of(GetParam())));
  EXPECT_THAT(messages_of(taken), IsEmpty());
  const std::vector<std::string> values = values_of(taken), wanted = lines_of(kData + GetParam() + ".jsonl");
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], wanted[i]) << "row " << i;
    EXPECT_EQ(taken.lines[i].offset, i);
    EXPECT_EQ(taken.lines[i].line, 0u);
  }
}

// After each batch, another source continues from its position, and hands out the rest.
TEST_P(TableFixture, GoesOnAtEachRow) {
  const std::string path = table_of(GetParam());
  const std::vector<std::string> wanted = lines_of(kData + GetParam() + ".jsonl");
  FilesSourceOptions options = of(path);
  options.batch_records = 7;
  const Taken first = take_all(options);
  ASSERT_EQ(values_of(first), wanted);
  for (size_t i = 0; i < first.positions.size(); ++i) {
    const Taken rest = take_all(options, first.positions[i]);
    EXPECT_THAT(messages_of(rest), IsEmpty());
    const std::vector<std::string> left(wanted.begin() + static_cast<ptrdiff_t>(first.counts[i]),
                                        wanted.end());
    EXPECT_EQ(values_of(rest), left) << "after " << first.counts[i];
    EXPECT_TRUE(rest.lines.empty() || rest.lines[0].offset == first.counts[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, TableFixture, testing::ValuesIn(all_fixtures()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

// --- Columns that are not single values.

TEST(NestedColumns, AreJson) {
  for (const char* kind : {"parquet/nested_beside.parquet", "arrow/nested_beside.arrow"}) {
    FormatOptions format;
    format.text_fields = {"date"};
    format.id_fields = format.url_fields = {};
    format.passthrough_fields = {"tags", "meta", "map", "price", "half", "span"};
    const Taken taken = take_all(of(kData + kind, format));
    EXPECT_THAT(messages_of(taken), IsEmpty());
    ASSERT_EQ(taken.lines.size(), 60u);
    const std::string others = R"("price":"1.25","half":1.5,"span":"00:00:00.000001","date":)";
    const std::vector<std::string> begins{
        R"({"tags":["a","b"],"meta":{"a":1,"b":{"c":"x"}},"map":{"k":"v"},)" + others,
        R"({"tags":[],"meta":null,"map":{},)" + others,
        R"({"tags":null,"meta":{"a":null,"b":null},"map":null,)" + others};
    for (size_t i = 0; i < taken.lines.size(); ++i)
      EXPECT_THAT(taken.lines[i].value, testing::StartsWith(begins[i % 3])) << kind << " " << i;
    // Continues from any row.
    FilesSourceOptions options = of(kData + kind, format);
    options.batch_records = 7;
    const Taken first = take_all(options);
    for (size_t i = 0; i < first.positions.size(); ++i) {
      const Taken rest = take_all(options, first.positions[i]);
      EXPECT_THAT(messages_of(rest), IsEmpty());
      ASSERT_EQ(rest.lines.size(), 60 - first.counts[i]);
      for (size_t row = 0; row < rest.lines.size(); ++row)
        EXPECT_EQ(rest.lines[row], taken.lines[first.counts[i] + row]);
    }
  }
}

// A pointer reads the field that it leads to, and no other.
TEST(NestedColumns, APointerLeadsIntoThem) {
  for (const char* kind : {"parquet/nested_beside.parquet", "arrow/nested_beside.arrow"}) {
    FormatOptions format;
    format.text_fields = {"date"};
    format.url_fields = {};
    format.id_fields = {"/meta/b/c"};
    format.tag_fields = {"first=/tags/0"};
    const Taken taken = take_all(of(kData + kind, format));
    EXPECT_THAT(messages_of(taken), IsEmpty());
    ASSERT_EQ(taken.lines.size(), 60u);
    EXPECT_THAT(taken.lines[0].value,
                testing::StartsWith(R"({"tags":["a","b"],"meta":{"b":{"c":"x"}},"date":)"));
    EXPECT_THAT(taken.lines[1].value, testing::StartsWith(R"({"tags":[],"meta":null,"date":)"));
    EXPECT_THAT(taken.lines[2].value, testing::StartsWith(R"({"tags":null,"meta":{"b":null},"date":)"));
    format.id_fields = {"/meta/bb"};
    EXPECT_THAT(messages_of(take_all(of(kData + kind, format))),
                testing::ElementsAre(testing::HasSubstr(
                    "no column \"/meta/bb\", which input.id names (did you mean /meta/b?)")));
    format.id_fields = {"/meta/b"};
    EXPECT_THAT(messages_of(take_all(of(kData + kind, format))),
                testing::ElementsAre(testing::HasSubstr(
                    "column \"/meta/b\", which input.id names, is a structure of several columns")));
  }
}

TEST(TableFixtures, AreThere) {
  const std::vector<std::string> names = all_fixtures();
  EXPECT_GE(fixtures("parquet").size(), 58u);
  EXPECT_GE(fixtures("arrow").size(), 43u);
  for (const char* writer :
       {"parquet/codec_zstd_v2", "parquet/polars_zstd", "parquet/duckdb_snappy", "parquet/spark_snappy",
        "arrow/file_lz4", "arrow/stream_zstd", "arrow/polars", "arrow/feather", "arrow/dictionary_deltas",
        "arrow/old_stream", "arrow/uuid", "arrow/union_dense_v4"})
    EXPECT_THAT(names, Contains(writer));
}

}  // namespace
}  // namespace doppel
