#pragma once
// Sends one GET to another doppel. `doppel health` uses it.

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "http/tls.h"

namespace doppel::http {

struct Answer {
  int status = 0;
  std::string body;
};

// `url` is "http://host:port/path"; the host may be "[::1]". A unix socket is
// "http://unix:/run/doppel.sock:/path". With "https://" the certificate that the other side shows is not
// checked, and with tls.client_ca the one in `tls` is shown. Unavailable: nothing listens there, or no
// complete answer came in time.
absl::StatusOr<Answer> get(const std::string& url, std::chrono::milliseconds time, const TlsFiles& tls = {});

}  // namespace doppel::http
