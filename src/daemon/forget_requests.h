#pragma once
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

// The line is "STAGE DONE OF BELOW FOUND WORK".
struct RequestProgress {
  std::string stage = "waiting";  // waiting, searching, removing
  uint64_t done = 0, of = 0;      // originals searched or removed
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

}  // namespace doppel
