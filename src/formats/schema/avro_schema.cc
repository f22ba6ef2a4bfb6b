#include "formats/schema/avro_schema.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/memory_limit.h"
#include "base/status.h"
#include "base/strings.h"

namespace doppel::avro {
namespace {

namespace dom = simdjson::dom;

// Limits, because anyone who may write to a registry can store a schema there.
constexpr int kMostDepth = 100;
constexpr size_t kMostNodes = 100'000;
constexpr size_t kMostText = 8 << 20;

constexpr std::array<std::pair<std::string_view, Type>, 8> kPrimitives{{{"null", Type::null},
                                                                        {"boolean", Type::boolean},
                                                                        {"int", Type::int32},
                                                                        {"long", Type::int64},
                                                                        {"float", Type::float32},
                                                                        {"double", Type::float64},
                                                                        {"bytes", Type::bytes},
                                                                        {"string", Type::string}}};

std::optional<Type> primitive(std::string_view name) {
  for (const auto& [known, type] : kPrimitives) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::string_view text_of(dom::object object, std::string_view key) {
  std::string_view out;
  if (object[key].get(out) != simdjson::SUCCESS) return {};
  return out;
}

std::string as_json(std::string_view name, std::string_view behind) {
  std::string out;
  append_json_string(out, name);
  out += behind;
  return out;
}

class Parser {
 public:
  absl::StatusOr<uint32_t> parse(std::string_view text) {
    if (text.size() > kMostText) return invalid(fmt::format("it has more than {} bytes", kMostText));
    dom::element element;
    simdjson::error_code error = simdjson::SUCCESS;
    {
      const MayFail here;  // the parser reports a failed allocation
      error = parser_.parse(text.data(), text.size(), true).get(element);
    }
    if (error != simdjson::SUCCESS)
      return invalid(fmt::format("it is not JSON ({})", simdjson::error_message(error)));
    return parse(element, "", 0);
  }

  absl::StatusOr<Schema> finish(uint32_t root) {
    const auto is_object = [this](uint32_t at) {
      return out_.nodes[at].type == Type::record || out_.nodes[at].type == Type::map;
    };
    bool fine = is_object(root);
    if (out_.nodes[root].type == Type::choice) {
      for (const uint32_t branch : out_.nodes[root].children) fine = fine || is_object(branch);
    }
    if (!fine) return invalid("it is neither a record nor a map, so it has no fields");
    out_.root = root;
    return std::move(out_);
  }

 private:
  absl::StatusOr<uint32_t> add(Node node) {
    if (out_.nodes.size() >= kMostNodes) return invalid(fmt::format("it has more than {} types", kMostNodes));
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }

  absl::StatusOr<uint32_t> parse(dom::element element, const std::string& space, int depth) {
    if (depth > kMostDepth) return invalid(fmt::format("it is nested more than {} deep", kMostDepth));
    std::string_view name;
    dom::array branches;
    dom::object object;
    if (element.get(name) == simdjson::SUCCESS) return named(name, space);
    if (element.get(branches) == simdjson::SUCCESS) return choice(branches, space, depth);
    if (element.get(object) == simdjson::SUCCESS) return complex(object, space, depth);
    return invalid("a type is neither a name, a list nor an object");
  }

  absl::StatusOr<uint32_t> named(std::string_view name, const std::string& space) {
    if (const std::optional<Type> type = primitive(name)) return add({.type = *type});
    const bool full = name.find('.') != std::string_view::npos;
    auto found = names_.find(full || space.empty() ? std::string(name) : fmt::format("{}.{}", space, name));
    if (found == names_.end()) found = names_.find(std::string(name));
    if (found == names_.end()) return invalid(fmt::format("the type \"{}\" is not defined", name));
    return found->second;
  }

  absl::StatusOr<uint32_t> choice(dom::array branches, const std::string& space, int depth) {
    Node node{.type = Type::choice};
    for (const dom::element branch : branches) {
      ASSIGN_OR_RETURN(const uint32_t child, parse(branch, space, depth + 1));
      node.children.push_back(child);
    }
    if (node.children.empty()) return invalid("a union is empty");
    return add(std::move(node));
  }

  absl::StatusOr<uint32_t> complex(dom::object object, const std::string& space, int depth) {
    dom::element inner;
    if (object["type"].get(inner) != simdjson::SUCCESS) return invalid("an object has no \"type\"");
    std::string_view type;
    if (inner.get(type) != simdjson::SUCCESS) return parse(inner, space, depth + 1);
    if (type == "record" || type == "error") return record(object, space, depth);
    if (type == "enum") return enumeration(object, space);
    if (type == "fixed") return fixed(object, space);
    if (type == "array") return container(Type::array, object, "items", space, depth);
    if (type == "map") return container(Type::map, object, "values", space, depth);
    ASSIGN_OR_RETURN(const uint32_t at, named(type, space));
    if (primitive(type)) set_logical(out_.nodes[at], object);
    return at;
  }

  // Adds a named type. It can be used at once, so that a record may contain itself.
  absl::StatusOr<uint32_t> define(Node node, dom::object object, std::string& space) {
    std::string_view given;
    std::string name(text_of(object, "name"));
    if (name.empty()) return invalid("a record, enum or fixed has no \"name\"");
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) {
      space = name.substr(0, dot);
    } else {
      if (object["namespace"].get(given) == simdjson::SUCCESS) space = given;
      if (!space.empty()) name = fmt::format("{}.{}", space, name);
    }
    ASSIGN_OR_RETURN(const uint32_t at, add(std::move(node)));
    if (!names_.emplace(name, at).second) return invalid(fmt::format("\"{}\" is defined twice", name));
    return at;
  }

  absl::StatusOr<uint32_t> record(dom::object object, std::string space, int depth) {
    ASSIGN_OR_RETURN(const uint32_t at, define({.type = Type::record}, object, space));
    dom::array fields;
    if (object["fields"].get(fields) != simdjson::SUCCESS) return invalid("a record has no \"fields\"");
    for (const dom::element element : fields) {
      dom::object field;
      dom::element type;
      if (element.get(field) != simdjson::SUCCESS) return invalid("a field is not an object");
      const std::string_view name = text_of(field, "name");
      if (name.empty() || field["type"].get(type) != simdjson::SUCCESS)
        return invalid("a field has no \"name\" or no \"type\"");
      absl::StatusOr<uint32_t> child = parse(type, space, depth + 1);
      if (!child.ok()) return invalid(fmt::format("field {}: {}", name, std_sv(child.status().message())));
      Node& node = out_.nodes[at];
      node.children.push_back(*child);
      node.names.push_back(as_json(name, ":"));
      node.plain_names.emplace_back(name);
    }
    return at;
  }

  absl::StatusOr<uint32_t> enumeration(dom::object object, std::string space) {
    Node node{.type = Type::enumeration};
    dom::array symbols;
    if (object["symbols"].get(symbols) != simdjson::SUCCESS) return invalid("an enum has no \"symbols\"");
    for (const dom::element element : symbols) {
      std::string_view symbol;
      if (element.get(symbol) != simdjson::SUCCESS) return invalid("a symbol of an enum is not a string");
      node.names.push_back(as_json(symbol, ""));
    }
    return define(std::move(node), object, space);
  }

  absl::StatusOr<uint32_t> fixed(dom::object object, std::string space) {
    Node node{.type = Type::fixed};
    if (object["size"].get(node.size) != simdjson::SUCCESS) return invalid("a fixed has no \"size\"");
    set_logical(node, object);
    return define(std::move(node), object, space);
  }

  absl::StatusOr<uint32_t> container(Type type, dom::object object, std::string_view key,
                                     const std::string& space, int depth) {
    dom::element inner;
    if (object[key].get(inner) != simdjson::SUCCESS)
      return invalid(fmt::format("an array or map has no \"{}\"", key));
    ASSIGN_OR_RETURN(const uint32_t child, parse(inner, space, depth + 1));
    return add({.type = type, .children = {child}});
  }

  // Ignores a logical type that is unknown or does not fit its type, as Avro specifies.
  static void set_logical(Node& node, dom::object object) {
    const std::string_view name = text_of(object, "logicalType");
    const bool binary = node.type == Type::bytes || node.type == Type::fixed;
    if (name == "date" && node.type == Type::int32) {
      node.logical = Logical::date;
    } else if (name == "time-millis" && node.type == Type::int32) {
      set_time(node, Logical::time, 1000);
    } else if (name == "time-micros" && node.type == Type::int64) {
      set_time(node, Logical::time, 1'000'000);
    } else if (node.type == Type::int64 &&
               (name.starts_with("timestamp-") || name.starts_with("local-timestamp-"))) {
      const Logical which = name.starts_with("local") ? Logical::local_timestamp : Logical::timestamp;
      if (name.ends_with("-millis")) set_time(node, which, 1000);
      if (name.ends_with("-micros")) set_time(node, which, 1'000'000);
      if (name.ends_with("-nanos")) set_time(node, which, 1'000'000'000);
    } else if (name == "uuid" && node.type == Type::fixed && node.size == 16) {
      node.logical = Logical::uuid;
    } else if (name == "decimal" && binary) {
      uint64_t scale = 0, precision = 0;
      if (object["precision"].get(precision) != simdjson::SUCCESS || precision == 0) return;
      if (object["scale"].get(scale) != simdjson::SUCCESS) scale = 0;
      if (scale > precision || scale > UINT32_MAX) return;
      node.logical = Logical::decimal;
      node.scale = static_cast<uint32_t>(scale);
    }
  }

  static void set_time(Node& node, Logical logical, uint32_t per_second) {
    node.logical = logical;
    node.per_second = per_second;
  }

  dom::parser parser_;
  Schema out_;
  std::map<std::string, uint32_t> names_;
};

}  // namespace

absl::StatusOr<Schema> parse_schema(std::span<const std::string_view> definitions) {
  Parser parser;
  uint32_t root = 0;
  for (const std::string_view text : definitions) {
    ASSIGN_OR_RETURN(root, parser.parse(text));
  }
  return parser.finish(root);
}

}  // namespace doppel::avro
