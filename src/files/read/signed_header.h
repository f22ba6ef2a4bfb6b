#pragma once
// Reads the headers of files of signed records, before the records are read.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/signed_record.h"

namespace doppel {

// The header of the first file that has one, among these files and directories. Returns nullopt if there
// are no signed records, or only pipes, which cannot be read twice. It is an error if a path does not exist
// or there is nothing to read.
absl::StatusOr<std::optional<SignedFileHeader>> first_signed_header(const std::vector<std::string>& paths);

}  // namespace doppel
