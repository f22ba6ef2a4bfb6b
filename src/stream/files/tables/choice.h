#pragma once
// Which columns of a table are read: those that the settings of the input name.

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/decoder.h"
#include "stream/files/tables/column.h"

namespace doppel::tables {

// Of signed records, the column that holds them.
inline constexpr std::string_view kSignedRecord = "signed_record";

// The columns that input.id, input.text... name, in the order of the file. What a setting names must be
// there: of a list one column at least, of tags and what is handed through each. Lists that have their
// defaults may find nothing, but for the text. The error names setting and column, and the column that may be
// meant.
absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format);

}  // namespace doppel::tables
