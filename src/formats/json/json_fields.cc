#include "formats/json/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/memory_limit.h"
#include "base/reason.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/json/json_value.h"

namespace doppel {
namespace {

namespace dom = simdjson::dom;

char first_of(std::string_view name) { return name.empty() ? '\0' : name.front(); }

// The paths of JSON fields; empty for others.
std::vector<JsonMender::Path> paths_of(const std::vector<WantedField>& wanted) {
  std::vector<JsonMender::Path> out;
  out.reserve(wanted.size());
  for (const WantedField& field : wanted)
    out.push_back(field.from == WantedField::From::json ? steps_of(field) : JsonMender::Path());
  return out;
}

}  // namespace

FoundFields::FoundFields(const std::vector<WantedField>& wanted)
    : wanted_(wanted), found_(wanted.size()), mender_(paths_of(wanted)) {
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const WantedField& field = wanted_[i];
    any_pointer_ = any_pointer_ || field.pointer;
    if (!field.pointer && field.from == WantedField::From::json)
      by_length_[field.name.size() % by_length_.size()].push_back(
          {first_of(field.name), static_cast<uint32_t>(i)});
  }
}

// The record's padding suffices for the parser, so nothing is copied.
simdjson::error_code FoundFields::parse(std::string_view json, dom::element& root) {
  mended_ = false;
  const simdjson::error_code error = parse_once(json, root);
  if (error == simdjson::SUCCESS) return error;
  mended_ = JsonMender::may_help(error) && mender_.mend(json);
  return mended_ ? parse_once({mender_.text().data(), mender_.size()}, root) : error;
}

simdjson::error_code FoundFields::parse_once(std::string_view json, dom::element& root) {
  const MayFail here;  // the parser reports a failed allocation
  const simdjson::error_code error = parser_.parse(json.data(), json.size(), false).get(root);
  // After a failed allocation a parser writes to memory that it did not get.
  if (error == simdjson::MEMALLOC) parser_ = dom::parser();
  return error;
}

void FoundFields::find(dom::object object) {
  std::fill(found_.begin(), found_.end(), std::nullopt);
  for (dom::key_value_pair pair : object) {
    const char first = first_of(pair.key);
    for (const Named& named : by_length_[pair.key.size() % by_length_.size()]) {
      if (named.first == first && !found_[named.field] && wanted_[named.field].name == pair.key)
        found_[named.field] = unwrapped(pair.value);
    }
  }
  if (!any_pointer_) return;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (!wanted_[i].pointer) continue;
    dom::element element;
    if (object.at_pointer(wanted_[i].name).get(element) == simdjson::SUCCESS) found_[i] = unwrapped(element);
  }
}

void FoundFields::raw(size_t i, std::string& out) const {
  out.clear();
  mender_.append_raw(i, out);
}

bool FoundFields::whole_number(size_t i, std::string& out) const {
  raw(i, out);
  return out.find_first_not_of("-0123456789") == std::string::npos;
}

namespace {

namespace dom = simdjson::dom;

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

// Says which fields an object has, to help who must name one. Names come from strangers, so they are quoted
// as JSON quotes them.
std::string those_of(dom::object object) {
  constexpr size_t kShown = 8, kLongest = 60;
  std::string out;
  size_t fields = 0;
  for (const dom::key_value_pair field : object) {
    if (++fields > kShown || field.key.size() > kLongest) continue;
    if (!out.empty()) out += ", ";
    append_json_string(out, field.key);
  }
  if (fields == 0) return "; the object has no fields";
  return fmt::format("; the fields are {}{}; input.text (--text-field) names the right one", out,
                     fields > kShown ? ", ..." : "");
}

// The error for a used field whose value cannot be represented.
absl::Status unusable(std::string_view role, const WantedField& field, JsonMender::Hurt hurt) {
  return invalid(fmt::format("{}: field \"{}\" holds {}", role, field.given,
                             hurt == JsonMender::Hurt::number ? "a number that does not fit into 64 bits"
                                                              : "half of a surrogate pair"));
}

bool is_none(dom::element element) {
  std::string_view value;
  return element.get(value) == simdjson::SUCCESS && value == "None";
}

}  // namespace

JsonFields::JsonFields(const Preset& preset, std::vector<WantedField> fields)
    : preset_(preset),
      fields_(std::move(fields)),
      found_(fields_),
      gathered_(fields_),
      no_text_("no field " + list_of(fields_, Role::text)) {}

absl::Status JsonFields::take(const Record& record, dom::object object, Document& out, JsonParts& parts) {
  found_.find(object);
  out = {};
  parts = {};
  std::array<bool, kRoles> done{};
  bool text_is_null = false;
  gathered_.clear();
  for (size_t i = 0; i < fields_.size(); ++i) {
    const WantedField& field = fields_[i];
    const auto role = static_cast<size_t>(field.role);
    if (field.role >= Role::scope && field.role <= Role::best) {
      RETURN_IF_ERROR(gather(i, record));
      continue;
    }
    if (done[role]) continue;
    if (field.from != WantedField::From::json) {
      if (std::optional<std::string_view> value = record_field(field, record)) {
        done[role] = true;
        take_value(field.role, *value, out, parts);
      }
      continue;
    }
    if (!found_[i]) continue;
    dom::element element = *found_[i];
    if (is_nothing(element)) {
      text_is_null = text_is_null || field.role == Role::text;
      continue;
    }
    if (preset_.none_is_null && field.role != Role::text && is_none(element)) continue;
    done[role] = true;
    const JsonMender::Hurt hurt = found_.hurt(i);
    // Such a number is not a date or a status.
    if (hurt == JsonMender::Hurt::number && field.role > Role::url) continue;
    switch (field.role) {
      case Role::text:
        if (hurt == JsonMender::Hurt::surrogate) return unusable("text", field, hurt);
        parts.text = element;
        parts.has_text = true;
        parts.text_field = field.given;
        // The common case.
        if (element.get(out.text) != simdjson::SUCCESS && !preset_.joins_arrays) {
          return rejected(Reason::bad_text,
                          fmt::format(" \"{}\" is {}, not a string", field.given, name_of(element.type())));
        }
        break;
      case Role::id:
        if (hurt == JsonMender::Hurt::number && found_.whole_number(i, id_joined_)) {
          out.id = id_joined_;
          break;
        }
        if (hurt != JsonMender::Hurt::no) return unusable("id", field, hurt);
        if (!scalar(element, id_, out.id) && !joined(element, id_joined_, out.id)) {
          return rejected(Reason::bad_id, fmt::format(": field \"{}\" is {}, not a string or a number",
                                                      field.given, name_of(element.type())));
        }
        break;
      case Role::url:
        if (hurt == JsonMender::Hurt::surrogate) return unusable("url", field, hurt);
        if (element.get(out.url) != simdjson::SUCCESS && !joined(element, url_joined_, out.url)) out.url = {};
        break;
      case Role::response_headers:
        parts.headers = element;
        break;
      case Role::status:
        if (int64_t status = 0; element.get(status) == simdjson::SUCCESS) {
          parts.status = status;
          break;
        }
        [[fallthrough]];
      default:
        if (std::string_view value; scalar(element, field.role == Role::date ? date_ : other_, value)) {
          take_value(field.role, value, out, parts);
        }
    }
  }
  gathered_.put(out);
  if (!parts.has_text && !text_is_null && !preset_.text_elsewhere && !preset_.text_may_be_missing) {
    return rejected(Reason::no_text, no_text_ + those_of(object));
  }
  return absl::OkStatus();
}

void JsonFields::take_value(Role role, std::string_view value, Document& out, JsonParts& parts) {
  auto origin = [&]() -> WarcOrigin& { return out.warc ? *out.warc : out.warc.emplace(); };
  switch (role) {
    case Role::id:
      out.id = value;
      break;
    case Role::url:
      out.url = value;
      break;
    case Role::date:
      out.timestamp_ms = parse_time(value);
      break;
    case Role::content_type:
      out.content_type = value;
      break;
    case Role::charset:
      parts.charset = value;
      break;
    case Role::status: {
      int64_t status = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), status).ec == std::errc())
        parts.status = status;
      break;
    }
    case Role::payload_digest:
      if (value.find(':') != std::string_view::npos) out.payload_digest = value;
      break;
    case Role::warc_filename:
      origin().filename = value;
      break;
    case Role::warc_offset: {
      uint64_t offset = 0;
      if (whole_number(value, offset)) origin().offset = offset;
      break;
    }
    case Role::warc_record_id:
      if (value.starts_with('<') && value.ends_with('>')) value = value.substr(1, value.size() - 2);
      origin().record_id = value;
      break;
    default:
      break;
  }
}

absl::Status JsonFields::gather(size_t i, const Record& record) {
  const WantedField& field = fields_[i];
  const std::optional<dom::element> element = found_[i];
  const JsonMender::Hurt hurt = found_.hurt(i);
  if ((field.role == Role::passthrough || field.role == Role::best) && element) {
    if (hurt == JsonMender::Hurt::no) {
      pass(field, simdjson::minify(*element));
    } else {
      found_.raw(i, quoted_);
      pass(field, quoted_);
    }
    return absl::OkStatus();
  }
  std::optional<std::string_view> value = record_field(field, record);
  if (element && !is_nothing(*element)) {
    value.emplace();
    const std::string_view role = field.role == Role::scope ? "scope" : "tags";
    if (hurt == JsonMender::Hurt::number && found_.whole_number(i, other_joined_)) {
      value = other_joined_;
    } else if (hurt != JsonMender::Hurt::no) {
      return unusable(role, field, hurt);
    } else if (!scalar(*element, other_, *value) && !joined(*element, other_joined_, *value)) {
      return invalid(fmt::format("{}: field \"{}\" is {}, not a string, a number, true or false", role,
                                 field.given, name_of(element->type())));
    }
  }
  if (field.role == Role::scope) {
    gathered_.add_scope(value);
  } else if (value && field.role == Role::tag) {
    gathered_.add_tag(field.label, *value);
  } else if (value) {
    quoted_.clear();
    append_json_member(quoted_, *value);
    quoted_.pop_back();
    pass(field, quoted_);
  }
  return absl::OkStatus();
}

void JsonFields::pass(const WantedField& field, std::string_view json) {
  if (field.role == Role::best) {
    gathered_.set_best(json);
  } else {
    gathered_.add_passthrough(field.label, json);
  }
}

bool JsonFields::joined(dom::element element, std::string& memory, std::string_view& out) const {
  if (!preset_.joins_arrays || !join_sorted(element, memory)) return false;
  out = memory;
  return true;
}

}  // namespace doppel
