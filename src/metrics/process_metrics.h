#pragma once
// What the system says of this process and of the disk under its state directory. Asked at each scrape.

#include <string>

#include "metrics/families.h"

namespace doppel {

// Named as other programs' are (process_...), so that common dashboards show them.
void collect_process(Families& out);
// Nothing where the directory does not exist yet.
void collect_disk(Families& out, const std::string& directory);

}  // namespace doppel
