#pragma once
// Chooses the columns of a table to read: those that the input settings name.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tables/column.h"
#include "formats/decoder.h"

namespace doppel::tables {

// The column that holds signed records.
inline constexpr std::string_view kSignedRecord = "signed_record";

// Returns the columns that input.id, input.text and the other settings name, in the order of the file. A
// JSON pointer names a field inside structures; a structure keeps only the fields that are named. For each
// setting that differs from its default, at least one of its columns must exist; of input.scope, input.tags
// and input.passthrough, all must. The text must always exist, unless the format does not need it.
// Structures, lists and maps can only be passed through. An error names setting and column, and the column
// that may be meant.
absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format);

// Why a column or a part of it cannot be read, in words that follow its name; empty if it can.
std::string why_unreadable(const Column& column);

}  // namespace doppel::tables
