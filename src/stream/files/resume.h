#pragma once
// Which of the listed files an earlier run has read, and how far.

#include <unordered_map>
#include <vector>

#include "stream/files/listing.h"
#include "stream/files/position.h"

namespace doppel {

struct Resume {
  std::vector<bool> skip;                     // per listed file: nothing new in it
  std::unordered_map<size_t, LineMark> from;  // by listed file: go on there
};

// Fills `writer` with all that was known. What is gone for good is told in `problems`.
Resume find_resume_points(const Listing& listing, const Position& position, PositionWriter& writer,
                          std::vector<Problem>& problems);

// Whether the open file is the one of the mark, at least as long as it was then.
bool is_file_of(int fd, Packing packing, const LineMark& mark);

// The identity of an open file, to be read from its start.
LineMark mark_of(int fd);

}  // namespace doppel
