// simdjson's DOM checks the whole record (also what we do not look at), then the object's fields are walked
// once and compared with the few that are wanted. Of fields with the same name the first one counts.

#include "formats/json_decoder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/status.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

absl::Status not_json(simdjson::error_code error) {
  const char* reason = nullptr;
  switch (error) {
    case simdjson::EMPTY:
      reason = "there is nothing in it";
      break;
    case simdjson::UTF8_ERROR:
      reason = "it is not valid UTF-8";
      break;
    case simdjson::UNCLOSED_STRING:
      reason = "a string has no end";
      break;
    case simdjson::STRING_ERROR:
      reason = "a string holds a bad escape or half of a surrogate pair";
      break;
    case simdjson::UNESCAPED_CHARS:
      reason = "a string holds a control character that is not escaped";
      break;
    case simdjson::TAPE_ERROR:
      reason =
          "brackets, commas or colons are not where they belong, it ends too early, or something follows it";
      break;
    case simdjson::NUMBER_ERROR:
      reason = "a number is malformed or does not fit into 64 bits";
      break;
    case simdjson::DEPTH_ERROR:
      reason = "it is nested more than 1024 deep";
      break;
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      reason = "it is too large for this machine's memory";
      break;
    default:
      reason = simdjson::error_message(error);
  }
  return invalid(fmt::format("not JSON: {}", reason));
}

std::string_view name_of(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// "a", "b" or "c"
std::string list_of(const std::vector<WantedField>& fields, Role role) {
  std::vector<std::string_view> names;
  for (const WantedField& field : fields) {
    if (field.role == role) names.push_back(field.given);
  }
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += fmt::format("\"{}\"", names[i]);
  }
  return out;
}

class JsonDecoder final : public Decoder {
 public:
  explicit JsonDecoder(std::vector<WantedField> fields) : fields_(std::move(fields)), found_(fields_.size()) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      const WantedField& field = fields_[i];
      any_pointer_ = any_pointer_ || field.pointer;
      scopes_ += field.role == Role::scope ? 1 : 0;
      if (!field.pointer)
        by_length_[field.name.size() % by_length_.size()].push_back(static_cast<uint32_t>(i));
    }
    no_text_ = "text: no field " + list_of(fields_, Role::text);
  }

  absl::Status decode(const Record& record, Document& out) override {
    out = {};
    std::string_view value = record.value;
    if (value.starts_with("\xef\xbb\xbf")) value.remove_prefix(3);
    dom::element root;
    // The record's padding is all that the parser needs: nothing is copied.
    if (auto error = parser_.parse(value.data(), value.size(), false).get(root)) return not_json(error);
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
      return invalid(fmt::format("not JSON as expected: {} in place of an object", name_of(root.type())));
    }
    find(object);
    return take(out);
  }

 private:
  void find(dom::object object) {
    std::fill(found_.begin(), found_.end(), std::nullopt);
    for (dom::key_value_pair pair : object) {
      for (uint32_t i : by_length_[pair.key.size() % by_length_.size()]) {
        if (!found_[i] && fields_[i].name == pair.key) found_[i] = unwrapped(pair.value);
      }
    }
    if (!any_pointer_) return;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!fields_[i].pointer) continue;
      dom::element element;
      if (object.at_pointer(fields_[i].name).get(element) == simdjson::SUCCESS)
        found_[i] = unwrapped(element);
    }
  }

  // ["x"] stands for "x", and [] for null, as search engines write them.
  static dom::element unwrapped(dom::element element) {
    dom::array array;
    if (element.get(array) == simdjson::SUCCESS && array.size() == 1) return *array.begin();
    return element;
  }

  static bool is_nothing(dom::element element) {
    dom::array array;
    return element.is_null() || (element.get(array) == simdjson::SUCCESS && array.size() == 0);
  }

  absl::Status take(Document& out) {
    std::array<bool, kRoles> done{};
    bool text_is_null = false;
    if (scopes_ > 1) scope_.clear();
    for (size_t i = 0; i < fields_.size(); ++i) {
      const WantedField& field = fields_[i];
      auto role = static_cast<size_t>(field.role);
      if (field.role == Role::scope) {
        RETURN_IF_ERROR(take_scope(field, found_[i], out));
        continue;
      }
      if (done[role] || !found_[i]) continue;
      dom::element element = *found_[i];
      if (is_nothing(element)) {
        text_is_null = text_is_null || field.role == Role::text;
        continue;
      }
      done[role] = true;
      if (field.role == Role::text) {
        if (element.get(out.text) != simdjson::SUCCESS) {
          return invalid(
              fmt::format("text: field \"{}\" is {}, not a string", field.given, name_of(element.type())));
        }
      } else if (field.role == Role::id) {
        if (!scalar(element, id_, out.id)) {
          return invalid(fmt::format("id: field \"{}\" is {}, not a string or a number", field.given,
                                     name_of(element.type())));
        }
      } else if (field.role == Role::url) {
        if (element.get(out.url) != simdjson::SUCCESS) out.url = {};
      } else if (std::string_view date; scalar(element, date_, date)) {
        out.timestamp_ms = parse_time(date);
      }
    }
    if (!done[static_cast<size_t>(Role::text)] && !text_is_null) return invalid(no_text_);
    if (scopes_ > 1) out.scope = scope_;
    return absl::OkStatus();
  }

  // One field is the scope itself. Several are written one after the other so that no two lists look the
  // same: "3:abc,-,2:no," for "abc", nothing, "no".
  absl::Status take_scope(const WantedField& field, std::optional<dom::element> element, Document& out) {
    std::string_view value;
    bool there = element && !is_nothing(*element);
    if (there && !scalar(*element, scope_part_, value)) {
      return invalid(fmt::format("scope: field \"{}\" is {}, not a string, a number, true or false",
                                 field.given, name_of(element->type())));
    }
    if (scopes_ == 1) {
      out.scope = value;
    } else if (there) {
      fmt::format_to(std::back_inserter(scope_), "{}:{},", value.size(), value);
    } else {
      scope_ += "-,";
    }
    return absl::OkStatus();
  }

  // The text of a string, a number, true or false; `memory` holds it where the document does not.
  static bool scalar(dom::element element, std::array<char, 512>& memory, std::string_view& out) {
    switch (element.type()) {
      case dom::element_type::STRING:
        return element.get(out) == simdjson::SUCCESS;
      case dom::element_type::BOOL:
        out = bool(element) ? "true" : "false";
        return true;
      case dom::element_type::INT64:
        return number(int64_t(element), memory, out);
      case dom::element_type::UINT64:
        return number(uint64_t(element), memory, out);
      case dom::element_type::DOUBLE: {
        auto end = std::to_chars(memory.data(), memory.data() + memory.size(), double(element),
                                 std::chars_format::fixed);
        out = {memory.data(), static_cast<size_t>(end.ptr - memory.data())};
        return end.ec == std::errc();
      }
      default:
        return false;
    }
  }
  template <typename T>
  static bool number(T value, std::array<char, 512>& memory, std::string_view& out) {
    auto end = std::to_chars(memory.data(), memory.data() + memory.size(), value);
    out = {memory.data(), static_cast<size_t>(end.ptr - memory.data())};
    return true;
  }

  std::vector<WantedField> fields_;
  std::vector<std::optional<dom::element>> found_;   // parallel to fields_
  std::array<std::vector<uint32_t>, 16> by_length_;  // indices of top-level fields, by the length of the name
  bool any_pointer_ = false;
  int scopes_ = 0;
  std::string no_text_;
  dom::parser parser_;
  std::array<char, 512> id_, date_, scope_part_;
  std::string scope_;
};

}  // namespace

std::unique_ptr<Decoder> make_json_decoder(std::vector<WantedField> fields) {
  return std::make_unique<JsonDecoder>(std::move(fields));
}

}  // namespace doppel
