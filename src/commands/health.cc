// doppel health: asks a running daemon whether it is alive, for container engines and scripts.
#include <CLI/CLI.hpp>

#include "base/status.h"
#include "commands/commands.h"
#include "fmt/format.h"
#include "http/get.h"
#include "http/listen.h"

namespace doppel {
namespace {

// The URL of the daemon with this configuration, as seen from this machine.
absl::StatusOr<std::string> address_of(const Options& o) {
  if (o.http.listen.empty()) return invalid("http.listen is empty: the daemon has no HTTP server");
  ASSIGN_OR_RETURN(http::Endpoint at, http::read_endpoint(o.http.listen));
  if (at.path.empty() && at.port == 0)
    return invalid("http.listen uses any free port; name the address (--url)");
  if (at.host == "0.0.0.0") at.host = "127.0.0.1";
  if (at.host == "::") at.host = "::1";
  return at.url(o.http.tls_certificate.empty() ? "http" : "https");
}

}  // namespace

int health_main(int argc, char** argv) {
  CLI::App app(
      "Checks whether a daemon is alive: its main loop turns, or waits for Kafka. With --ready it checks "
      "whether\n"
      "the index is restored and the stream runs.\n\n"
      "Examples:\n"
      "  doppel health                               the daemon at the default address\n"
      "  doppel health --config /etc/doppel.yaml --ready\n"
      "  doppel health --url http://127.0.0.1:9470\n\n"
      "With TLS it does not check the certificate of the daemon. If http.tls_client_ca is set, it shows the\n"
      "certificate of http.tls_certificate.",
      "doppel health");
  CommonFlags common;
  std::string url;
  bool ready = false;
  int seconds = 5;
  http::TlsFiles tls;
  app.add_option("--url", url, "address of the daemon (default: http.listen)");
  app.add_flag("--ready", ready, "check whether it is ready");
  app.add_option("--wait", seconds, "seconds to wait for the answer (default 5)")->check(CLI::Range(1, 3600));
  add_common_flags(app, common);
  app.footer("Exit codes: 0 yes; 1 no, or no answer; 2 wrong usage or configuration.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  if (url.empty()) {
    const absl::StatusOr<Config> config = load(common);
    if (!config.ok()) return fail("health", config.status(), kExitUsage);
    const absl::StatusOr<std::string> address = address_of(config->options);
    if (!address.ok()) return fail("health", address.status(), kExitUsage);
    url = *address;
    const Options::Http& http = config->options.http;
    tls = {http.tls_certificate, http.tls_key, http.tls_client_ca};
  }
  while (url.ends_with('/')) url.pop_back();
  const absl::StatusOr<http::Answer> answer =
      http::get(url + (ready ? "/ready" : "/live"), std::chrono::seconds(seconds), tls);
  if (!answer.ok()) {
    const bool wrong = absl::IsInvalidArgument(answer.status());
    return fail("health", answer.status(), wrong ? kExitUsage : kExitSomeFailed);
  }
  print_out("{}", answer->body);
  return answer->status == 200 ? kExitDone : kExitSomeFailed;
}

}  // namespace doppel
