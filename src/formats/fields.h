#pragma once
// Which fields of a JSON document are wanted, worked out once from the options.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/decoder.h"

namespace doppel {

enum class Role : unsigned char { id, text, url, date, scope };
inline constexpr size_t kRoles = 5;

struct WantedField {
  Role role;
  bool pointer = false;  // a JSON pointer of more than one step; else the name of a top-level field
  std::string name;
  std::string given;  // as configured
};

// In the order in which they are to be tried. The error names the option and what is wrong.
absl::StatusOr<std::vector<WantedField>> wanted_fields(const FormatOptions& options);

}  // namespace doppel
