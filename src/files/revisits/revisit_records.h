#pragma once
// Makes revisit records for copies by payload from their events alone; reads no WARC file.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/output_file.h"
#include "records/revisits.h"

namespace doppel {

// The copies by payload in a file of events. They are read each time, because an archive has more of
// them than memory should hold.
class CopiesOfEvents {
 public:
  // `path` is a file, a pipe, or "-" for stdin, also packed with gzip or zstd. Input that cannot be read
  // twice as it is is first copied to a temporary file. InvalidArgument: it does not begin as events do.
  static absl::StatusOr<CopiesOfEvents> open(const std::string& path);

  // Calls `visit` with each copy by payload, in order. `say`, if set, receives a message about each wrong
  // line, and `other` each copy whose payload is another one. Returns the error of reading, or the first
  // error of `visit`, which stops the loop.
  using Visit = std::function<absl::Status(PayloadCopy)>;
  absl::Status each(const Visit& visit, const std::function<void(const std::string&)>& say = {},
                    const std::function<void(const OtherCopy&)>& other = {});

  // Number of lines of each kind in the last each().
  struct Counts {
    uint64_t copies = 0, others = 0, wrong = 0, verdicts = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  explicit CopiesOfEvents(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<Spill> copied_;
  Counts counts_;
};

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
