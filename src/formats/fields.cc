#include "formats/fields.h"

#include <fmt/format.h>

#include "base/status.h"

namespace doppel {
namespace {

absl::StatusOr<WantedField> wanted_field(Role role, std::string_view option, const std::string& given) {
  WantedField field{role, false, given, given};
  if (given.empty()) return invalid(fmt::format("{}: a field without a name", option));
  if (given[0] != '/') return field;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == '~' && (i + 1 == given.size() || (given[i + 1] != '0' && given[i + 1] != '1'))) {
      return invalid(fmt::format(
          "{}: \"{}\" is not a JSON pointer: \"~\" must be followed by 0 or 1 (write ~0 for \"~\")", option,
          given));
    }
  }
  // A pointer of one step is a top-level field.
  field.pointer = given.find('/', 1) != std::string::npos;
  if (field.pointer) return field;
  field.name.clear();
  for (size_t i = 1; i < given.size(); ++i) {
    if (given[i] == '~') {
      field.name.push_back(given[++i] == '0' ? '~' : '/');
    } else {
      field.name.push_back(given[i]);
    }
  }
  return field;
}

}  // namespace

absl::StatusOr<std::vector<WantedField>> wanted_fields(const FormatOptions& options) {
  struct Option {
    Role role;
    std::string_view name;
    const std::vector<std::string>& fields;
  };
  const Option all[] = {{Role::id, "input.id", options.id_fields},
                        {Role::text, "input.text", options.text_fields},
                        {Role::url, "input.url", options.url_fields},
                        {Role::date, "input.date", options.date_fields},
                        {Role::scope, "input.scope", options.scope_fields}};
  std::vector<WantedField> out;
  for (const Option& option : all) {
    for (const std::string& given : option.fields) {
      ASSIGN_OR_RETURN(WantedField field, wanted_field(option.role, option.name, given));
      out.push_back(std::move(field));
    }
  }
  if (options.text_fields.empty()) return invalid("input.text: at least one field is needed");
  return out;
}

}  // namespace doppel
