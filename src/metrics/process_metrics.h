#pragma once
// What the operating system reports about this process and about the disk of its state directory, at each
// scrape.

#include <string>

#include "metrics/families.h"

namespace doppel {

// Uses the common names (process_...), so that existing dashboards show them.
void collect_process(Families& out);
// Adds nothing if the directory does not exist yet.
void collect_disk(Families& out, const std::string& directory);

}  // namespace doppel
