#pragma once
// What files of signed records say of themselves, before they are read.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/signed_file.h"

namespace doppel {

// The header of the first of these files and directories that has one. None: nothing but pipes, which cannot
// be read twice, or no signed records. An error: a path that does not exist, nothing to read.
absl::StatusOr<std::optional<SignedFileHeader>> first_signed_header(const std::vector<std::string>& paths);

}  // namespace doppel
