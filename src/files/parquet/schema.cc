#include "files/parquet/footer.h"

#include <algorithm>
#include <optional>

namespace doppel::parquet {
namespace {

using Type = ThriftReader::Type;

constexpr int kRequired = 0, kOptional = 1, kRepeated = 2;
constexpr uint32_t kUuidBytes = 16;
constexpr size_t kDeepest = 500, kMostColumns = 1'000'000;

// A schema element as stored. -1: not set.
struct Element {
  std::string name;
  int64_t type = -1, length = 0, repetition = kRequired, children = 0, converted = -1, logical = -1;
  int64_t unit = -1, bits = 64;
  int64_t scale = 0;
  bool utc = false, is_signed = true;
};

// The union LogicalType: the id of its field is the type.
namespace logical {
constexpr int64_t kString = 1, kMap = 2, kList = 3, kEnum = 4, kDecimal = 5, kDate = 6, kTime = 7,
                  kTimestamp = 8, kInteger = 10, kNull = 11, kJson = 12, kUuid = 14, kHalf = 15;
}  // namespace logical
// The predecessor of LogicalType.
namespace converted {
constexpr int64_t kText = 0, kMap = 1, kMapKeyValue = 2, kList = 3, kEnum = 4, kDecimal = 5, kDate = 6,
                  kTimeMs = 7, kTimeUs = 8, kTimestampMs = 9, kTimestampUs = 10, kUnsignedFirst = 11,
                  kUnsignedLast = 14, kSignedLast = 18, kJson = 19, kInterval = 21;
}  // namespace converted

void read_logical(ThriftReader& in, Type type, Element& out) {
  in.each_field_of(type, [&](int16_t which, Type field_type) {
    out.logical = which;
    in.each_field_of(field_type, [&](int16_t id, Type field) {
      const bool timed = which == logical::kTimestamp || which == logical::kTime;
      if (timed && id == 1) {
        out.utc = in.boolean(field);
      } else if (timed && id == 2) {
        in.each_field_of(field, [&](int16_t unit, Type empty) {
          out.unit = unit;
          in.skip(empty);
        });
      } else if (which == logical::kDecimal && id == 1) {
        out.scale = in.integer(field);
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
  in.each_field_of(type, [&](int16_t id, Type field_type) {
    switch (id) {
      case 1:
        out.type = in.integer(field_type);
        break;
      case 2:
        out.length = in.integer(field_type);
        break;
      case 3:
        out.repetition = in.integer(field_type);
        break;
      case 4:
        out.name = in.binary(field_type);
        break;
      case 5:
        out.children = in.integer(field_type);
        break;
      case 6:
        out.converted = in.integer(field_type);
        break;
      case 7:
        out.scale = in.integer(field_type);
        break;
      case 10:
        read_logical(in, field_type, out);
        break;
      default:
        in.skip(field_type);
    }
  });
  return out;
}

std::string meaning_of_decimal(const Element& e, Column& out) {
  constexpr int64_t kMostScale = 1000;
  if (e.scale < 0 || e.scale > kMostScale) return "a decimal number of an impossible scale";
  out.meaning = Meaning::decimal;
  out.scale = static_cast<int32_t>(e.scale);
  return {};
}

// Sets what the column means. Returns why it cannot be read, or an empty string.
std::string meaning_of_integer(const Element& e, Column& out) {
  using namespace converted;
  const bool known = e.logical >= 0;
  if (known ? e.logical == logical::kDecimal : e.converted == kDecimal) return meaning_of_decimal(e, out);
  if (known ? e.logical == logical::kTime : e.converted == kTimeMs || e.converted == kTimeUs) {
    const int64_t unit = known ? e.unit : e.converted - kTimeMs + 1;
    if (unit < 1 || unit > 3) return "a time in an unknown unit";
    out.meaning = Meaning::time;
    out.scale = static_cast<int32_t>(3 * unit);
    return {};
  }
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
    return "of an unknown type";
  }
  return {};
}

std::string meaning_of_bytes(const Element& e, Column& out) {
  const bool known = e.logical >= 0;
  if (known && e.logical != logical::kString && e.converted == converted::kText)
    return "of two types, text and another one";
  if (known ? e.logical == logical::kDecimal : e.converted == converted::kDecimal) {
    const std::string why = meaning_of_decimal(e, out);
    if (!why.empty() || out.stored != Stored::fixed) return why;
  }
  if (out.stored == Stored::fixed) {
    constexpr uint32_t kHalfBytes = 2;
    if (e.length <= 0 || e.length > INT32_MAX) return "of an impossible length";
    out.length = static_cast<uint32_t>(e.length);
    if (out.meaning == Meaning::decimal) return {};
    if (e.converted == converted::kInterval) return "an interval";
    if (e.logical == logical::kHalf && out.length == kHalfBytes) out.meaning = Meaning::half;
    if (e.logical == logical::kUuid && out.length == kUuidBytes) out.meaning = Meaning::uuid;
    return e.logical < 0 && e.converted >= 0 ? "of an unknown type" : "";
  }
  const bool text = known ? e.logical == logical::kString || e.logical == logical::kEnum ||
                                e.logical == logical::kJson || e.logical == logical::kNull
                          : e.converted < 0 || e.converted == converted::kText ||
                                e.converted == converted::kEnum || e.converted == converted::kJson;
  return text ? "" : "of an unknown type";
}

Column leaf_of(const Element& e) {
  Column out{.name = e.name, .optional = e.repetition == kOptional};
  if (e.repetition < kRequired || e.repetition > kRepeated) {
    out.unreadable = "of an unknown kind";
  } else if (e.type < 0 || e.type > static_cast<int64_t>(Stored::fixed)) {
    out.unreadable = "of an unknown type";
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

// Builds the tree of columns from its nodes in depth-first order.
class TreeReader {
 public:
  explicit TreeReader(const std::vector<Element>& elements) : elements_(elements) {}

  bool read(std::vector<Column>& out) {
    if (elements_.empty()) return false;
    at_ = 1;
    for (int64_t left = elements_[0].children; left > 0 && ok_; --left) out.push_back(node({}, 0));
    return ok_ && at_ == elements_.size();
  }

 private:
  // Reads a node and all nodes below it. `depth` is the depth of its parent.
  Column node(Depth depth, size_t deep) {
    if (at_ >= elements_.size() || deep > kDeepest) return broken();
    const Element& e = elements_[at_];
    if (e.repetition != kRequired) ++depth.definition;
    if (e.repetition != kRepeated) return inside(depth, deep);
    // A repeated node outside of a list or map is a list of such nodes.
    Column list{.name = e.name, .kind = Kind::list, .leaf = leaves_};
    list.definition = depth.definition - 1;
    list.repetition = ++depth.repetition;
    list.children.push_back(inside(depth, deep));
    return list;
  }

  // Like node(), but without the list that the node's own repetition makes.
  Column inside(Depth depth, size_t deep) {
    const Element& e = elements_[at_++];
    Column out;
    if (e.children == 0) {
      out = leaf_of(e);
      out.leaf = leaves_++;
      out.repetition = depth.repetition;
    } else if (e.logical == logical::kList || e.converted == converted::kList) {
      out = list(e, depth, deep);
    } else if (e.logical == logical::kMap || e.converted == converted::kMap ||
               e.converted == converted::kMapKeyValue) {
      out = map(e, depth, deep);
    } else {
      out = structure(e, depth, deep);
      if (e.logical > logical::kHalf) out.unreadable = "of an unknown type";
    }
    out.name = e.name;
    out.definition = depth.definition;
    out.optional = e.repetition == kOptional;
    return out;
  }

  Column structure(const Element& e, Depth depth, size_t deep) {
    Column out{.kind = Kind::structure, .leaf = leaves_};
    for (int64_t left = e.children; left > 0 && ok_; --left) out.children.push_back(node(depth, deep + 1));
    return out;
  }

  // The repeated node usually is a group with one node, the element. In old files it is the element itself.
  Column list(const Element& e, Depth depth, size_t deep) {
    if (e.children != 1 || at_ >= elements_.size() || elements_[at_].repetition != kRepeated)
      return unknown(e, depth, deep, "a list of an unknown form");
    const Element& repeated = elements_[at_];
    Column out{.kind = Kind::list, .leaf = leaves_};
    ++depth.definition;
    out.repetition = ++depth.repetition;
    const bool is_element = repeated.children != 1 || repeated.name == "array" ||
                            repeated.name == e.name + "_tuple" ||
                            (at_ + 1 < elements_.size() && elements_[at_ + 1].repetition == kRepeated);
    if (is_element) {
      out.children.push_back(inside(depth, deep + 1));
    } else {
      ++at_;
      out.children.push_back(node(depth, deep + 2));
    }
    return out;
  }

  Column map(const Element& e, Depth depth, size_t deep) {
    if (e.children != 1 || at_ >= elements_.size() || elements_[at_].repetition != kRepeated ||
        elements_[at_].children != 2)
      return unknown(e, depth, deep, "a map of an unknown form");
    Column out{.kind = Kind::map, .leaf = leaves_};
    ++at_;
    ++depth.definition;
    out.repetition = ++depth.repetition;
    for (int i = 0; i < 2 && ok_; ++i) out.children.push_back(node(depth, deep + 2));
    if (ok_ && out.children[0].kind != Kind::value) out.unreadable = "a map whose keys are no values";
    return out;
  }

  Column unknown(const Element& e, Depth depth, size_t deep, const char* why) {
    Column out = structure(e, depth, deep);
    out.unreadable = why;
    return out;
  }

  Column broken() {
    ok_ = false;
    return {};
  }

  const std::vector<Element>& elements_;
  size_t at_ = 0, leaves_ = 0;
  bool ok_ = true;
};

}  // namespace

bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out) {
  std::vector<Element> elements;
  bool possible = true;
  in.each_element(type, [&](Type element) {
    Element e = read_element(in, element);
    possible = possible && in.ok() && e.children >= 0 && elements.size() <= kMostColumns;
    if (possible) elements.push_back(std::move(e));
  });
  return possible && in.ok() && TreeReader(elements).read(out);
}

bool read_leaves(ThriftReader& in, ThriftReader::Type type, std::vector<Leaf>& out) {
  struct Node {
    int64_t children = 0;  // children not read yet
    std::string name;
    Depth depth;
  };
  std::vector<Node> open;  // path from the root
  bool tree = true;
  in.each_element(type, [&](Type element) {
    const Element e = read_element(in, element);
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
      leaf.column.unreadable = "of an unknown type";
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
