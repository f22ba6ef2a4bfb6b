#pragma once
// Expands the given paths to the files to read, in the order in which they are read.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

struct Listing {
  std::vector<InputFile> files;
  uint64_t links = 0;  // paths that were left out, because another one leads to the same file
  std::string first_link;
  uint64_t indexes = 0;           // index and log files next to WARC files, which are skipped
  std::vector<Problem> problems;  // files, directories and links that cannot be read
};

absl::StatusOr<Listing> list_files(const FilesSourceOptions& options);

}  // namespace doppel
