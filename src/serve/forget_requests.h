#pragma once
// The wish to forget originals, from outside the stream: `doppel forget` leaves a file in the state
// directory, the daemon applies it with its next batch, through the same log as everything else, and answers
// with another file. A wish survives a restart of either side; carried out twice it does nothing more.
//
//   STATE/requests/NAME.request   what is wished: one line, "id=ID", "event_id=ID" or "tag=NAME=VALUE"
//   STATE/requests/NAME.done      how many originals were forgotten

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"

namespace doppel {

// Leaves a wish and returns its NAME.
absl::StatusOr<std::string> leave_request(const std::string& state_directory, const std::string& wish);
// The answer to it, if it is there; it is taken away.
std::optional<uint64_t> take_answer(const std::string& state_directory, const std::string& name);

class ForgetRequests {
 public:
  // All outlive this.
  ForgetRequests(std::string state_directory, const Engine& engine, const Bodies& bodies);

  // Before a batch is resolved: adds what is to be forgotten. True: there is something. Looks for files five
  // times a second at most.
  bool fill(Work& work);
  // The batch is settled: answers.
  void settled();

 private:
  struct Request {
    std::string name;
    uint64_t found = 0;
  };
  std::vector<Seq> find(const std::string& wish) const;
  void answer(const Request& request) const;

  std::string directory_;
  const Engine& engine_;
  const Bodies& bodies_;
  std::vector<Request> under_way_;
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace doppel
