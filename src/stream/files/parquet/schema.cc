#include "stream/files/parquet/schema.h"

#include <algorithm>
#include <optional>

namespace doppel::parquet {
namespace {

using Type = ThriftReader::Type;

constexpr int kRequired = 0, kOptional = 1, kRepeated = 2;
constexpr uint32_t kUuidBytes = 16;
constexpr size_t kDeepest = 1000, kMostColumns = 1'000'000;

// One node as it is written. What was not there is -1.
struct Element {
  std::string name;
  int64_t type = -1, length = 0, repetition = kRequired, children = 0, converted = -1, logical = -1;
  int64_t unit = -1, bits = 64;
  bool utc = false, is_signed = true;
};

// The union LogicalType: the field's id is the type.
namespace logical {
constexpr int64_t kString = 1, kMap = 2, kList = 3, kEnum = 4, kDecimal = 5, kDate = 6, kTime = 7,
                  kTimestamp = 8, kInteger = 10, kNull = 11, kJson = 12, kUuid = 14, kHalf = 15;
}  // namespace logical
// Its ancestor, ConvertedType.
namespace converted {
constexpr int64_t kText = 0, kEnum = 4, kDecimal = 5, kDate = 6, kTimeMs = 7, kTimeUs = 8, kTimestampMs = 9,
                  kTimestampUs = 10, kUnsignedFirst = 11, kUnsignedLast = 14, kSignedLast = 18, kJson = 19;
}  // namespace converted

void read_logical(ThriftReader& in, Type type, Element& out) {
  in.each_field_of(type, [&](int16_t which, Type of) {
    out.logical = which;
    in.each_field_of(of, [&](int16_t id, Type field) {
      if (which == logical::kTimestamp && id == 1) {
        out.utc = in.boolean(field);
      } else if (which == logical::kTimestamp && id == 2) {
        in.each_field_of(field, [&](int16_t unit, Type empty) {
          out.unit = unit;
          in.skip(empty);
        });
      } else if (which == logical::kInteger && id == 2) {
        out.is_signed = in.boolean(field);
      } else {
        in.skip(field);
      }
    });
  });
}

Element read_element(ThriftReader& in, Type type) {
  Element out;
  in.each_field_of(type, [&](int16_t id, Type of) {
    switch (id) {
      case 1:
        out.type = in.integer(of);
        break;
      case 2:
        out.length = in.integer(of);
        break;
      case 3:
        out.repetition = in.integer(of);
        break;
      case 4:
        out.name = in.binary(of);
        break;
      case 5:
        out.children = in.integer(of);
        break;
      case 6:
        out.converted = in.integer(of);
        break;
      case 10:
        read_logical(in, of, out);
        break;
      default:
        in.skip(of);
    }
  });
  return out;
}

// Empty: `out` says what it means.
std::string meaning_of_integer(const Element& e, Column& out) {
  using namespace converted;
  const bool known = e.logical >= 0;
  if (known ? e.logical == logical::kDecimal : e.converted == kDecimal) return "a decimal number";
  if (known ? e.logical == logical::kTime : e.converted == kTimeMs || e.converted == kTimeUs)
    return "a time of the day without a date";
  if (known ? e.logical == logical::kDate : e.converted == kDate) {
    out.meaning = Meaning::date;
  } else if (known ? e.logical == logical::kTimestamp
                   : e.converted == kTimestampMs || e.converted == kTimestampUs) {
    out.utc = known ? e.utc : true;
    const int64_t unit = known ? e.unit : e.converted - kTimestampMs + 1;
    if (unit < 1 || unit > 3) return "a time in an unknown unit";
    out.meaning = unit == 1   ? Meaning::milliseconds
                  : unit == 2 ? Meaning::microseconds
                              : Meaning::nanoseconds;
  } else if (known ? e.logical == logical::kInteger || e.logical == logical::kNull
                   : e.converted < 0 || (e.converted >= kUnsignedFirst && e.converted <= kSignedLast)) {
    const bool is_unsigned =
        known ? !e.is_signed : e.converted >= kUnsignedFirst && e.converted <= kUnsignedLast;
    out.meaning = is_unsigned ? Meaning::unsigned_integer : Meaning::integer;
  } else {
    return "of a type that is not known here";
  }
  return {};
}

std::string meaning_of_bytes(const Element& e, Column& out) {
  const bool known = e.logical >= 0;
  if (known ? e.logical == logical::kDecimal : e.converted == converted::kDecimal) return "a decimal number";
  if (out.stored == Stored::fixed) {
    if (e.length <= 0 || e.length > INT32_MAX) return "of an impossible length";
    out.length = static_cast<uint32_t>(e.length);
    if (e.logical == logical::kHalf) return "a number of two bytes";
    if (e.logical == logical::kUuid && out.length == kUuidBytes) out.meaning = Meaning::uuid;
    return e.logical < 0 && e.converted >= 0 ? "of a type that is not known here" : "";
  }
  const bool text = known ? e.logical == logical::kString || e.logical == logical::kEnum ||
                                e.logical == logical::kJson || e.logical == logical::kNull
                          : e.converted < 0 || e.converted == converted::kText ||
                                e.converted == converted::kEnum || e.converted == converted::kJson;
  return text ? "" : "of a type that is not known here";
}

Column leaf_of(const Element& e) {
  Column out{.name = e.name, .optional = e.repetition == kOptional};
  if (e.repetition == kRepeated) {
    out.unreadable = "a list";
  } else if (e.repetition != kRequired && e.repetition != kOptional) {
    out.unreadable = "of a kind that is not known here";
  } else if (e.type < 0 || e.type > static_cast<int64_t>(Stored::fixed)) {
    out.unreadable = "of a type that is not known here";
  } else {
    out.stored = static_cast<Stored>(e.type);
    switch (out.stored) {
      case Stored::boolean:
        out.meaning = Meaning::boolean;
        break;
      case Stored::int32:
      case Stored::int64:
        out.unreadable = meaning_of_integer(e, out);
        break;
      case Stored::int96:
        out.meaning = Meaning::nanoseconds;
        out.utc = true;
        break;
      case Stored::float32:
      case Stored::float64:
        out.meaning = Meaning::real;
        break;
      case Stored::bytes:
      case Stored::fixed:
        out.unreadable = meaning_of_bytes(e, out);
    }
  }
  return out;
}

std::string_view group_in_words(const Element& e) {
  if (e.repetition == kRepeated || e.logical == logical::kList || e.converted == 3) return "a list";
  if (e.logical == logical::kMap || e.converted == 1 || e.converted == 2) return "a map";
  return "a structure of several columns";
}

}  // namespace

bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out) {
  std::vector<int64_t> open;  // children that are still to come, of each node from the root on
  size_t leaves = 0;
  bool tree = true;
  bool begun = false;
  in.each_element(type, [&](Type of) {
    const Element e = read_element(in, of);
    while (!open.empty() && open.back() == 0) open.pop_back();
    tree = tree && in.ok() && e.children >= 0 && begun != open.empty() && open.size() < kDeepest &&
           out.size() < kMostColumns;
    if (!tree) return;
    if (!open.empty()) --open.back();
    const bool top = begun && open.size() == 1;
    begun = true;
    if (open.empty() || e.children > 0) {
      open.push_back(e.children);
      if (top) out.push_back({.name = e.name, .unreadable = std::string(group_in_words(e)), .leaf = leaves});
      return;
    }
    if (top) {
      out.push_back(leaf_of(e));
      out.back().leaf = leaves;
    }
    ++leaves;
  });
  return tree && begun && std::all_of(open.begin(), open.end(), [](int64_t left) { return left == 0; });
}

bool read_leaves(ThriftReader& in, ThriftReader::Type type, std::vector<Leaf>& out) {
  struct Node {
    int64_t children = 0;  // that are still to come
    std::string name;
    Depth depth;
  };
  std::vector<Node> open;  // from the root on
  bool tree = true;
  in.each_element(type, [&](Type of) {
    const Element e = read_element(in, of);
    while (open.size() > 1 && open.back().children == 0) open.pop_back();
    tree = tree && in.ok() && e.children >= 0 && open.size() < kDeepest && out.size() < kMostColumns &&
           (open.empty() || open.back().children > 0);
    if (!tree) return;
    if (open.empty()) {
      open.push_back({.children = e.children});
      return;
    }
    --open.back().children;
    Depth depth = open.back().depth;
    if (e.repetition != kRequired) ++depth.definition;
    if (e.repetition == kRepeated) ++depth.repetition;
    if (e.children > 0) {
      open.push_back({.children = e.children, .name = e.name, .depth = depth});
      return;
    }
    Leaf leaf{.column = {.leaf = out.size(), .length = static_cast<uint32_t>(e.length)}, .depth = depth};
    for (size_t i = 1; i < open.size(); ++i) leaf.path.push_back(open[i].name);
    leaf.path.push_back(e.name);
    for (const std::string& name : leaf.path)
      leaf.column.name += (leaf.column.name.empty() ? "" : ".") + name;
    if (e.type < 0 || e.type > static_cast<int64_t>(Stored::fixed)) {
      leaf.column.unreadable = "of a type that is not known here";
    } else {
      leaf.column.stored = static_cast<Stored>(e.type);
    }
    if (leaf.column.stored == Stored::fixed && (e.length <= 0 || e.length > INT32_MAX))
      leaf.column.unreadable = "of an impossible length";
    out.push_back(std::move(leaf));
  });
  return tree && !open.empty();
}

}  // namespace doppel::parquet
