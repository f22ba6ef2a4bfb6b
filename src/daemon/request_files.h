#pragma once
// Requests that commands leave for the daemon of a state directory: files in STATE/requests. The first line
// says what is wanted. A second line "expires MS" names the time (milliseconds since 1970) from which the
// daemon does not begin it any more: nobody expects that a request of days ago is carried out by a start.
//
//   NAME.request  to forget originals (requests.h)
//   NAME.offsets  to change where the input continues (requests.h)
//
// Requests are synced before they take effect.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

inline constexpr std::string_view kForgetRequest = ".request", kOffsetsRequest = ".offsets";
inline constexpr int64_t kNeverExpires = 0;

struct RequestFile {
  std::string name, ending;
  std::string line;
  int64_t expires_ms = kNeverExpires;
  std::string stage = "waiting";  // of a request to forget that has begun: searching, removing

  bool expired() const;
  // Such as "doppel offsets set documents/0=12".
  std::string command() const;
};

// Writes a request durably and returns its NAME. If root calls it, the file gets the owner of the state
// directory, so that the daemon can answer and remove it.
absl::StatusOr<std::string> leave_line(const std::string& state_directory, const std::string& line,
                                       std::string_view ending, int64_t expires_ms);

// Reads a request. Does not follow links or wait for a writer: anybody may have made the file. NotFound: it
// is not there any more.
absl::StatusOr<RequestFile> read_request_file(const std::string& path);

// All requests that are not answered, the oldest first. Leaves out what cannot be read.
std::vector<RequestFile> requests_in(const std::string& state_directory);
bool is_left(const std::string& state_directory, const RequestFile& request);

// Removes a request that the daemon has not begun. NotFound: there is none of this name.
// FailedPrecondition: the daemon is carrying it out.
absl::Status cancel_request(const std::string& state_directory, const std::string& name);

// What commands say of the request: when it expires, and what cancels it.
std::string kept_until(const std::string& name, int64_t expires_ms);
// For a command that waits and finds neither the request nor an answer.
absl::Status request_is_gone();

}  // namespace doppel
