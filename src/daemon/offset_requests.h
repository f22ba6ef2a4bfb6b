#pragma once
// Requests to change where the input continues (`doppel offsets`). They work like requests to forget
// originals (forget_requests.h): the request is a file in the state directory, the daemon carries it out
// through the index log before it starts or continues to read its input, and answers with another file.
//
//   STATE/requests/NAME.offsets   one line, see OffsetsWanted; it may expire (request_files.h)
//   STATE/requests/NAME.changed   the changes, a line for each partition; or "refused: ..."

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "daemon/request_files.h"

namespace doppel {

// Writes a request durably and returns its NAME.
absl::StatusOr<std::string> leave_offsets_request(const std::string& state_directory, const std::string& line,
                                                  int64_t expires_ms = kNeverExpires);
// Returns the answer, if there is one, and removes it.
std::optional<std::string> take_offsets_answer(const std::string& state_directory, const std::string& name);

class OffsetRequests {
 public:
  explicit OffsetRequests(const std::string& state_directory);

  // Whether there is a request. Looks five times a second at most.
  bool any();
  // Carries out all present requests, the oldest first, and removes those that have expired. `carry_out`
  // returns the text of the changes. Its error InvalidArgument becomes the request's answer. Any other error
  // ends this call, and the request stays.
  absl::Status carry_out(
      const std::function<absl::StatusOr<std::string>(const std::string& line)>& carry_out);

 private:
  const std::string state_directory_;
  Clock::time_point looked_;
  bool any_ = false;
};

}  // namespace doppel
