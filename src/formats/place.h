#pragma once
// The position of a record, in words for a message.

#include <string>

#include "formats/record.h"

namespace doppel {

// "crawl.jsonl:3 (byte 510)", "crawl.parquet: row 3", or the source alone.
std::string place_in_words(const Record& record);

}  // namespace doppel
