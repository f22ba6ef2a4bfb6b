#pragma once
// Asks a server of ours a question, as `doppel health` does: one GET, without TLS.

#include <chrono>
#include <string>

#include "absl/status/statusor.h"

namespace doppel::http {

struct Answer {
  int status = 0;
  std::string body;
};

// url: "http://host:port/path". Unavailable: nobody listens, or no whole answer came in time.
absl::StatusOr<Answer> get(const std::string& url, std::chrono::milliseconds time);

}  // namespace doppel::http
