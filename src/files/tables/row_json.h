#pragma once
// A row as a JSON object of one line, so that it is decided, rejected and kept as a line of JSONL is.

#include <string>

#include "files/tables/column.h"

namespace doppel::tables {

// Nulls become null, decimal numbers a string of digits, texts and bytes a string (bytes that are not UTF-8
// stay, so that the reader of the JSON refuses them), dates and times ISO 8601.
void append_json(const Column& column, const Cell& cell, std::string& out);
// What follows `begin` becomes a string, as the key of an object is, unless it is one.
void quote(std::string& out, size_t begin);

}  // namespace doppel::tables
