#pragma once
// A row as a JSON object on one line, so that doppel treats it like a line of JSONL.

#include <string>

#include "files/tables/column.h"

namespace doppel::tables {

// Appends a value as JSON. Null is null, decimals are strings of digits, dates and times are ISO 8601,
// texts and bytes are strings. Bytes that are not UTF-8 stay as they are, so that the JSON parser rejects
// them.
void append_json(const Column& column, const Cell& cell, std::string& out);
// Quotes the JSON from `begin` on, which becomes the key of an object, unless it is a string.
void quote(std::string& out, size_t begin);

}  // namespace doppel::tables
