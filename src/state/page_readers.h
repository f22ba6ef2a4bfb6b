#pragma once
// Read many pages of segment files at once, so that a disk works on them side by side.

#include <memory>

#include "index/segment_format.h"

namespace doppel {

// Threads that wait for one page each. Works everywhere.
std::unique_ptr<PageReader> threaded_page_reader(int threads);
// io_uring, which needs less processor time; nullptr if the system refuses it, as containers may.
std::unique_ptr<PageReader> ring_page_reader();

}  // namespace doppel
