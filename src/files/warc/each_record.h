#pragma once
// All records of one WARC file, one after the other.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/input_file.h"
#include "formats/record.h"

namespace doppel {

// Calls `visit` with each record of `file`, as look_inside() (content.h) has described it; of a large one
// there is the beginning. What is wrong with the file is added to `problems`. The error: it cannot be opened.
absl::Status each_warc_record(const InputFile& file, const std::function<void(const Record&)>& visit,
                              std::vector<std::string>& problems);

}  // namespace doppel
