#include "formats/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/strings.h"
#include "formats/best.h"
#include "formats/bytes/http.h"
#include "formats/json/json_value.h"
#include "formats/presets.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr std::string_view kHeader = "$header/";

// Decodes a step of a JSON pointer.
std::string unescaped(std::string_view step) {
  std::string out;
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] == '~' && i + 1 < step.size()) {
      out.push_back(step[++i] == '0' ? '~' : '/');
    } else {
      out.push_back(step[i]);
    }
  }
  return out;
}

absl::StatusOr<WantedField> wanted_field(Role role, std::string_view option, const std::string& configured) {
  WantedField field{.role = role};
  std::string_view given = configured;
  if (role == Role::tag || role == Role::passthrough) {
    if (const size_t equals = given.find('='); equals != std::string_view::npos) {
      field.label = given.substr(0, equals);
      given.remove_prefix(equals + 1);
      if (field.label.empty())
        return invalid(fmt::format("{}: \"{}\": no name before =", option, configured));
    }
  }
  field.given = field.name = given;
  if (given.empty()) return invalid(fmt::format("{}: a field without a name", option));
  if (given == "$key") {
    field.from = WantedField::From::key;
  } else if (given == "$topic") {
    field.from = WantedField::From::topic;
  } else if (given.starts_with(kHeader)) {
    field.from = WantedField::From::header;
    field.name = given.substr(kHeader.size());
    if (field.name.empty()) return invalid(fmt::format("{}: $header/ without a name", option));
  } else if (given[0] == '/') {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == '~' && (i + 1 == given.size() || (given[i + 1] != '0' && given[i + 1] != '1'))) {
        return invalid(fmt::format(
            "{}: \"{}\" is not a JSON pointer: \"~\" must be followed by 0 or 1 (write ~0 for \"~\")", option,
            given));
      }
    }
    // A pointer with one step names a top-level field.
    field.pointer = given.find('/', 1) != std::string_view::npos;
    if (!field.pointer) field.name = unescaped(given.substr(1));
  }
  if (field.label.empty()) {
    field.label = field.pointer ? unescaped(given.substr(given.rfind('/') + 1)) : field.name;
    if (field.from == WantedField::From::key) field.label = "key";
    if (field.from == WantedField::From::topic) field.label = "topic";
  }
  return field;
}

std::vector<std::string> best_field(const FormatOptions& options) {
  const absl::StatusOr<Best> best = Best::parse(options.best);
  return best.ok() && !best->field().empty() ? std::vector{best->field()} : std::vector<std::string>();
}

}  // namespace

absl::StatusOr<std::vector<WantedField>> wanted_fields(const FormatOptions& given) {
  const FormatOptions options = with_preset(given);
  struct Option {
    Role role;
    std::string_view name;
    std::vector<std::string> fields;
  };
  const Option all[] = {{Role::id, "input.id", options.id_fields},
                        {Role::text, "input.text", options.text_fields},
                        {Role::url, "input.url", options.url_fields},
                        {Role::date, "input.date", options.date_fields},
                        {Role::scope, "input.scope", options.scope_fields},
                        {Role::tag, "input.tags", options.tag_fields},
                        {Role::passthrough, "input.passthrough", options.passthrough_fields},
                        {Role::best, "output.best", best_field(options)}};
  std::vector<WantedField> out;
  for (const Option& option : all) {
    for (const std::string& field : option.fields) {
      ASSIGN_OR_RETURN(WantedField wanted, wanted_field(option.role, option.name, field));
      out.push_back(std::move(wanted));
    }
  }
  const Preset& preset = preset_of(options.format);
  if (options.text_fields.empty() && preset.reads_json && !preset.text_elsewhere)
    return invalid("input.text: at least one field is needed");
  for (const auto& [role, name] : preset.more) {
    ASSIGN_OR_RETURN(WantedField wanted, wanted_field(role, options.format, std::string(name)));
    out.push_back(std::move(wanted));
  }
  return out;
}

std::vector<std::string> steps_of(const WantedField& field) {
  if (!field.pointer) return {field.name};
  std::vector<std::string> out;
  std::string_view rest = field.name;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view step = rest.substr(0, rest.find('/'));
    out.push_back(unescaped(step));
    rest.remove_prefix(step.size());
  }
  return out;
}

std::optional<std::string_view> header_of(const Record& record, std::string_view name) {
  for (const Header& header : record.headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> record_field(const WantedField& field, const Record& record) {
  switch (field.from) {
    case WantedField::From::key:
      return record.key;
    case WantedField::From::topic:
      return record.source;
    case WantedField::From::header:
      return header_of(record, field.name);
    case WantedField::From::json:
      break;
  }
  return std::nullopt;
}

Gathered::Gathered(const std::vector<WantedField>& fields) {
  for (const WantedField& field : fields) {
    scopes_ += field.role == Role::scope ? 1 : 0;
    any_ = any_ || field.role == Role::scope || field.role == Role::tag || field.role == Role::passthrough ||
           field.role == Role::best;
  }
}

void Gathered::clear() {
  if (!any_) return;
  scope_.clear();
  tags_.clear();
  passthrough_.clear();
  best_.clear();
}

void Gathered::add_scope(std::optional<std::string_view> value) {
  if (scopes_ == 1) {
    scope_ = value.value_or("");
  } else if (value) {
    fmt::format_to(std::back_inserter(scope_), "{}:{},", value->size(), *value);
  } else {
    scope_ += "-,";
  }
}

void Gathered::add_tag(std::string_view label, std::string_view value) {
  tags_ += label;
  tags_ += '=';
  for (char c : value) tags_ += c == '\n' || c == '\r' ? ' ' : c;
  tags_ += '\n';
}

void Gathered::add_passthrough(std::string_view label, std::string_view json) {
  if (!passthrough_.empty()) passthrough_ += ',';
  append_json_member(passthrough_, label);
  passthrough_ += json;
}

void Gathered::put(Document& out) const {
  if (!any_) return;
  out.scope = scope_;
  out.tags = tags_;
  out.passthrough = passthrough_;
  out.best_field = best_;
}

std::string place_in_words(const Record& record) {
  if (record.sender != nullptr)
    return fmt::format("{}/{} (document {} of its request)", record.source, record.offset, record.line);
  if (record.row) return fmt::format("{}: row {}", record.source, record.offset);
  if (record.warc) {
    const absl::StatusOr<WarcRecord> warc = parse_warc_record(record.value);
    return fmt::format("{}: byte {}{}{}", record.source, record.warc_offset.value_or(record.offset),
                       record.warc_offset ? "" : " unpacked",
                       !warc.ok() || warc->target_uri.empty() ? "" : fmt::format(" ({})", warc->target_uri));
  }
  if (record.line == 0) return std::string(record.source);
  return fmt::format("{}:{} (byte {})", record.source, record.line, record.offset);
}

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<WantedField> text_fields(const FormatOptions& options) {
  std::vector<WantedField> out;
  if (auto fields = wanted_fields(options); fields.ok())
    for (WantedField& field : *fields)
      if (field.role == Role::text && field.from == WantedField::From::json) out.push_back(std::move(field));
  return out;
}

std::vector<JsonMender::Path> paths_of(const std::vector<WantedField>& fields) {
  std::vector<JsonMender::Path> out;
  out.reserve(fields.size());
  for (const WantedField& field : fields) out.push_back(steps_of(field));
  return out;
}

}  // namespace

TextField::TextField(const FormatOptions& options)
    : fields_(text_fields(options)),
      format_(options.format),
      json_(std::make_unique<JsonMender>(paths_of(fields_))) {
  columns_.reserve(fields_.size());
  for (const WantedField& field : fields_) columns_.push_back(absl::StrJoin(steps_of(field), "."));
}

TextField::~TextField() = default;

std::optional<TextField::Place> TextField::find(const Record& record) {
  if (record.warc || record.mail || record.pieces != nullptr || record.null_value) return std::nullopt;
  const std::string_view value = record.value;
  const size_t mark = value.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  if (format_ == "text" || (format_ == "auto" && record.whole_file)) {
    const size_t end = value.size() - (!record.whole_file && value.ends_with('\r') ? 1 : 0);
    return Place{.begin = mark, .end = std::max(mark, end)};
  }
  json_->mend(value.substr(mark));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto [begin, end] = json_->place(i);
    const std::string_view there = value.substr(mark + begin, end - begin);
    if (there.empty() || there == "null") continue;
    if (there.front() != '"') return std::nullopt;
    return Place{.begin = mark + begin, .end = mark + end, .json = true, .column = columns_[i]};
  }
  return std::nullopt;
}

std::string TextField::replaced(const Record& record, const Place& place, std::string_view text) const {
  std::string out(record.value.substr(0, place.begin));
  if (place.json) {
    append_json_string(out, text);
  } else {
    out += text;
  }
  out += record.value.substr(place.end);
  return out;
}

}  // namespace doppel
