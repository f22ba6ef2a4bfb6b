#pragma once
// Reads all records of one WARC file.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/input_file.h"
#include "formats/record.h"

namespace doppel {

// Calls `visit` with each record of `file`, which look_inside() (content.h) has described. Large records
// are passed without their rest. Adds what is wrong with the file to `problems`. It is an error if the file
// cannot be opened.
absl::Status each_warc_record(const InputFile& file, const std::function<void(const Record&)>& visit,
                              std::vector<std::string>& problems);

}  // namespace doppel
