#pragma once
// Requests to change where the input continues (`doppel offsets`), as those to forget originals are
// (forget_requests.h): a file in the state directory, which the daemon carries out through the index log
// before it reads its input, or goes on reading it, and another one as its answer.
//
//   STATE/requests/NAME.offsets   one line, as OffsetsWanted has it
//   STATE/requests/NAME.changed   what was changed, a line for each partition; or "refused: ..."

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace doppel {

// Leaves a request and returns its NAME. It is durable then.
absl::StatusOr<std::string> leave_offsets_request(const std::string& state_directory,
                                                  const std::string& line);
// The answer to it, if there is one; this removes it.
std::optional<std::string> take_offsets_answer(const std::string& state_directory, const std::string& name);

class OffsetRequests {
 public:
  explicit OffsetRequests(const std::string& state_directory);

  // Whether there is one. Looks five times a second at most.
  bool any();
  // Carries out all that are there now, the oldest first. `carry_out` returns what it changed; what a request
  // has wrong is its answer. An error of another kind ends it: the request stays.
  absl::Status carry_out(
      const std::function<absl::StatusOr<std::string>(const std::string& line)>& carry_out);

 private:
  const std::string folder_;
  Clock::time_point looked_;
  bool any_ = false;
};

}  // namespace doppel
