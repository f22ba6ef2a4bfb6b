#pragma once
// Expands the given paths to the files to read, in the order in which they are read, and tells which of them
// an earlier run has read.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "files/input_file.h"
#include "files/position.h"
#include "files/record_reader.h"
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

// Determines which of the listed files an earlier run has read, and how far.
struct Resume {
  std::vector<bool> skip;                     // per listed file: there is nothing new to read
  std::unordered_map<size_t, LineMark> from;  // by index of the listed file: continue there
};

// Passes all entries of `position` to `writer`. Adds a problem for each unfinished file that is gone. Looks
// into files that may be known (content.h).
Resume find_resume_points(const FilesSourceOptions& options, Listing& listing, const Position& position,
                          PositionWriter& writer, std::vector<Problem>& problems);

// Whether the open file is the file of `mark`, and at least as long as it was then. as_stored: see InputFile.
bool is_file_of(int fd, bool as_stored, const LineMark& mark, const Part& part = {});

// The identity of an open file, with offset 0.
LineMark mark_of(int fd, const Part& part = {});

// The mark of a file behind a URL: its version stands for its content.
LineMark mark_of(const InputFile& remote);
uint64_t whole_mark_of(const InputFile& remote);

}  // namespace doppel
