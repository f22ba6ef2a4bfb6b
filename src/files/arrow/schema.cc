#include "files/arrow/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace doppel::arrow {
namespace {

using tables::Kind, tables::Meaning, tables::Stored;

constexpr int kDeepest = 64;
constexpr size_t kMostColumns = 1'000'000;

// Numbers of the fields in Arrow's tables, and of its types.
namespace field {
constexpr int kName = 0, kTypeOf = 2, kType = 3, kDictionary = 4, kChildren = 5, kNotes = 6;
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
  absl::StatusOr<Schema> read(const FlatTable& schema) {
    if (schema.number<int16_t>(0) != 0)
      return absl::UnimplementedError("its numbers are big-endian, which is not read");
    const FlatVector fields = schema.vector(1, 4);
    std::vector<Field> out;
    for (uint64_t i = 0; i < fields.size() && error_.empty(); ++i) {
      out.push_back(read(fields.table(i), 0));
      out.back().column.leaf = i;
      add_dictionaries(fields.table(i), 0);
    }
    if (!error_.empty()) return absl::DataLossError(error_);
    return Schema{.fields = std::move(out),
                  .nodes = nodes_,
                  .buffers = buffers_,
                  .views = views_,
                  .unions = unions_,
                  .all_known = all_known_,
                  .dictionaries = std::move(dictionaries_)};
  }

 private:
  // Reads a column with all its children.
  Field read(const FlatTable& in, int depth) {
    Field out{.node = nodes_, .buffer = buffers_, .views_before = views_, .unions_before = unions_};
    if (depth > kDeepest || ++nodes_ > kMostColumns) {
      error_ = "its schema is too deep or too large";
      return out;
    }
    const auto which = in.number<uint8_t>(field::kTypeOf);
    out.column.name = in.text(field::kName);
    out.column.optional = true;
    describe(which, in.table(field::kType), out);
    read_notes(in, out);
    const FlatTable dictionary = in.table(field::kDictionary);
    if (dictionary.there()) {
      read_dictionary(dictionary, out);
      buffers_ += 2;  // indexes into the dictionary
      if (in.vector(field::kChildren, 4).size() > 0) out.column.unreadable = "a dictionary of no values";
      return out;
    }
    count_buffers(which, in.table(field::kType));
    const FlatVector children = in.vector(field::kChildren, 4);
    for (uint64_t i = 0; i < children.size() && error_.empty(); ++i) {
      out.children.push_back(read(children.table(i), depth + 1));
      out.children.back().column.leaf = i;
    }
    if (out.column.kind != Kind::value) check_children(out);
    for (const Field& child : out.children) out.column.children.push_back(child.column);
    return out;
  }

  // A list has one child; a map has one child, a structure of two.
  static void check_children(Field& out) {
    if (out.column.kind == Kind::map) {
      if (out.children.size() == 1 && out.children[0].layout == Layout::structure &&
          out.children[0].children.size() == 2 && out.children[0].column.unreadable.empty()) {
        std::vector<Field> both = std::move(out.children[0].children);
        out.children = std::move(both);
        if (out.children[0].column.kind != Kind::value)
          out.column.unreadable = "a map whose keys are no values";
      } else {
        out.column.unreadable = "a map of an unknown form";
      }
    } else if (out.column.kind == Kind::list && out.children.size() != 1) {
      out.column.unreadable = "a list of an unknown form";
    } else if (out.column.kind == Kind::structure && out.children.empty()) {
      out.column.unreadable = "a structure without columns";
    }
  }

  // Extension types are named in the metadata of the field.
  static void read_notes(const FlatTable& in, Field& out) {
    constexpr uint32_t kUuidBytes = 16;
    const FlatVector notes = in.vector(field::kNotes, 4);
    for (uint64_t i = 0; i < notes.size(); ++i) {
      const FlatTable note = notes.table(i);
      if (note.text(0) == "ARROW:extension:name" && note.text(1) == "arrow.uuid" &&
          out.layout == Layout::fixed && out.width == kUuidBytes)
        out.column.meaning = Meaning::uuid;
    }
  }

  static void read_dictionary(const FlatTable& dictionary, Field& out) {
    out.dictionary = dictionary.number<int64_t>(0);
    const FlatTable index = dictionary.table(1);
    if (index.there()) {
      out.index_width = static_cast<uint8_t>(index.number<int32_t>(0) / 8);
      out.index_has_sign = index.truth(1);
    }
    if (out.index_width != 1 && out.index_width != 2 && out.index_width != 4 && out.index_width != 8)
      out.column.unreadable = "a dictionary whose places are no numbers";
    if (out.column.kind != Kind::value) out.column.unreadable = "a dictionary of no values";
  }

  // Of a field and all its children, also those of a dictionary's values.
  void add_dictionaries(const FlatTable& in, int depth) {
    if (depth > kDeepest) return;
    if (const FlatTable dictionary = in.table(field::kDictionary); dictionary.there())
      dictionaries_.insert(dictionary.number<int64_t>(0));
    const FlatVector children = in.vector(field::kChildren, 4);
    for (uint64_t i = 0; i < children.size(); ++i) add_dictionaries(children.table(i), depth + 1);
  }

  void count_buffers(uint8_t which, const FlatTable& type) {
    switch (which) {
      case type::kNull:
      case type::kRunEnds:
        break;
      case type::kStruct:
      case type::kFixedList:
        buffers_ += 1;
        break;
      case type::kUnion:
        buffers_ += type.number<int16_t>(0) == 0 ? 1 : 2;  // sparse, dense
        ++unions_;
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
        all_known_ = all_known_ && which <= type::kLargeListView;
    }
  }

  // Numbers of `bits` bits.
  static void numbers(Field& out, int64_t bits, Meaning meaning, Stored stored) {
    out.layout = Layout::numbers;
    out.width = static_cast<uint32_t>(bits / 8);
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

  static void nested(Field& out, Kind kind, Layout layout) {
    out.column.kind = kind;
    out.layout = layout;
  }

  static void decimals(Field& out, const FlatTable& in) {
    constexpr int32_t kMostScale = 1000;
    const auto bits = in.number<int32_t>(2, 128);
    out.layout = Layout::fixed;
    out.width = static_cast<uint32_t>(bits / 8);
    out.column.stored = Stored::fixed;
    out.column.meaning = Meaning::decimal;
    out.column.low_first = true;
    out.column.scale = in.number<int32_t>(1);
    if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
      out.column.unreadable = "a decimal number of unusual size";
    if (out.column.scale < -kMostScale || out.column.scale > kMostScale)
      out.column.unreadable = "a decimal number of an impossible scale";
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
        return numbers(out, 16, Meaning::half, Stored::int32);
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
        out.width = static_cast<uint32_t>(width);
        if (width <= 0) unreadable = "bytes of an impossible length";
        return;
      }
      case type::kDecimal:
        return decimals(out, in);
      case type::kTime: {
        constexpr int32_t kScales[] = {0, 3, 6, 9};
        const int16_t unit = in.number<int16_t>(0, 1);
        numbers(out, in.number<int32_t>(1, 32), Meaning::time, Stored::int64);
        if (unit < 0 || unit > 3) unreadable = "a time in an unknown unit";
        if (unreadable.empty()) out.column.scale = kScales[unit];
        return;
      }
      case type::kDuration:
        return numbers(out, 64, Meaning::integer, Stored::int64);
      case type::kInterval:
        unreadable = "an interval";
        return;
      case type::kUnion:
        unreadable = "of several types";
        return;
      case type::kStruct:
        return nested(out, Kind::structure, Layout::structure);
      case type::kMap:
        return nested(out, Kind::map, Layout::list32);
      case type::kList:
        return nested(out, Kind::list, Layout::list32);
      case type::kLargeList:
        return nested(out, Kind::list, Layout::list64);
      case type::kListView:
        return nested(out, Kind::list, Layout::list_view32);
      case type::kLargeListView:
        return nested(out, Kind::list, Layout::list_view64);
      case type::kFixedList:
        nested(out, Kind::list, Layout::fixed_list);
        out.width = static_cast<uint32_t>(std::max(0, in.number<int32_t>(0)));
        return;
      default:
        unreadable = "of an unknown type";
    }
  }

  size_t nodes_ = 0, buffers_ = 0, views_ = 0, unions_ = 0;
  bool all_known_ = true;
  std::set<int64_t> dictionaries_;
  std::string error_;
};

}  // namespace

absl::Status check_version(int16_t version) {
  if (version == kVersion4 || version == kVersion5) return absl::OkStatus();
  return absl::UnimplementedError(fmt::format(
      "its metadata has version V{}; V4 and V5 are read, which Arrow has written since 0.8 (2017)",
      version + 1));
}

absl::StatusOr<Schema> read_schema(const FlatTable& schema) { return SchemaReader().read(schema); }

std::vector<Field> chosen_fields(const std::vector<Field>& all, const std::vector<tables::Column>& chosen) {
  std::vector<Field> out;
  for (const tables::Column& column : chosen) {
    Field field = all[column.leaf];
    field.column = column;
    // Only some fields of a structure may be chosen.
    if (column.kind == Kind::structure) field.children = chosen_fields(field.children, column.children);
    out.push_back(std::move(field));
  }
  return out;
}

}  // namespace doppel::arrow
