#pragma once
// Findings as JSON lines: docs/decontamination.md describes every member.

#include <span>
#include <string>

#include "evals/items.h"
#include "formats/document.h"
#include "formats/record.h"

namespace doppel {

// Appends a line for each match.
void append_findings(std::string& out, const Record& record, const Document& document, const Items& items,
                     std::span<const ItemMatch> matches);

}  // namespace doppel
