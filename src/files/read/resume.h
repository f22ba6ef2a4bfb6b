#pragma once
// Which of the listed files an earlier run has read, and how far.

#include <unordered_map>
#include <vector>

#include "files/position.h"
#include "files/read/listing.h"

namespace doppel {

struct Resume {
  std::vector<bool> skip;                     // per listed file: nothing new in it
  std::unordered_map<size_t, LineMark> from;  // by listed file: go on there
};

// Fills `writer` with all that was known. `problems` receives what is gone for good. Files that may be
// known are looked into (content.h).
Resume find_resume_points(const FilesSourceOptions& options, Listing& listing, const Position& position,
                          PositionWriter& writer, std::vector<Problem>& problems);

// Whether the open file is the one of the mark, at least as long as it was then. as_stored: see InputFile.
bool is_file_of(int fd, bool as_stored, const LineMark& mark, const Part& part = {});

// The identity of an open file, to be read from its start.
LineMark mark_of(int fd, const Part& part = {});

}  // namespace doppel
