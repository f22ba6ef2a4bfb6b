#pragma once
// Requests to forget originals, from outside the stream: `doppel forget` leaves a file in the state
// directory, the daemon carries it out through the same log as everything else, and answers with another
// file. A request survives a restart of either side, and goes on where a crash interrupted it. Requests and
// answers are synced before they count. The progress is not: after a power loss a request may begin again,
// and then also covers the originals that came since.
//
//   STATE/requests/NAME.request   what is to be forgotten: one line, as OriginalsWanted has it
//   STATE/requests/NAME.progress  how far it is: one line, as RequestProgress has it
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
#include "status/forgetting.h"

namespace doppel {

// Leaves a request and returns its NAME. It is durable then. Where root leaves it, it belongs to the owner of
// the state directory, so that the daemon can answer and remove it.
absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& line);
// The same with any line, in a file NAME + `ending`.
absl::StatusOr<std::string> leave_line(const std::string& state_directory, const std::string& line,
                                       std::string_view ending);
// The answer to it, if there is one; this removes it.
std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name);

// "STAGE DONE OF BELOW FOUND WORK"
struct RequestProgress {
  std::string stage = "waiting";  // waiting, searching, removing
  uint64_t done = 0, of = 0;      // originals that were searched, or removed
  // Once a search has ended, for a later run: how many it found, all with numbers below.
  Seq below = std::numeric_limits<Seq>::max();
  uint64_t found = 0;
  uint64_t work = 0;  // grows while the daemon works at any request

  std::string line() const;
  static std::optional<RequestProgress> parse(const std::string& line);
  bool operator==(const RequestProgress&) const = default;
};
std::optional<RequestProgress> request_progress(const std::string& state_directory, const std::string& name);

// The files and the Forgetting of a daemon. All on the pipeline's thread.
class ForgetRequests {
 public:
  // `forgetting` outlives this object.
  ForgetRequests(const std::string& state_directory, Forgetting& forgetting);

  // Before Forgetting::fill(): looks for new requests, five times a second at most.
  void look();
  // After Forgetting::settled(): answers what is done. Logs once what cannot be answered or removed; that is
  // tried again, and never carried out again by this process.
  void answer();

 private:
  struct Known {
    Forgetting::Ticket ticket;
    std::string line;
    RequestProgress shown;
    std::optional<uint64_t> forgotten;  // it is done
    bool complained = false;
    Clock::time_point next;  // when something is written again
  };

  void take(const std::string& name);
  bool answered(const std::string& name, Known& request);
  void show(const std::string& name, Known& request);
  void complain(const std::string& about, std::string_view message);
  std::string path(const std::string& name, std::string_view ending) const;

  const std::string folder_;
  Forgetting& forgetting_;
  std::map<std::string, Known> known_;  // by NAME
  std::set<std::string> complained_;    // about these files
  Clock::time_point looked_;
};

}  // namespace doppel
