#pragma once
// The copies by payload in a file of events. They are read each time, because an archive has more of
// them than memory should hold.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/spill.h"
#include "records/revisits.h"

namespace doppel {

class CopiesOfEvents {
 public:
  // `path` is a file, a pipe, or "-" for stdin. Input that cannot be read twice is first copied to a
  // temporary file.
  static absl::StatusOr<CopiesOfEvents> open(const std::string& path);

  // Calls `visit` with each copy by payload, in order. `say`, if set, receives a message about each wrong
  // line. Returns the error of reading, or the first error of `visit`, which stops the loop.
  using Visit = std::function<absl::Status(PayloadCopy)>;
  absl::Status each(const Visit& visit, const std::function<void(const std::string&)>& say = {});

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

}  // namespace doppel
