#pragma once
// Determines which of the listed files an earlier run has read, and how far.

#include <unordered_map>
#include <vector>

#include "files/position.h"
#include "files/read/listing.h"

namespace doppel {

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

}  // namespace doppel
