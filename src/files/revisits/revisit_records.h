#pragma once
// Revisit records for copies by payload, of what their events say alone: no WARC file is read.

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "files/revisits/copies_of_events.h"

namespace doppel {

struct RevisitRecordsReport {
  uint64_t records = 0;
  // Originals that were captured later than a copy of theirs: they got a record, too, which refers to it, or
  // none, because no copy lies in their file, so that another crawl may refer to them.
  uint64_t turned = 0, refused = 0;
  uint64_t same = 0;  // events of one record that is there twice
};

// Of the captures that the events tie together, the earliest has no record, and the records of all others
// refer to it. `write` receives each record, in the order of the events; its error ends it.
absl::StatusOr<RevisitRecordsReport> each_revisit_record(
    CopiesOfEvents& events, const std::function<absl::Status(std::string_view)>& write,
    const std::function<void(const std::string&)>& say);

}  // namespace doppel
