#pragma once
// Makes revisit records for copies by payload from their events alone; reads no WARC file.

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "files/revisits/copies_of_events.h"

namespace doppel {

struct RevisitRecordsReport {
  uint64_t records = 0;
  // Originals that were captured later than one of their copies. A turned one got a revisit record that
  // refers to the earliest capture. A refused one got none: no copy is in its file, so the file may belong
  // to another crawl whose records refer to the original.
  uint64_t turned = 0, refused = 0;
  uint64_t same = 0;  // events whose copy and original are the same record
};

// Events tie captures into groups. The earliest capture of a group gets no record; the records of all
// others refer to it. `write` receives each record, in the order of the events. The first error of `write`
// stops the loop.
absl::StatusOr<RevisitRecordsReport> each_revisit_record(
    CopiesOfEvents& events, const std::function<absl::Status(std::string_view)>& write,
    const std::function<void(const std::string&)>& say);

}  // namespace doppel
