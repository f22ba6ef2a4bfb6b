#pragma once
// WARC files written again with revisit records in place of copies. What is replaced has been compared byte
// for byte with its original, which stays; all else is copied as it is stored. No input is ever changed.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/revisits.h"

namespace doppel {

struct RewriteReport {
  uint64_t files = 0;               // written
  uint64_t bytes = 0, written = 0;  // of them, before and now
  uint64_t arcs = 0;                // files of the given directories that are not written
  uint64_t replaced = 0;
  uint64_t turned = 0;  // of them: an event called them originals, but a copy was captured earlier
  std::map<std::string, uint64_t, std::less<>> kept;  // copies that stay, by reason
  std::vector<std::string> problems;  // of inputs: complete, for a person; the first twenty of each run
  uint64_t more_problems = 0;
};

class Rewriter {
 public:
  // `paths`: WARC files, WACZ files and directories that are written again; none: the WARC files that the
  // events name. Below `directory`, which is made if it is not there, each has its own name; one of a WACZ
  // file is NAME.wacz/archive/NAME.
  static absl::StatusOr<std::unique_ptr<Rewriter>> open(const std::vector<std::string>& paths,
                                                        const std::string& directory);
  ~Rewriter();
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  // Takes the event of one copy, of which write() decides.
  absl::Status add(PayloadCopy event);
  // Decides of each copy in the order of add(), and writes all files, each beside its name first. Of captures
  // with the same payload the earliest stays, whatever the events call the original. An original that a copy
  // needs is never replaced, nor the reverse, nor what a revisit record of a crawler refers to, nor a copy
  // whose original is later than it. InvalidArgument, before anything is
  // written: a file would be written over what is read (also over one of `others`), or two would have one
  // name. Another error: the disk is full, or cannot be read.
  absl::Status write(const std::vector<std::string>& others);
  const RewriteReport& report() const;

 private:
  absl::Status decide_all();
  struct State;
  explicit Rewriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace doppel
