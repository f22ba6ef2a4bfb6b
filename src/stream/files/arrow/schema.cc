#include "stream/files/arrow/schema.h"

#include <string>

namespace doppel::arrow {
namespace {

using tables::Meaning, tables::Stored;

constexpr int kDeepest = 64;
constexpr size_t kMostColumns = 1'000'000;

// Fields of Arrow's tables by their numbers, and the numbers of its types.
namespace field {
constexpr int kName = 0, kTypeOf = 2, kType = 3, kDictionary = 4, kChildren = 5;
}  // namespace field
namespace type {
constexpr uint8_t kNull = 1, kInt = 2, kFloat = 3, kBinary = 4, kUtf8 = 5, kBool = 6, kDecimal = 7, kDate = 8,
                  kTime = 9, kTimestamp = 10, kInterval = 11, kList = 12, kStruct = 13, kUnion = 14,
                  kFixed = 15, kFixedList = 16, kMap = 17, kDuration = 18, kLargeBinary = 19, kLargeUtf8 = 20,
                  kLargeList = 21, kRunEnds = 22, kBinaryView = 23, kUtf8View = 24, kListView = 25,
                  kLargeListView = 26;
}  // namespace type

class SchemaReader {
 public:
  absl::StatusOr<std::vector<Field>> read(const FlatTable& schema) {
    if (schema.number<int16_t>(0) != 0)
      return absl::UnimplementedError("its numbers are big-endian, which is not read");
    const FlatVector fields = schema.vector(1, 4);
    for (uint64_t i = 0; i < fields.size() && error_.empty(); ++i) out_.push_back(top(fields.table(i)));
    if (!error_.empty()) return absl::DataLossError(error_);
    return std::move(out_);
  }

 private:
  Field top(const FlatTable& in) {
    Field out{.node = nodes_, .buffer = buffers_, .views_before = views_};
    out.column.name = in.text(field::kName);
    out.column.optional = true;
    out.column.leaf = out_.size();
    const FlatTable dictionary = in.table(field::kDictionary);
    describe(in.number<uint8_t>(field::kTypeOf), in.table(field::kType), out);
    if (dictionary.there()) {
      out.dictionary = dictionary.number<int64_t>(0);
      const FlatTable index = dictionary.table(1);
      if (index.there()) {
        out.index_width = static_cast<uint8_t>(index.number<int32_t>(0) / 8);
        out.index_has_sign = index.truth(1);
      }
      if (out.index_width != 1 && out.index_width != 2 && out.index_width != 4 && out.index_width != 8)
        out.column.unreadable = "a dictionary whose places are no numbers";
    }
    count(in, 0);
    return out;
  }

  // The nodes and buffers of a column with all that is below it.
  void count(const FlatTable& in, int depth) {
    if (depth > kDeepest || ++nodes_ > kMostColumns) {
      error_ = "its schema is too deep or too large";
      return;
    }
    if (in.table(field::kDictionary).there()) {
      buffers_ += 2;  // places in the dictionary
      return;
    }
    switch (in.number<uint8_t>(field::kTypeOf)) {
      case type::kNull:
      case type::kRunEnds:
        break;
      case type::kStruct:
      case type::kFixedList:
        buffers_ += 1;
        break;
      case type::kUnion:
        buffers_ += in.table(field::kType).number<int16_t>(0) == 0 ? 1 : 2;  // sparse, dense
        break;
      case type::kBinary:
      case type::kUtf8:
      case type::kLargeBinary:
      case type::kLargeUtf8:
      case type::kListView:
      case type::kLargeListView:
        buffers_ += 3;
        break;
      case type::kBinaryView:
      case type::kUtf8View:
        buffers_ += 2;
        ++views_;
        break;
      default:
        buffers_ += 2;
    }
    const FlatVector children = in.vector(field::kChildren, 4);
    for (uint64_t i = 0; i < children.size() && error_.empty(); ++i) count(children.table(i), depth + 1);
  }

  // Numbers of `bits` bits.
  static void numbers(Field& out, int64_t bits, Meaning meaning, Stored stored) {
    out.layout = Layout::numbers;
    out.width = static_cast<uint8_t>(bits / 8);
    out.column.meaning = meaning;
    out.column.stored = stored;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
      out.column.unreadable = "a number of unusual size";
  }

  static void times(Field& out, const FlatTable& in) {
    constexpr Meaning kUnits[] = {Meaning::milliseconds, Meaning::milliseconds, Meaning::microseconds,
                                  Meaning::nanoseconds};
    const int16_t unit = in.number<int16_t>(0);
    if (unit < 0 || unit > 3) {
      out.column.unreadable = "a timestamp of an unknown unit";
      return;
    }
    numbers(out, 64, kUnits[unit], Stored::int64);
    if (unit == 0) out.scale = 1000;
    out.column.utc = !in.text(1).empty();
  }

  static void texts(Field& out, Layout layout) {
    out.layout = layout;
    out.column.stored = Stored::bytes;
    out.column.meaning = Meaning::text;
  }

  static void describe(uint8_t which, const FlatTable& in, Field& out) {
    std::string& unreadable = out.column.unreadable;
    switch (which) {
      case type::kNull:
        return;
      case type::kInt:
        out.has_sign = in.truth(1);
        return numbers(out, in.number<int32_t>(0),
                       out.has_sign ? Meaning::integer : Meaning::unsigned_integer, Stored::int64);
      case type::kFloat:
        if (in.number<int16_t>(0) == 1) return numbers(out, 32, Meaning::real, Stored::float32);
        if (in.number<int16_t>(0) == 2) return numbers(out, 64, Meaning::real, Stored::float64);
        unreadable = "a number of two bytes";
        return;
      case type::kBool:
        out.layout = Layout::bits;
        out.column.meaning = Meaning::boolean;
        out.column.stored = Stored::boolean;
        return;
      case type::kDate:
        if (in.number<int16_t>(0, 1) == 0) return numbers(out, 32, Meaning::date, Stored::int32);
        numbers(out, 64, Meaning::date, Stored::int64);
        out.divisor = 86'400'000;
        return;
      case type::kTimestamp:
        return times(out, in);
      case type::kBinary:
      case type::kUtf8:
        return texts(out, Layout::bytes32);
      case type::kLargeBinary:
      case type::kLargeUtf8:
        return texts(out, Layout::bytes64);
      case type::kBinaryView:
      case type::kUtf8View:
        return texts(out, Layout::views);
      case type::kFixed: {
        const int32_t width = in.number<int32_t>(0);
        texts(out, Layout::fixed);
        out.width = static_cast<uint8_t>(width);
        if (width <= 0 || width > UINT8_MAX) unreadable = "bytes of a length that is not read";
        return;
      }
      case type::kDecimal:
        unreadable = "a decimal number";
        return;
      case type::kTime:
      case type::kDuration:
      case type::kInterval:
        unreadable = "a time of the day without a date";
        return;
      case type::kStruct:
      case type::kUnion:
        unreadable = "a structure of several columns";
        return;
      case type::kMap:
        unreadable = "a map";
        return;
      case type::kList:
      case type::kFixedList:
      case type::kLargeList:
      case type::kListView:
      case type::kLargeListView:
        unreadable = "a list";
        return;
      default:
        unreadable = "of a type that is not known";
    }
  }

  std::vector<Field> out_;
  size_t nodes_ = 0, buffers_ = 0, views_ = 0;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::vector<Field>> read_schema(const FlatTable& schema) {
  return SchemaReader().read(schema);
}

}  // namespace doppel::arrow
