#include "stream/files/tables/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/nearest.h"
#include "base/status.h"
#include "formats/fields.h"
#include "formats/presets.h"

namespace doppel::tables {
namespace {

constexpr size_t kShown = 12;

struct Setting {
  Role role;
  std::string_view name;
  const std::vector<std::string>& fields;
  const std::vector<std::string>& defaults;
};

const Column* find(const std::vector<Column>& columns, std::string_view name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

absl::Status missing(const std::vector<Column>& columns, std::string_view setting,
                     const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const Column& column : columns) names.push_back(column.name);
  std::string asked, meant, there;
  for (size_t i = 0; i < wanted.size(); ++i) {
    asked += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == wanted.size() ? " or " : ", ", wanted[i]);
    if (meant.empty()) meant = did_you_mean(wanted[i], names);
  }
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) there += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) there += fmt::format(" and {} more", names.size() - kShown);
  return absl::NotFoundError(
      fmt::format("no column {}, which {} names{}; the columns are: {}", asked, setting, meant, there));
}

absl::Status unreadable(const Column& column, std::string_view setting) {
  return absl::UnimplementedError(fmt::format(
      "column \"{}\", which {} names, is {}, which is not read; write it as text, or name another column",
      column.name, setting, column.unreadable));
}

absl::StatusOr<std::vector<Column>> signed_column(const std::vector<Column>& columns) {
  const Column* column = find(columns, kSignedRecord);
  if (column == nullptr) return missing(columns, "input.format: signed", {std::string(kSignedRecord)});
  if (column->unreadable.empty() && column->stored == Stored::bytes) return std::vector<Column>{*column};
  return absl::UnimplementedError(
      fmt::format("column \"{}\" holds no bytes, so no signed records", kSignedRecord));
}

}  // namespace

absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format) {
  if (is_signed(format)) return signed_column(columns);
  if (!preset_of(format.format).reads_json) {
    return invalid(fmt::format(
        "a Parquet file, whose columns are read as fields of JSON are: not with input.format: {}; leave it "
        "out, and name the columns (input.id, input.text)",
        format.format));
  }
  ASSIGN_OR_RETURN(const std::vector<WantedField> fields, wanted_fields(format));
  const FormatOptions defaults;
  const Setting settings[] = {
      {Role::id, "input.id", format.id_fields, defaults.id_fields},
      {Role::text, "input.text", format.text_fields, defaults.text_fields},
      {Role::url, "input.url", format.url_fields, defaults.url_fields},
      {Role::date, "input.date", format.date_fields, defaults.date_fields},
      {Role::scope, "input.scope", format.scope_fields, defaults.scope_fields},
      {Role::tag, "input.tags", format.tag_fields, defaults.tag_fields},
      {Role::passthrough, "input.passthrough", format.passthrough_fields, defaults.passthrough_fields}};
  std::vector<bool> wanted(columns.size());
  const auto take = [&](const WantedField& field, std::string_view setting, bool& found) -> absl::Status {
    const Column* column =
        field.pointer || field.from != WantedField::From::json ? nullptr : find(columns, field.name);
    // What the record says itself is no column: $key, $topic.
    found = found || column != nullptr || field.from != WantedField::From::json;
    if (column == nullptr) return absl::OkStatus();
    if (!column->unreadable.empty()) return unreadable(*column, setting);
    wanted[static_cast<size_t>(column - columns.data())] = true;
    return absl::OkStatus();
  };
  for (const Setting& setting : settings) {
    const bool each =
        setting.role == Role::scope || setting.role == Role::tag || setting.role == Role::passthrough;
    const bool needed = setting.role == Role::text ? !preset_of(format.format).text_may_be_missing &&
                                                         !preset_of(format.format).text_elsewhere
                                                   : setting.fields != setting.defaults;
    std::vector<std::string> names;
    bool any = false;
    for (const WantedField& field : fields) {
      if (field.role != setting.role) continue;
      bool found = false;
      RETURN_IF_ERROR(take(field, setting.name, found));
      if (each && !found) return missing(columns, setting.name, {field.given});
      names.push_back(field.given);
      any = any || found;
    }
    if (needed && !any && !names.empty()) return missing(columns, setting.name, names);
  }
  // What only a format knows of: a status, a type. It may be there or not.
  for (const WantedField& field : fields) {
    bool found = false;
    if (field.role > Role::passthrough) RETURN_IF_ERROR(take(field, "input.format", found));
  }
  std::vector<Column> out;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (wanted[i]) out.push_back(columns[i]);
  }
  if (out.empty()) return missing(columns, "input.text", format.text_fields);
  return out;
}

}  // namespace doppel::tables
