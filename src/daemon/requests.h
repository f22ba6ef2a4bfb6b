#pragma once
// What a daemon does with the requests that commands leave (request_files.h).
//
// Requests to forget originals. `doppel forget` leaves a file in the state directory. The daemon carries it
// out through the same log as all other changes and answers with another file. A request survives a restart
// of either side and continues where a crash interrupted it. One that expires before the daemon begins it is
// removed. Requests and answers are synced before they take effect. The progress is not synced: after a power
// loss a request may start over, and then it also covers the originals that came since.
//
//   STATE/requests/NAME.request   which originals to forget: one line, see OriginalsWanted
//   STATE/requests/NAME.progress  the progress: one line, see RequestProgress
//   STATE/requests/NAME.done      how many originals were forgotten

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "daemon/request_files.h"
#include "status/forgetting.h"

namespace doppel {

// Writes a request durably and returns its NAME (request_files.h).
absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& line,
                                          int64_t expires_ms = kNeverExpires);
// Returns the answer, if there is one, and removes it.
std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name);

// The line is "STAGE DONE TOTAL BELOW FOUND WORK".
struct RequestProgress {
  std::string stage = "waiting";  // waiting, searching, removing
  uint64_t done = 0, total = 0;   // originals searched or removed
  // The result of a finished search, for a later run: it found `found` originals, all with numbers below
  // `below`.
  Seq below = std::numeric_limits<Seq>::max();
  uint64_t found = 0;
  uint64_t work = 0;  // grows while the daemon works on any request

  std::string line() const;
  static std::optional<RequestProgress> parse(const std::string& line);
  bool operator==(const RequestProgress&) const = default;
};
std::optional<RequestProgress> request_progress(const std::string& state_directory, const std::string& name);

// Connects the request files with the daemon's Forgetting. Only the pipeline's thread uses it.
class ForgetRequests {
 public:
  // `forgetting` outlives this object.
  ForgetRequests(const std::string& state_directory, Forgetting& forgetting);

  // Looks for new requests, five times a second at most. Call it before Forgetting::fill().
  void look();
  // Answers finished requests. Call it after Forgetting::settled(). If it cannot answer or remove one, it
  // logs that once and retries later; this process does not carry out the request a second time.
  void answer();

 private:
  struct Known {
    Forgetting::Ticket ticket;
    std::string line;
    RequestProgress shown;
    std::optional<uint64_t> forgotten;  // set once the request is finished
    bool complained = false;
    Clock::time_point next;  // when to write the next file
  };

  void take(const std::string& name);
  bool answered(const std::string& name, Known& request);
  void show(const std::string& name, Known& request);
  void drop(const std::string& name, const RequestFile& request);
  void complain(const std::string& about, std::string_view message);
  std::string path(const std::string& name, std::string_view ending) const;

  const std::string folder_;
  Forgetting& forgetting_;
  std::map<std::string, Known> known_;  // by NAME
  std::set<std::string> complained_;    // files with a logged problem
  Clock::time_point looked_;
};

// Requests to change where the input continues (`doppel offsets`). They work like requests to forget
// originals: the request is a file in the state directory, the daemon carries it out
// through the index log before it starts or continues to read its input, and answers with another file.
//
//   STATE/requests/NAME.offsets   one line, see OffsetsWanted; it may expire (request_files.h)
//   STATE/requests/NAME.changed   the changes, a line for each partition; or "refused: ..."

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
