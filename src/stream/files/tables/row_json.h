#pragma once
// A row as a JSON object of one line, so that it is decided, rejected and kept as a line of JSONL is.

#include <string>

#include "stream/files/tables/column.h"

namespace doppel::tables {

// Nulls become null, texts and bytes a string (bytes that are not UTF-8 stay, so that the reader of the JSON
// refuses them), dates and times ISO 8601.
void append_json(const Column& column, const Cell& cell, std::string& out);

}  // namespace doppel::tables
