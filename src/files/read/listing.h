#pragma once
// From paths as given to the files to read, in the order in which they are read.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

struct Listing {
  std::vector<InputFile> files;
  uint64_t indexes = 0;           // index and log files beside WARC files, which are left out
  std::vector<Problem> problems;  // directories and links that could not be followed
};

absl::StatusOr<Listing> list_files(const FilesSourceOptions& options);

}  // namespace doppel
