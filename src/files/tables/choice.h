#pragma once
// Which columns of a table are read: those that the settings of the input name.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tables/column.h"
#include "formats/decoder.h"

namespace doppel::tables {

// Of signed records, the column that holds them.
inline constexpr std::string_view kSignedRecord = "signed_record";

// The columns that input.id, input.text... name, in the order of the file. A JSON pointer names what lies
// inside of structures: of these, only the fields that are named are left. What a setting names must be
// there: of a list one column at least, of tags and what is handed through each. Lists that have their
// defaults may find nothing, but for the text. Structures, lists and maps can be handed through only. The
// error names setting and column, and the column that may be meant.
absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format);

// Why a column or a part of it cannot be read, in words that follow its name; empty: it can.
std::string why_unreadable(const Column& column);

}  // namespace doppel::tables
